"""Runs of many worlds for JAX: trajectories with gradients by the adjoint of the steps, within jit, too.

    >>> jax.config.update("jax_enable_x64", True)
    >>> simulation = catena.jax.Simulation(model, steps=100, worlds=16, method="collocation", tolerance=1e-12)
    >>> jax.grad(lambda tau: simulation(q0, v0, tau=tau)[0][-1].sum())(tau)
"""

from __future__ import annotations

from typing import Any

import numpy

try:
    import jax
except ImportError as error:
    raise ImportError("catena.jax takes JAX, which cannot be imported: pip install jax") from error

from ._adjoint import Adjoint, Inputs
from ._core import Model

__all__ = ["Simulation"]


def _inputs(given: tuple[Any, ...]) -> Inputs:
    return tuple(None if x is None else numpy.array(x, numpy.float64) for x in given)


def _call(function: Any, like: Any, *arguments: Any) -> Any:
    return jax.pure_callback(function, like, *arguments, vmap_method="sequential")


def _differentiable(adjoint: Adjoint) -> Any:
    """The function of q0, v0, u, tau, with its gradient."""

    def on_host(*given: Any) -> tuple[numpy.ndarray, numpy.ndarray]:
        dtype = given[0].dtype
        return tuple(x.astype(dtype) for x in adjoint.run(_inputs(given)))

    def back_on_host(given: tuple[Any, ...], by: tuple[Any, Any]) -> tuple[numpy.ndarray, ...]:
        found = adjoint.gradient(_inputs(given), *(numpy.asarray(x, numpy.float64) for x in by))
        return tuple(x.astype(to.dtype) for x, to in zip(found, given) if to is not None)

    def run(*given: Any) -> tuple[Any, Any]:
        n, like = adjoint.steps + 1, given[0].dtype
        shapes = ((n, adjoint.worlds, width) for width in (adjoint.model.nq, adjoint.model.nv))
        return _call(on_host, tuple(jax.ShapeDtypeStruct(shape, like) for shape in shapes), *given)

    def forward(*given: Any) -> tuple[tuple[Any, Any], tuple[Any, ...]]:
        return run(*given), given

    def backward(given: tuple[Any, ...], by: tuple[Any, Any]) -> tuple[Any, ...]:
        like = tuple(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in given if x is not None)
        found = iter(_call(back_on_host, like, given, by))
        return tuple(None if x is None else next(found) for x in given)

    function = jax.custom_vjp(run)
    function.defvjp(forward, backward)
    return function


class Simulation:
    """A run of ``steps`` steps of many worlds, side by side in lanes, as a function that jax.grad goes back through.

    Keys are those of catena.Tapes: ``worlds``, ``method``, ``dt``, ``tolerance``, ... Gradients are exact to the tolerance to
    which steps are solved: 1e-12 is a good one. A world that freezes, or whose step had to be halved, has no gradient: an error,
    or, with ``lost_raises=False``, zeros. Calls within jax.vmap are made one after the other: take ``worlds`` for those.
    """

    def __init__(self, model: Model, steps: int, *, lost_raises: bool = True, **keys: Any) -> None:
        self._adjoint = Adjoint(model, steps, lost_raises, keys)
        self._function = _differentiable(self._adjoint)
        self.model, self.steps, self.worlds = model, steps, self._adjoint.worlds

    def __call__(self, q0: Any, v0: Any, u: Any = None, tau: Any = None) -> tuple[jax.Array, jax.Array]:
        """q [steps + 1, worlds, nq], v [steps + 1, worlds, nv] from q0 [worlds, nq], v0 [worlds, nv].

        Motors are told u [steps, worlds, ntarget] (None: what the scene says), joints bear tau [steps, worlds, nv] (N m, N).
        Steps are made in float64 on the CPU; the results have the dtype of q0, float32 unless jax_enable_x64 is set. Quaternions
        in q0 may have any length; gradients by them are at right angles to them.
        """
        given = tuple(None if x is None else jax.numpy.asarray(x) for x in (q0, v0, u, tau))
        for name, x, shape in zip(("q0", "v0", "u", "tau"), given, self._adjoint.shapes()):
            if x is not None and x.shape != shape:
                raise ValueError(f"{name}: expected shape {shape}, found {x.shape}")
        return self._function(*given)
