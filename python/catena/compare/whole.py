"""The file as it is, with contact, limits, friction and actuators.

Each program has laws of its own for these, so that there is no common reference: only what holds is compared.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable, NamedTuple

import numpy as np

import catena

from . import stability, with_catena

SPEED = 0.5  # rad/s, m/s: joints begin so fast at most; free bases do not move
FINE = 0.0005  # s: steps of the run that says how fast joints get
TIMES = 10.0  # what a joint may be faster than that
METHODS = ("alpha", "radau 2", "collocation", "rk4")


class Cost(NamedTuple):
    """What a method takes at the largest step that holds."""

    program: str
    method: str
    dt: float  # s
    seconds: float  # of computing, a simulated second


@dataclass
class WholeFile:
    rows: list[stability.Row] = field(default_factory=list)
    costs: list[Cost] = field(default_factory=list)  # of those rows that hold somewhere
    refused: dict[str, str] = field(default_factory=dict)  # program: why it has no rows
    own_step: tuple[str, float] | None = None  # MuJoCo's integrator and timestep of the file
    warnings: list[str] = field(default_factory=list)  # of catena, about the file


def start(model: catena.Model, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The file's own, with joints that move a little."""
    q, v = model.initial_state()
    draw = np.random.default_rng(seed)
    speed = draw.uniform(-SPEED, SPEED, model.nv)
    for link in model.links:
        if link.joint == "free":
            speed[link.v] = 0
    return q, v + speed


def bound(top: np.ndarray) -> np.ndarray:
    """[nv]: what no joint's speed may exceed, by the largest of a fine run; one that hardly moves there has room, too."""
    return TIMES * np.maximum(top, 0.1 * top.max(initial=1.0))


def compare(robot, duration: float, seed: int, with_mujoco=None) -> WholeFile:
    found = WholeFile()
    try:
        model = with_catena.load_whole(robot)
    except catena.Error as error:
        found.refused[with_catena.NAME] = str(error)
        return found
    found.warnings = [warning.text for warning in model.warnings]
    q, v = start(model, seed)
    found.rows += _ours(model, duration, q, v, found)
    if with_mujoco is not None:
        found.rows += _mujocos(with_mujoco, robot, model, duration, q, v, found)
    return found


def _ours(model: catena.Model, duration: float, q: np.ndarray, v: np.ndarray, found: WholeFile) -> list[stability.Row]:
    most = bound(with_catena.top_speeds(model, "alpha", FINE, min(duration, 2.0), q, v))
    if not np.isfinite(most).all():
        found.refused[with_catena.NAME] = f"stops even in steps of {1000 * FINE:g} ms"
        return []
    rows = []
    for method in METHODS:
        try:
            with_catena.batch_of(model, method, FINE)
        except catena.Error as error:
            found.refused[f"{with_catena.NAME} {method}"] = str(error)
            continue
        run = lambda name, dt: with_catena.hold_speed(model, name, dt, duration, q, v, most)  # noqa: E731
        rows.append(stability.sweep(with_catena.NAME, method, run))
    found.costs += costs(rows, duration, lambda name, dt: _seconds(model, name, dt, duration, q, v))
    return rows


def _seconds(model: catena.Model, method: str, dt: float, duration: float, q: np.ndarray, v: np.ndarray) -> float:
    return with_catena.finish(model, method, dt, round(duration / dt), q, v).seconds


def costs(rows: list[stability.Row], duration: float, seconds: Callable[[str, float], float]) -> list[Cost]:
    """``seconds`` takes a method and dt; the least of three runs."""
    best = [(row, row.largest) for row in rows if row.largest is not None]
    return [Cost(row.program, row.method, dt, min(seconds(row.method, dt) for _ in range(3)) / duration) for row, dt in best]


def _mujocos(with_mujoco, robot, model: catena.Model, duration: float, q, v, found: WholeFile) -> list[stability.Row]:
    try:
        whole = with_mujoco.WholeFile(robot, model)
    except Exception as error:  # its reader's ValueError, or joints that do not match
        found.refused[with_mujoco.NAME] = str(error).strip().splitlines()[0]
        return []
    found.own_step = whole.own
    most = bound(whole.top_speeds("implicitfast", FINE, min(duration, 2.0), q, v))
    if not np.isfinite(most).all():
        found.refused[with_mujoco.NAME] = f"is not finite even in steps of {1000 * FINE:g} ms"
        return []
    run = lambda name, dt: whole.hold_speed(name, dt, duration, q, v, most)  # noqa: E731
    rows = [stability.sweep(with_mujoco.NAME, method, run) for method in with_mujoco.METHODS]
    found.costs += costs(rows, duration, lambda name, dt: whole.seconds(name, dt, duration, q, v))
    return rows
