"""The largest step that holds: no NaN, no world that stops, and no energy from nowhere."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Callable

from .motion import Motion
from .with_catena import Held

STEPS = (0.0005, 0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.05, 0.07, 0.1)  # s
ALLOWED = 0.1  # of the motion's largest kinetic energy, above that of the start
COMPUTING = 30.0  # s a method may take; its smallest steps are then left out


@dataclass
class Row:
    """What became of a method at each step."""

    program: str
    method: str
    held: dict[float, Held]  # by dt

    @property
    def largest(self) -> float | None:
        """s: the largest step that holds, and all smaller ones that were tried do; None: none does."""
        best = None
        for dt in sorted(self.held):
            if self.held[dt].why:
                break
            best = dt
        return best


def sweep(program: str, method: str, run: Callable[[str, float], Held]) -> Row:
    """Large steps first, which are the cheapest; `run` takes a method and dt."""
    held: dict[float, Held] = {}
    spent = 0.0
    for dt in sorted(STEPS, reverse=True):
        if spent > COMPUTING:
            break
        begun = time.process_time()
        held[dt] = run(method, dt)
        spent += time.process_time() - begun
    return Row(program, method, held)


def energy_rows(motion: Motion, duration: float, programs: list) -> list[Row]:
    """``programs``: (name, methods, hold_energy)."""
    most = ALLOWED * motion.scale

    def of(hold) -> Callable[[str, float], Held]:
        return lambda method, dt: hold(method, dt, duration, motion.q, motion.v, most)

    return [sweep(name, method, of(hold)) for name, methods, hold in programs for method in methods]
