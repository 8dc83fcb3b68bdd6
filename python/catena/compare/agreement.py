"""The same mechanics in all programs: masses, joint-space inertia, forces and accelerations at random states."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import catena

BOUND = 1e-9
STATES = 50
QUANTITIES = ("inertia", "bias", "passive", "acceleration")


@dataclass
class Agreement:
    """What differs at most between catena and another program, relative to the largest entry at that state."""

    program: str
    version: str
    mass: tuple[float, float]  # kg, that moves: catena's, the other's
    worst: dict[str, float]  # of QUANTITIES; without those that the other program does not have
    why: list[str] = field(default_factory=list)

    @property
    def agrees(self) -> bool:
        return max(self.worst.values()) < BOUND and abs(self.mass[0] - self.mass[1]) <= BOUND * self.mass[0]


def random_states(model: catena.Model, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """q [count, nq], about a radian from the file's start, and v [count, nv]."""
    draw = np.random.default_rng(seed)
    q0, _ = model.initial_state()
    return model.integrate(np.tile(q0, (count, 1)), draw.normal(size=(count, model.nv))), draw.normal(size=(count, model.nv))


def moving_mass(model: catena.Model) -> float:
    """kg of all links that a joint moves, or one below them."""
    moves: list[bool] = []
    for link in model.links:
        moves.append(link.v.stop > link.v.start or (link.parent >= 0 and moves[link.parent]))
    return float(sum(link.mass for link, goes in zip(model.links, moves) if goes))


def compare(model: catena.Model, other, program: str, version: str, seed: int, count: int = STATES) -> Agreement:
    """``other`` has dynamics(q, v) and mass()."""
    q, v = random_states(model, count, seed)
    passive = model.passive(q, v)
    ours = {"inertia": model.crba(q), "bias": model.bias(q, v), "passive": passive, "acceleration": model.aba(q, v)}
    without = model.aba(q, v, -passive)
    worst: dict[str, float] = {}
    diagonal = True  # do inertias differ there alone?
    for k in range(count):
        theirs = other.dynamics(q[k], v[k])
        for name in QUANTITIES:
            if name not in theirs:
                continue
            mine = without[k] if name == "acceleration" and "passive" not in theirs else ours[name][k]
            scale = max(np.abs(theirs[name]).max(initial=0), np.abs(mine).max(initial=0))
            apart = np.abs(mine - theirs[name])
            worst[name] = max(worst.get(name, 0.0), float(apart.max(initial=0) / scale) if scale > 0 else 0.0)
            if name == "inertia":
                diagonal = diagonal and (apart - np.diag(np.diag(apart))).max(initial=0) <= BOUND * scale
    found = Agreement(program, version, (moving_mass(model), other.mass()), worst)
    found.why = reasons(found, diagonal)
    return found


def reasons(found: Agreement, diagonal: bool) -> list[str]:
    """What the numbers say of where a difference comes from."""
    if found.agrees:
        return []
    apart = [name for name, value in found.worst.items() if not value < BOUND]
    why = []
    if abs(found.mass[0] - found.mass[1]) > BOUND * found.mass[0]:
        why.append(f"masses: {found.mass[0]:.9g} kg move in catena, {found.mass[1]:.9g} kg in {found.program}")
    if "inertia" in apart:
        where = (
            "on the diagonal alone: armature, or another reading of it"
            if diagonal
            else "off the diagonal, too: masses or places of links"
        )
        why.append(f"joint-space inertia: {where}")
    if "bias" in apart and "inertia" not in apart:
        why.append("gravity: inertias agree, and bias forces do not")
    if "passive" in apart:
        why.append("springs or dampers of joints: passive forces differ")
    if apart == ["acceleration"]:
        why.append("the solution of H a = f alone: H is nearly singular, or the program takes other forces in")
    return why
