"""Runs of many worlds as a function of arrays, and its gradient by the adjoint: what catena.torch and catena.jax are made of."""

from __future__ import annotations

import threading
from typing import Any

import numpy
import numpy.typing

from ._core import Model, Tapes
from ._errors import FrozenError

Array = numpy.typing.NDArray[numpy.float64]
Inputs = tuple[Array, Array, "Array | None", "Array | None"]


def _quaternions(model: Model) -> list[tuple[int, int]]:
    """Where each quaternion begins in q, and its turn in v."""
    before = {"ball": 0, "free": 3}
    return [(x.q.start + before[x.joint], x.v.start + before[x.joint]) for x in model.links if x.joint in before]


def _turns(q: Array) -> Array:
    """q (0, e) for the three axes e of the body: twice how unit quaternions [..., 4] move when they turn, [..., 4, 3]."""
    w, x, y, z = numpy.moveaxis(q, -1, 0)
    return numpy.stack([-x, -y, -z, w, -z, y, z, w, -x, -y, x, w], axis=-1).reshape(*q.shape, 3)


class Adjoint:
    """(q0, v0, u, tau) -> (q, v) over ``steps`` steps of all worlds, in float64, and the product of its Jacobian from the left.

    Coordinates are those of q, quaternions included, whose length does not count: gradients are at right angles to them.
    """

    def __init__(self, model: Model, steps: int, lost_raises: bool, keys: dict[str, Any]) -> None:
        self.tapes = Tapes(model, steps, **keys)
        self.model, self.steps, self.worlds, self.lost_raises = model, steps, self.tapes.worlds, lost_raises
        self.quaternions = _quaternions(model)
        self.lock = threading.Lock()
        self.recorded: Inputs | None = None

    def shapes(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Of q0, v0, u and tau."""
        m, w, n = self.model, self.worlds, self.steps
        return (w, m.nq), (w, m.nv), (n, w, m.ntarget), (n, w, m.nv)

    def _run(self, inputs: Inputs) -> None:
        self.recorded = None
        q0, v0, u, tau = inputs
        self.tapes.run(self.steps, q0, v0, u=u, tau=tau)
        self.recorded = inputs
        lost = self.tapes.lost
        if self.lost_raises and (lost >= 0).any():
            world = int(numpy.argmax(lost >= 0))
            raise FrozenError(
                f"world {world} is lost in step {lost[world]}: it froze, or its step had to be halved, and has no gradient; "
                "take smaller steps, or lost_raises=False",
                "frozen",
            )

    def run(self, inputs: Inputs) -> tuple[Array, Array]:
        """q [steps + 1, worlds, nq], v [steps + 1, worlds, nv] from copies of the caller's arrays."""
        with self.lock:
            self._run(inputs)
            steps = range(self.steps + 1)
            return numpy.stack([self.tapes.q(k) for k in steps]), numpy.stack([self.tapes.v(k) for k in steps])

    def gradient(self, inputs: Inputs, by_q: Array, by_v: Array) -> tuple[Array, Array, Array, Array]:
        """By q0, v0, u and tau, of a scalar that has by_q, by_v by what run(inputs) gives."""
        with self.lock:
            if self.recorded is None or not all(
                a is b or (a is not None and b is not None and numpy.array_equal(a, b)) for a, b in zip(self.recorded, inputs)
            ):
                self._run(inputs)
            dq = numpy.empty((self.steps + 1, self.worlds, self.model.nv))
            for k in range(self.steps + 1):
                self._to_tangent(self.tapes.q(k), by_q[k], dq[k])
            at_q, at_v, at_u, at_tau = self.tapes.gradient(dq=dq, dv=by_v)
        return self._to_coordinates(inputs[0], at_q), at_v, at_u, at_tau

    def _plain(self) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Coordinates in q, and in v, that are no part of a quaternion."""
        in_q, in_v = numpy.ones(self.model.nq, bool), numpy.ones(self.model.nv, bool)
        for a, b in self.quaternions:
            in_q[a : a + 4], in_v[b : b + 3] = False, False
        return in_q, in_v

    def _to_tangent(self, q: Array, by_q: Array, out: Array) -> None:
        in_q, in_v = self._plain()
        out[:, in_v] = by_q[:, in_q]
        for a, b in self.quaternions:
            out[:, b : b + 3] = numpy.einsum("wij,wi->wj", _turns(q[:, a : a + 4]), by_q[:, a : a + 4]) / 2

    def _to_coordinates(self, q: Array, at_q: Array) -> Array:
        in_q, in_v = self._plain()
        out = numpy.empty_like(q)
        out[:, in_q] = at_q[:, in_v]
        for a, b in self.quaternions:
            length = numpy.linalg.norm(q[:, a : a + 4], axis=-1, keepdims=True)
            turns = _turns(q[:, a : a + 4] / length)
            out[:, a : a + 4] = 2 / length * numpy.einsum("wij,wj->wi", turns, at_q[:, b : b + 3])
        return out
