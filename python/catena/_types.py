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


class SearchState(NamedTuple):
    """Where a search for a controller is."""

    learns: bool  #: by a policy gradient: a generation is a window, evaluations are episodes
    generation: int  #: made
    evaluations: int  #: made
    steps: int  #: of worlds
    best: float  #: the most that a candidate has earned, or the policy when it was judged; -inf: none has
    mean: float  #: of the last generation's candidates, but for those that are lost; or of its episodes, with noise
    worst: float  #: likewise
    lost: int  #: candidates, of all generations, that froze or earned no number; or windows of worlds
    sigma: float  #: step size of CMA-ES; deviation of a policy's noise
    ratio: float  #: the longest over the shortest axis of CMA-ES
    gradient: float  #: length of a policy's last one
    judges: int  #: worlds of its own in which what was found was judged; 0: none
    over: bool  #: CMA-ES has come to its end


class SearchMoment(NamedTuple):
    """What worlds have come to in a search: the end of an interval in which motors were told the same, or its beginning."""

    time: numpy.typing.NDArray[numpy.float64]  #: [worlds] s
    q: numpy.typing.NDArray[numpy.float64]  #: [worlds, nq]
    v: numpy.typing.NDArray[numpy.float64]  #: [worlds, nv]
    u: numpy.typing.NDArray[numpy.float64]  #: [worlds, ntarget], what motors were told in it
    sensors: numpy.typing.NDArray[numpy.float64]  #: [worlds, numbers], as Batch.sensors
    over: numpy.typing.NDArray[numpy.bool_]  #: [worlds] it counts no more: it is frozen, or its episode has ended before
    dt: float  #: s, of the interval; 0: episodes begin, and nothing is earned
    last: bool  #: episodes end with it


class CMAState(NamedTuple):
    """Where a search by CMA-ES is."""

    evaluations: int  #: told, in all runs
    generations: int  #: told, in all runs
    generation: int  #: of this run
    not_numbers: int  #: of the evaluations, those that were NaN
    eigen: int  #: eigenproblems solved
    run: int  #: from 0; restarts have been as many
    small_runs: int  #: of these, those with small populations (BIPOP)
    population: int  #: of this generation
    covariance: str  #: "full", "decoded" or "separable"
    last: str  #: why the run before this one was over
    stop: str  #: why the search is over
    sigma: float  #: step size
    condition: float  #: of the covariance, or of scales
    best: float  #: the smallest value of all runs that satisfies the constraints; inf: none
    median: float  #: of the last generation's values; with constraints, of their augmented Lagrangian
    rate_mean: float  #: of the adapted learning rates, 0 to 1; 1: not adapted
    rate_covariance: float


class RolloutReport(NamedTuple):
    """What became of the worlds of a rollout."""

    worlds: int  #: in all
    done: int  #: worlds that the file has now
    before: int  #: of these, those that it had before the call
    frozen: int  #: of these, those that could not be stepped to the end
    with_fallbacks: int  #: of these, those with steps that needed fewer stages or had to be halved
    states: int  #: of each world in the file
    block: int  #: worlds at a time
    threads: int  #: that stepped them
    engine: str  #: likewise
    parallel: str  #: what went side by side
    lanes: int  #: of a world along its links; 0: worlds were side by side
    wall: float  #: s of wall time, from the first world on
    occupancy: float  #: how much of the work was of use, 0 to 1; NaN: not measured
    warnings: tuple[str, ...]  #: what is allowed but probably not meant


class Step(NamedTuple):
    """What actions of environments have led to."""

    observation: numpy.typing.NDArray[numpy.float64]  #: [worlds, observations]
    reward: numpy.typing.NDArray[numpy.float64]  #: [worlds]
    terms: numpy.typing.NDArray[numpy.float64]  #: [worlds, terms], whose sum that is
    terminated: numpy.typing.NDArray[numpy.bool_]  #: [worlds] the episode is over
    truncated: numpy.typing.NDArray[numpy.bool_]  #: [worlds] it was ended, by time or as the world is lost
    lost: numpy.typing.NDArray[numpy.bool_]  #: [worlds] the world is frozen, or its reward is no number
    statistics: numpy.typing.NDArray[numpy.void]  #: [worlds] of statistics_dtype, without energies
