"""The motion that is stepped, and where it really goes: a reference by small steps of a method of order 8."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

import numpy as np

import catena

from . import with_catena
from .joints import has_free_base

DURATIONS = (1.0, 0.5, 0.25, 0.1)  # s, of the reference: the first of which rounding lets it be one
SPREAD = 0.5  # rad, m: joints begin so far from the file's start at most
SPEED = 1.0  # rad/s, m/s
AFLOAT = 5.0  # likewise of the joints of a base that is free: nothing but their speed moves them
ENOUGH = 1e-8  # m, that halving steps may change in a reference
TIME_FOR_REFERENCE = 20.0  # s of computing


@dataclass
class Motion:
    model: catena.Model
    q: np.ndarray  # where it begins
    v: np.ndarray
    scale: float  # J, the most kinetic energy it has: what energies are measured by
    floats: bool  # its base is free, so that gravity is left out
    duration: float = 0.0  # s, of the reference
    end: np.ndarray = field(default_factory=lambda: np.zeros(0))  # points [n, 3] (m) where it ends
    method: str = ""
    dt: float = 0.0
    change: float = math.inf  # m, by the last halving of its steps


def begin(model: catena.Model, seed: int) -> Motion:
    """Joints bent and moving, at random; a free base moves too."""
    draw = np.random.default_rng(seed)
    q0, _ = model.initial_state()
    floats = has_free_base(model)
    bend, turn = draw.uniform(-SPREAD, SPREAD, model.nv), draw.uniform(-1, 1, model.nv)
    for link in model.links:
        if link.joint == "free":
            bend[link.v] = 0
        turn[link.v] *= AFLOAT if floats and link.joint != "free" else SPEED
    return Motion(model, model.integrate(q0, bend), turn, 0.0, floats)


def points(model: catena.Model, q: np.ndarray) -> np.ndarray:
    """[4 nlink, 3] m: of each link its origin, and three points at its radius of gyration from its centre of mass."""
    if not np.isfinite(q).all():
        return np.full((4 * model.nlink, 3), np.nan)
    R, p = model.kinematics(q)
    at = np.zeros((model.nlink, 4, 3))
    for k, link in enumerate(model.links):
        gyration = math.sqrt(max(link.inertia[:3].sum(), 0) / (2 * link.mass)) if link.mass > 0 else 0.0
        at[k, 1:] = link.com + gyration * np.eye(3)
    return (p[:, None, :] + np.einsum("lij,lkj->lki", R, at)).reshape(-1, 3)


def distance(a: np.ndarray, b: np.ndarray) -> float:
    """m, the largest of points that belong together; infinite where one is not finite."""
    apart = float(np.linalg.norm(a - b, axis=1).max())
    return apart if math.isfinite(apart) else math.inf


def find_reference(motion: Motion) -> None:
    """Halves steps until that changes nothing. A motion too wild for that is made shorter. ValueError: none is short enough."""
    for duration in DURATIONS:
        for method in ("dop853", "radau 3"):  # the second where dampers are too stiff for an explicit method
            if _refine(motion, method, duration):
                motion.scale = _most_kinetic(motion)
                return
    raise ValueError(
        f"no reference: halving steps still moves a link by {motion.change:.2g} m after {DURATIONS[-1]} s; "
        "joints without damper and armature move links that hardly weigh anything"
    )


def _refine(motion: Motion, method: str, duration: float) -> bool:
    begun, steps, end, change = time.process_time(), max(50, round(duration / 0.01)), None, math.inf
    while time.process_time() - begun < TIME_FOR_REFERENCE:
        ended = with_catena.finish(motion.model, method, duration / steps, steps, motion.q, motion.v)
        before, change = change, distance(points(motion.model, ended.q), end) if end is not None else math.inf
        end = points(motion.model, ended.q)
        if change < ENOUGH and (change < 1e-11 or change > before / 4):  # rounding stops it falling
            motion.duration, motion.end, motion.method, motion.dt = duration, end, method, duration / steps
            motion.change = change
            return True
        if ended.seconds * 2 > TIME_FOR_REFERENCE:
            break
        steps *= 2
    motion.change = min(motion.change, change)
    return False


def _most_kinetic(motion: Motion) -> float:
    batch = with_catena.batch_of(motion.model, motion.method, motion.dt)
    batch.set_state(motion.q, motion.v)
    most = float(batch.totals()["kinetic"][0])
    for _ in range(50):
        batch.step(max(1, round(motion.duration / motion.dt / 50)))
        most = max(most, float(batch.totals()["kinetic"][0]))
    return most
