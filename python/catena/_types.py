"""Plain records that the library fills."""

from __future__ import annotations

from typing import NamedTuple

import numpy
import numpy.typing


class Link(NamedTuple):
    """A link, as its file has it."""

    name: str
    parent: int  #: its parent's number; -1: the world
    joint: str  #: "fixed", "revolute", "prismatic", "helical", "universal", "ball", "planar" or "free"
    q: slice  #: its coordinates in q
    v: slice  #: its degrees of freedom in v
    mass: float  #: kg
    com: numpy.typing.NDArray[numpy.float64]  #: [3] m, link axes
    inertia: numpy.typing.NDArray[numpy.float64]  #: [6] kg m^2 about com, link axes: xx yy zz xy xz yz


class ContactPoint(NamedTuple):
    """A ball or a corner on a link, and a surface that it may touch."""

    link: str
    point: numpy.typing.NDArray[numpy.float64]  #: [3] m, link frame
    radius: float  #: m; 0: a corner
    friction: float  #: of Coulomb
    stiffness: float  #: N/m
    surface: str  #: "ground", an obstacle's name, "terrain"; "links": what all other links do to it


class Sample(NamedTuple):
    """What is drawn for worlds."""

    q: numpy.typing.NDArray[numpy.float64]  #: [worlds, nq]
    v: numpy.typing.NDArray[numpy.float64]  #: [worlds, nv]
    force: numpy.typing.NDArray[numpy.float64]  #: [worlds, nv] N m, N; 0 where nothing is drawn
    parameters: list[tuple[str, int]]  #: which are drawn, as Batch takes them
    values: numpy.typing.NDArray[numpy.float64]  #: [worlds, parameters]


class OptimizeState(NamedTuple):
    """Where a trajectory is that is being found."""

    iteration: int  #: made
    cost: float  #: without what limits add
    gradient: float  #: by what motors are told, relative
    violation: float  #: the most that a limit is missed by, in its units
    penalty: float  #: of limits
    stop: str  #: "runs", "optimal": the gradient is within tolerance, limits are kept; "stuck": no step makes it better


class MPCState(NamedTuple):
    """Where a plan is that is made anew in every knot."""

    knot: int  #: told
    time: float  #: s, when they are over
    cost: float  #: of the plant's own way up to now
    planned: float  #: what the plan from here on costs, without what limits add
    violation: float  #: the most that it misses limits by, in their units
    iterations: int  #: of the last plan
    started: float  #: s, when targets that wait began to move; infinite: they have not yet
    lost: bool  #: there is no plan that goes on
