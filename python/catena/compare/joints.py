"""Where a joint's numbers lie in q and v of catena, and in those of another program; time derivatives of q."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import catena

ONE_NUMBER = ("revolute", "prismatic", "helical")


class Unmatched(Exception):
    """The other program's joints cannot be told to be these: why."""


class Place(NamedTuple):
    """One joint in both programs."""

    kind: str  # as of catena.Link: "revolute", .., "ball", "free"
    q: slice  # catena's
    v: slice
    other_q: slice  # the other's
    other_v: slice


def moving(model: catena.Model) -> list:
    """The links whose joints move."""
    return [link for link in model.links if link.v.stop > link.v.start]


def has_free_base(model: catena.Model) -> bool:
    return any(link.joint == "free" for link in model.links)


def rotation(quaternion: np.ndarray) -> np.ndarray:
    """[3, 3] of w x y z."""
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternion_rate(quaternion: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """d/dt of w x y z while the body turns by `turn` (rad/s, its own axes)."""
    w, x, y, z = quaternion
    a, b, c = turn
    return 0.5 * np.array([-x * a - y * b - z * c, w * a + y * c - z * b, w * b + z * a - x * c, w * c + x * b - y * a])


def rate(places: list[Place], q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """dq/dt [nq] of catena's coordinates q at v."""
    dq = np.zeros_like(q)
    for place in places:
        at, turn = place.q, v[place.v]
        if place.kind == "free":
            dq[at.start : at.start + 3] = turn[:3]
            dq[at.start + 3 : at.stop] = quaternion_rate(q[at.start + 3 : at.stop], turn[3:])
        elif place.kind == "ball":
            dq[at] = quaternion_rate(q[at], turn)
        else:
            dq[at] = turn
    return dq
