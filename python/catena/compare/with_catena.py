"""catena's side: runs of the mechanics of a robot, and of its whole file."""

from __future__ import annotations

import json
import pathlib
import tempfile
import time
import xml.etree.ElementTree as ET
from typing import Any, NamedTuple

import numpy as np

import catena

NAME = "catena"
EXPLICIT = ("semi-implicit", "rk4", "dop853")
POSITION_BASED = ("collocation", "alpha", "radau 2", "radau 3")
METHODS = EXPLICIT + POSITION_BASED + ("variational",)
CHUNKS = 100  # of a run whose energy is watched


class Ended(NamedTuple):
    """How a run ended."""

    q: np.ndarray  # [nq], catena's coordinates; NaN: it is frozen
    v: np.ndarray
    seconds: float  # of CPU


class Held(NamedTuple):
    """Whether a run went on to its end."""

    why: str  # "": it did
    time: float  # s, when it was over


def keys_of(method: str) -> dict[str, Any]:
    """What a Batch is told: "radau 3" has a number of stages."""
    name, _, stages = method.partition(" ")
    return {"method": name, "stages": int(stages)} if stages else {"method": name}


def load_mechanics(robot, gravity: bool = True) -> catena.Model:
    """What the file's masses and joints are to catena; without gravity if so asked."""
    if gravity:
        return catena.load(robot.mechanics, name=str(robot.whole))
    if robot.kind == "mjcf":
        root = ET.fromstring(robot.mechanics)
        ET.SubElement(root, "option", {"gravity": "0 0 0"})
        return catena.load(ET.tostring(root, encoding="unicode") + "\n", name=str(robot.whole))
    with tempfile.TemporaryDirectory() as folder:  # URDF has no word for it, a scene around it does
        file = pathlib.Path(folder) / robot.whole.name
        file.write_text(robot.mechanics)
        return catena.load(json.dumps({"catena": 1, "urdf": str(file), "gravity": [0, 0, 0]}) + "\n")


def load_whole(robot) -> catena.Model:
    """The file as it is."""
    if robot.base == "fixed":
        return catena.load(robot.whole)
    return catena.load(json.dumps({"catena": 1, "urdf": {"file": str(robot.whole), "base": "free"}}) + "\n")


def batch_of(model: catena.Model, method: str, dt: float, worlds: int = 1) -> catena.Batch:
    return catena.Batch(model, worlds=worlds, dt=dt, threads=1, frozen_raises=False, interruptible=False, **keys_of(method))


def finish(model: catena.Model, method: str, dt: float, steps: int, q: np.ndarray, v: np.ndarray, worlds: int = 1) -> Ended:
    """Steps worlds that begin alike; the end of the first one."""
    batch = batch_of(model, method, dt, worlds)
    batch.set_state(q, v)
    begin = time.process_time()
    statistics = batch.step(steps, statistics=True)
    seconds = time.process_time() - begin
    if statistics["frozen"].any():
        return Ended(np.full(model.nq, np.nan), np.full(model.nv, np.nan), seconds)
    return Ended(batch.q[0], batch.v[0], seconds)


def hold_energy(model: catena.Model, method: str, dt: float, duration: float, q: np.ndarray, v: np.ndarray, most: float) -> Held:
    """Steps until the energy is more than `most` (J) above that of the start, or the world freezes."""
    batch = batch_of(model, method, dt)
    batch.set_state(q, v)
    steps, done, start = max(1, round(duration / dt)), 0, None
    while done < steps:
        count = min(max(1, steps // CHUNKS), steps - done)
        statistics = batch.step(count, statistics=True)[0]
        done += count
        start = float(statistics["energy_before"]) if start is None else start
        if statistics["frozen"]:
            return Held("stops", float(statistics["frozen_time"]))
        if not statistics["energy_max"] - start <= most:
            return Held("gains energy", done * dt)
    return Held("", done * dt)


def hold_speed(
    model: catena.Model, method: str, dt: float, duration: float, q: np.ndarray, v: np.ndarray, most: np.ndarray
) -> Held:
    """Steps until a velocity is above `most` [nv], or the world freezes."""
    batch = batch_of(model, method, dt)
    batch.set_state(q, v)
    steps, done = max(1, round(duration / dt)), 0
    while done < steps:
        count = min(max(1, steps // CHUNKS), steps - done)
        statistics = batch.step(count, statistics=True)[0]
        done += count
        if statistics["frozen"]:
            return Held("stops", float(statistics["frozen_time"]))
        if not (np.abs(batch.v[0]) <= most).all():
            return Held("runs away", done * dt)
    return Held("", done * dt)


def top_speeds(model: catena.Model, method: str, dt: float, duration: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The largest |v| [nv] of a run; NaN: it did not get to its end."""
    batch = batch_of(model, method, dt)
    batch.set_state(q, v)
    top = np.abs(v)
    for _ in range(round(duration / dt)):
        if batch.step(1, statistics=True)["frozen"].any():
            return np.full(model.nv, np.nan)
        top = np.maximum(top, np.abs(batch.v[0]))
    return top
