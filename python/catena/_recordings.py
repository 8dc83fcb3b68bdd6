"""Runs and recordings as arrays."""

from __future__ import annotations

import csv
import os
from typing import TYPE_CHECKING, Any

import numpy
import numpy.typing

if TYPE_CHECKING:
    import pandas
    import xarray

    from ._core import Model

Array = numpy.typing.NDArray[numpy.float64]


class Recording:
    """States of worlds over time.

    ``time`` [records] (s), ``q`` [records, worlds, nq], ``v`` [records, worlds, nv], and ``rest``: all else that a file has, by
    the names of docs/recording.md, [records, worlds, ..]. ``names`` are of the columns of q and v; ``attributes`` those of the file.
    ``path`` of the .h5 that it was read from, else None; ``model`` that it was recorded of in memory, else None.
    """

    def __init__(
        self,
        time: Array,
        q: Array,
        v: Array,
        names: tuple[list[str], list[str]],
        rest: dict[str, Any],
        attributes: dict[str, Any],
        path: str | None = None,
        model: Model | None = None,
    ) -> None:
        self.time, self.q, self.v, self.names, self.rest, self.attributes = time, q, v, names, rest, attributes
        self.path, self.model = path, model

    def to_pandas(self, world: int = 0) -> pandas.DataFrame:
        """q and v of a world, a row a record, by their names; time is the index."""
        import pandas

        columns = numpy.concatenate([self.q[:, world], self.v[:, world]], axis=1)
        return pandas.DataFrame(columns, index=pandas.Index(self.time, name="time"), columns=self.names[0] + self.names[1])

    def to_xarray(self) -> xarray.Dataset:
        """q and v with the dimensions time, world, and the names of their columns."""
        import xarray

        return xarray.Dataset(
            {"q": (("time", "world", "coordinate"), self.q), "v": (("time", "world", "dof"), self.v)},
            coords={"time": self.time, "coordinate": self.names[0], "dof": self.names[1]},
            attrs=self.attributes,
        )


def read_recording(path: str | os.PathLike[str]) -> Recording:
    """Reads what `catena run --out`, `catena rollout`, Recorder or rollout has written: .csv, or .h5 and .hdf5, which take h5py.

    A rollout has its worlds at the same times, too. What it says of each world is in ``rest``, ``status`` and others, [worlds].
    """
    return _read_csv(path) if os.fspath(path).endswith(".csv") else _read_hdf5(path)


def _read_hdf5(path: str | os.PathLike[str]) -> Recording:
    import h5py

    with h5py.File(path, "r") as file:
        if file.attrs.get("format") == "catena rollout":
            return _read_rollout(path, file)
        count = len(file["time"])  # whole records; other datasets may have part of one more
        of_records = {}

        def visit(name: str, item: Any) -> None:
            if isinstance(item, h5py.Dataset) and item.ndim >= 2 and item.maxshape[0] is None:
                of_records[name] = item[:count]

        file.visititems(visit)
        names = _names(file)
        q, v = of_records.pop("q"), of_records.pop("v")
        return Recording(file["time"][:count], q, v, names, of_records, dict(file.attrs), os.path.abspath(path))


def _names(file: Any) -> tuple[list[str], list[str]]:
    return tuple(list(file[f"model/{part}_name"].asstr()[:]) for part in "qv")


def _read_rollout(path: str | os.PathLike[str], file: Any) -> Recording:
    time, worlds = file["time"][:], len(file["status"])
    rest = {}

    def visit(name: str, item: Any) -> None:
        shape = getattr(item, "shape", ())  # groups have none
        if shape[:1] != (worlds,) or name == "time" or name.startswith(("model/", "scene/")):
            return
        of_states = shape[1:2] == (len(time),) and name != "hash"
        rest[name] = numpy.swapaxes(item[:], 0, 1) if of_states else item[:]

    file.visititems(visit)
    names = _names(file)
    kept = [rest.pop(part, numpy.full((len(time), worlds, len(names[k])), numpy.nan)) for k, part in enumerate("qv")]
    return Recording(time, *kept, names, rest, dict(file.attrs), os.path.abspath(path))


def _read_csv(path: str | os.PathLike[str]) -> Recording:
    attributes: dict[str, Any] = {}
    with open(path, newline="") as file:
        lines = []
        for line in file:
            if not line.startswith("#"):
                lines.append(line)
            elif (
                line.startswith("# ") and ": " in line and not line.startswith(("# | ", "# link", "# file", "# mesh", "# units"))
            ):
                key, value = line[2:].rstrip("\n").split(": ", 1)
                attributes.setdefault(key, value)
    if lines and not lines[-1].endswith("\n"):
        lines.pop()  # of a program that was killed
    rows = csv.reader(lines)
    columns = next(rows)
    table = numpy.array([[float(x) for x in row] for row in rows], dtype=numpy.float64).reshape(-1, len(columns))
    worlds = int(attributes["worlds"])
    table = table[: len(table) // worlds * worlds].reshape(-1, worlds, len(columns))
    nq, nv = int(attributes["nq"]), int(attributes["nv"])
    at_v, at_rest = 2 + nq, 2 + nq + nv
    rest = {name: table[:, :, k] for k, name in enumerate(columns) if k >= at_rest}
    names = (columns[2:at_v], columns[at_v:at_rest])
    return Recording(table[:, 0, 0], table[:, :, 2:at_v], table[:, :, at_v:at_rest], names, rest, attributes)


def record(batch: Any, steps: int, every: int = 1, control: Any = None) -> Recording:
    """Steps a batch, and keeps the states at its start and after each ``every`` steps, and the last one, in memory.

    ``rest["statistics"]`` [records, worlds] has those of the steps since the record before. ``control`` is that of Batch.run.
    """
    if every < 1:
        raise ValueError("every: expected 1 or more")
    parts = [0] + [every] * (steps // every) + ([steps % every] if steps % every else [])
    time = numpy.empty(len(parts))
    q, v = numpy.empty((len(parts), batch.worlds, batch.model.nq)), numpy.empty((len(parts), batch.worlds, batch.model.nv))
    statistics = []
    for k, part in enumerate(parts):
        statistics.append(
            batch.run(part, control=control, statistics=True) if control and part else batch.step(part, statistics=True)
        )
        batch.state(q[k], v[k])
        time[k] = batch.time[0]
    links = batch.model.links
    names = tuple(
        [
            link.name if s.stop - s.start == 1 else f"{link.name}.{i}"
            for link in links
            for s in [getattr(link, part)]
            for i in range(s.stop - s.start)
        ]
        for part in "qv"
    )
    return Recording(
        time,
        q,
        v,
        names,
        {"statistics": numpy.stack(statistics)},
        {"scene": batch.model.name, "worlds": batch.worlds},
        model=batch.model,
    )
