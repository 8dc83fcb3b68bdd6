"""catena: articulated rigid bodies at large time steps.

    >>> import catena
    >>> model = catena.load("scenes/double-pendulum.yaml")
    >>> batch = catena.Batch(model, worlds=2)
    >>> batch.step(500)
    >>> batch.q.shape
    (2, 2)

Arrays are numpy's, float64, row-major; world axes, SI units. docs/python.md says what is where.
"""

from __future__ import annotations

import os

from ._core import (
    CMA,
    MPC,
    Batch,
    Environments,
    Model,
    Optimize,
    Recorder,
    Search,
    Tape,
    Tapes,
    Trajectories,
    rollout,
    statistics_dtype,
    totals_dtype,
)
from ._core import version as _version
from ._core import load_file as _load_file, load_text as _load_text
from ._errors import (
    ArgumentError,
    Error,
    FileError,
    Finding,
    FrozenError,
    InterruptedCallError,
    OutOfMemoryError,
    SceneError,
    UnavailableError,
)
from ._pictures import Movie, Picture, render
from ._recordings import Recording, read_recording, record
from ._types import (
    CMAState,
    ContactPoint,
    Link,
    MPCState,
    OptimizeState,
    RolloutReport,
    Sample,
    SearchMoment,
    SearchState,
    Step,
)

__version__ = _version()
__all__ = [
    "ArgumentError",
    "Batch",
    "CMA",
    "CMAState",
    "ContactPoint",
    "Environments",
    "Error",
    "FileError",
    "Finding",
    "FrozenError",
    "InterruptedCallError",
    "Link",
    "MPC",
    "MPCState",
    "Model",
    "Movie",
    "Optimize",
    "OptimizeState",
    "OutOfMemoryError",
    "Picture",
    "Recorder",
    "Recording",
    "RolloutReport",
    "Sample",
    "SceneError",
    "Search",
    "SearchMoment",
    "SearchState",
    "Step",
    "Tape",
    "Tapes",
    "Trajectories",
    "UnavailableError",
    "load",
    "read_recording",
    "record",
    "render",
    "rollout",
    "statistics_dtype",
    "totals_dtype",
]


def load(source: str | os.PathLike[str], name: str | None = None) -> Model:
    """Reads a scene (YAML), a robot (URDF) or a model of MuJoCo (MJCF) and compiles it.

    ``source`` is a path, or the text itself: a ``str`` with a line break in it. ``name`` stands for a text's file in messages,
    and files that it includes are looked for beside it. Raises SceneError with every problem of the file, FileError.
    """
    if isinstance(source, str) and "\n" in source:
        return _load_text(source, "<text>" if name is None else name)
    if name is not None:
        raise TypeError("name: is of a text; this is a path, as there is no line break in it")
    return _load_file(os.fspath(source))
