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
