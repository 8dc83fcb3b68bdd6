"""Error over cost: how far from the reference a run ends, and how long its steps take."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from . import with_catena
from .motion import Motion, distance, points

COARSEST = 0.1  # s
GROWTH = 1.5  # of the number of steps from run to run
FINEST = 1e-7  # m: no run is needed that is better
LONGEST = 0.3  # s of computing a run
REPEATS = 3  # of short runs, the fastest of which counts
SHORT = 0.1  # s
LEVELS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)  # m
WORLDS = 64


@dataclass
class Point:
    dt: float  # s
    error: float  # m, at the end
    cost: float  # s of computing a simulated second and world


@dataclass
class Curve:
    program: str
    method: str
    worlds: int
    points: list[Point]  # from coarse to fine

    @property
    def name(self) -> str:
        many = f", {self.worlds} worlds" if self.worlds > 1 else ""
        return f"{self.program} {self.method}{many}"


def curve(motion: Motion, program: str, method: str, finish, worlds: int = 1) -> Curve:
    """``finish(method, dt, steps, q, v)`` gives a with_catena.Ended."""
    found: list[Point] = []
    steps = math.ceil(motion.duration / COARSEST)
    while True:
        dt = motion.duration / steps
        ended = finish(method, dt, steps, motion.q, motion.v)
        seconds = ended.seconds
        for _ in range(REPEATS - 1 if seconds < SHORT else 0):
            seconds = min(seconds, finish(method, dt, steps, motion.q, motion.v).seconds)
        error = distance(points(motion.model, ended.q), motion.end)
        found.append(Point(dt, error, seconds / worlds / motion.duration))
        if error < FINEST or seconds * GROWTH > LONGEST:
            return Curve(program, method, worlds, found)
        steps = math.ceil(GROWTH * steps)


def curves(motion: Motion, mujoco=None, worlds: int = WORLDS) -> list[Curve]:
    """Of every method; of catena also with `worlds` worlds side by side on the same thread."""

    def one(method: str, dt: float, steps: int, q: np.ndarray, v: np.ndarray):
        return with_catena.finish(motion.model, method, dt, steps, q, v)

    def many(method: str, dt: float, steps: int, q: np.ndarray, v: np.ndarray):
        return with_catena.finish(motion.model, method, dt, steps, q, v, worlds)

    found = [curve(motion, with_catena.NAME, method, one) for method in with_catena.METHODS]
    if worlds > 1:
        found += [curve(motion, with_catena.NAME, method, many, worlds) for method in with_catena.METHODS]
    if mujoco is not None:
        from . import with_mujoco

        found += [curve(motion, with_mujoco.NAME, method, mujoco.finish) for method in with_mujoco.METHODS]
    return found


def cheapest(all_of_them: list[Curve], program: str, worlds: int, level: float) -> tuple[float, Curve, Point] | None:
    """The least cost at which an error is met, with the run that has it; a run counts if all finer ones meet the error, too."""
    best = None
    for found in all_of_them:
        if (found.program, found.worlds) != (program, worlds):
            continue
        first = len(found.points)
        while first and found.points[first - 1].error <= level:
            first -= 1
        for point in found.points[first:]:
            if best is None or point.cost < best[0]:
                best = (point.cost, found, point)
    return best
