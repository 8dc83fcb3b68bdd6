"""Runs of many worlds for PyTorch: trajectories with gradients by the adjoint of the steps.

    >>> simulation = catena.torch.Simulation(model, steps=100, worlds=16, method="collocation", tolerance=1e-12)
    >>> q, v = simulation(q0, v0, tau=tau)
    >>> q[-1].sum().backward()
"""

from __future__ import annotations

from typing import Any

import numpy

try:
    import torch
    from torch.autograd.function import once_differentiable
except ImportError as error:
    raise ImportError("catena.torch takes PyTorch, which cannot be imported: pip install torch") from error

from ._adjoint import Adjoint, Array
from ._core import Model

__all__ = ["Simulation"]


def _array(name: str, x: torch.Tensor | None, shape: tuple[int, ...]) -> Array | None:
    if x is None:
        return None
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"{name}: expected a tensor, found {type(x).__name__}")
    if tuple(x.shape) != shape:
        raise ValueError(f"{name}: expected shape {shape}, found {tuple(x.shape)}")
    return numpy.array(x.detach().cpu().numpy(), numpy.float64, order="C")  # a copy: the tensor may be written to


class _Run(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, adjoint: Adjoint, *tensors: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
        names = ("q0", "v0", "u", "tau")
        ctx.adjoint = adjoint
        ctx.inputs = tuple(_array(name, x, shape) for name, x, shape in zip(names, tensors, adjoint.shapes()))
        ctx.like = [None if x is None else (x.dtype, x.device) for x in tensors]
        q, v = adjoint.run(ctx.inputs)
        return tuple(torch.from_numpy(x).to(device=tensors[0].device, dtype=tensors[0].dtype) for x in (q, v))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_q: torch.Tensor, by_v: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        by = [numpy.asarray(x.cpu().numpy(), numpy.float64) for x in (by_q, by_v)]
        found = ctx.adjoint.gradient(ctx.inputs, *by)
        return None, *(
            torch.from_numpy(x).to(dtype=like[0], device=like[1]) if like and needed else None
            for x, like, needed in zip(found, ctx.like, ctx.needs_input_grad[1:])
        )


class Simulation:
    """A run of ``steps`` steps of many worlds, side by side in lanes, as a function that autograd goes back through.

    Keys are those of catena.Tapes: ``worlds``, ``method``, ``dt``, ``tolerance``, ... Gradients are exact to the tolerance to
    which steps are solved: 1e-12 is a good one. A world that freezes, or whose step had to be halved, has no gradient:
    FrozenError, or, with ``lost_raises=False``, zeros, and ``lost`` tells. One at a time may run; a call from another thread
    waits.
    """

    def __init__(self, model: Model, steps: int, *, lost_raises: bool = True, **keys: Any) -> None:
        self._adjoint = Adjoint(model, steps, lost_raises, keys)
        self.model, self.steps, self.worlds = model, steps, self._adjoint.worlds

    @property
    def lost(self) -> numpy.ndarray:
        """In which step each world was lost in the last run, [worlds]; -1: it was not."""
        return self._adjoint.tapes.lost

    def __call__(
        self,
        q0: torch.Tensor,
        v0: torch.Tensor,
        u: torch.Tensor | None = None,
        tau: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """q [steps + 1, worlds, nq], v [steps + 1, worlds, nv] from q0 [worlds, nq], v0 [worlds, nv].

        Motors are told u [steps, worlds, ntarget] (None: what the scene says), joints bear tau [steps, worlds, nv] (N m, N).
        Steps are made in float64 on the CPU, whatever the tensors are; the results are like q0. Once differentiable. Quaternions
        in q0 may have any length; gradients by them are at right angles to them.
        """
        return _Run.apply(self._adjoint, q0, v0, u, tau)
