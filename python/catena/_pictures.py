"""Pictures and movies, drawn by the command `catena`: the module itself knows no OpenGL."""

from __future__ import annotations

import base64
import html
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import zlib
from collections.abc import Iterable
from typing import Any

import numpy
import numpy.typing

from ._core import Batch, Model, Recorder
from ._errors import ArgumentError, Error, FileError, UnavailableError
from ._recordings import Recording

Pixels = numpy.typing.NDArray[numpy.uint8]


class Picture:
    """A picture: ``pixels`` [height, width, 3], RGB. ``numpy.asarray`` gives them, too; notebooks show it."""

    def __init__(self, pixels: Pixels) -> None:
        self.pixels = pixels

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray:
        return numpy.array(self.pixels, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        height, width, _ = self.pixels.shape
        return f"<catena.Picture of {width}x{height}>"

    def _repr_png_(self) -> bytes:
        height, width, _ = self.pixels.shape
        lines = numpy.zeros((height, 1 + 3 * width), numpy.uint8)  # each begins with 0: it is not filtered
        lines[:, 1:] = self.pixels.reshape(height, 3 * width)
        parts = (
            (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
            (b"IDAT", zlib.compress(lines.tobytes(), 2)),
            (b"IEND", b""),
        )
        return b"\x89PNG\r\n\x1a\n" + b"".join(
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a .png."""
        if not os.fspath(path).endswith(".png"):
            raise ValueError(f"path: a picture is written as .png, found {os.fspath(path)!r}")
        pathlib.Path(path).write_bytes(self._repr_png_())


class Movie:
    """Pictures one after the other: ``pixels`` [pictures, height, width, 3], RGB, ``fps`` of them a second.

    ``movie[k]`` is a Picture. Notebooks show it as a movie, where there is ffmpeg, else its first picture."""

    def __init__(self, pixels: Pixels, fps: float) -> None:
        self.pixels, self.fps = pixels, fps

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray:
        return numpy.array(self.pixels, dtype=dtype, copy=copy)

    def __len__(self) -> int:
        return len(self.pixels)

    def __getitem__(self, k: int) -> Picture:
        return Picture(self.pixels[int(k)])

    def __repr__(self) -> str:
        count, height, width, _ = self.pixels.shape
        return f"<catena.Movie of {count} pictures of {width}x{height}, {self.fps:g} a second>"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a movie by ffmpeg, in the format of the ending: .mp4, .webm, .gif, .webp. UnavailableError without ffmpeg."""
        count, height, width, _ = self.pixels.shape
        even = ["-pix_fmt", "yuv420p", "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2"] if os.fspath(path).endswith(".mp4") else []
        words = ["ffmpeg", "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}"]
        words += ["-r", repr(float(self.fps)), "-i", "-", *even, f"file:{os.fspath(path)}"]
        try:
            done = subprocess.run(words, input=numpy.ascontiguousarray(self.pixels).data, stderr=subprocess.PIPE, check=False)
        except FileNotFoundError:
            raise UnavailableError("movies are made by ffmpeg, which is not on PATH: install it", "unavailable") from None
        if done.returncode:
            raise FileError(f"{os.fspath(path)}: ffmpeg: {done.stderr.decode(errors='replace').strip()}", "input/output")

    def _repr_html_(self) -> str:
        _, height, width, _ = self.pixels.shape
        if not shutil.which("ffmpeg"):
            data = base64.b64encode(self[0]._repr_png_()).decode()
            return f'<img width="{width}" height="{height}" src="data:image/png;base64,{data}">'
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "movie.mp4")
            self.save(file)
            data = base64.b64encode(file.read_bytes()).decode()
        return (
            f'<video width="{width}" height="{height}" controls loop autoplay muted title="{html.escape(repr(self))}" '
            f'src="data:video/mp4;base64,{data}"></video>'
        )


def command() -> str:
    """The program that draws: what CATENA_COMMAND says, else that of the package, else that on PATH."""
    own = pathlib.Path(__file__).parent / "bin" / "catena"
    program = os.environ.get("CATENA_COMMAND") or (str(own) if own.exists() else shutil.which("catena"))
    if program:
        return program
    raise UnavailableError(
        "the command `catena`, which draws pictures, is neither in this package nor on PATH: install it, or say in CATENA_COMMAND "
        "where it is",
        "unavailable",
    )


def _draw(words: list[str]) -> None:
    program = command()
    try:
        done = subprocess.run([program, "render", *words, "--quiet"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except OSError as error:
        raise UnavailableError(f"the command {program!r} cannot be started: {error.strerror}", "unavailable") from None
    if done.returncode:
        said = "\n".join(line.removeprefix("error: ") for line in done.stderr.splitlines()) or f"{program} failed"
        raise ArgumentError(said, "bad argument") if done.returncode == 2 else Error(said)


def _record_motion(model: Model, end: float | None, path: str) -> None:
    """The motion that the scene has, up to `end`."""
    end = model.duration if end is None else end
    if not end >= 0:
        raise ValueError("end: the scene has no duration; say how many seconds are shown")
    batch = Batch(model, frozen_raises=False)
    with Recorder(batch, path) as recorder:
        recorder.add()
        while batch.time[0] < end - 1e-9:
            statistics = batch.step(1, statistics=True)
            recorder.add(statistics)
            if statistics["frozen"][0]:
                break


def _record_states(recording: Recording, path: str) -> None:
    if recording.model is None:
        raise ValueError("source: this recording comes from a .csv, which has no shapes: record into a .h5")
    batch = Batch(recording.model, worlds=recording.q.shape[1])
    with Recorder(batch, path) as recorder:
        for time, q, v in zip(recording.time, recording.q, recording.v):
            batch.set_state(q, v, time)
            recorder.add()


def _option(name: str, value: Any) -> list[str]:
    return [] if value is None else [f"--{name}", value if isinstance(value, str) else f"{value:.17g}"]


def render(
    source: str | os.PathLike[str] | Model | Batch | Recording,
    out: str | os.PathLike[str] | None = None,
    *,
    time: float | None = None,
    start: float | None = None,
    end: float | None = None,
    fps: float = 30,
    size: tuple[int, int] = (640, 360),
    camera: str | tuple[float, ...] | None = None,
    floor: float | str | None = None,
    show: str | Iterable[str] = (),
    trail: float | None = None,
    title: str | None = None,
    colors: str | None = None,
    layout: str | None = None,
    world: int | None = None,
    worlds: int | str | None = None,
) -> Picture | Movie | None:
    """Draws a Batch as it is now, or how a scene, a Model, a Recording or a .h5 file moves: by the command `catena render`.

    Returns a Picture of a Batch, and of all else at ``time`` (s); a Movie from ``start`` to ``end`` (s) where no time is given.
    With ``out``, a file whose ending says what it is (.png, frames/%04d.png, .mp4, .webm, .webp, .gif, .npy), it writes that and
    returns None. ``size``: (width, height) in pixels. The rest are options of the command, in docs/pictures.md: ``camera`` a
    name, or (azimuth, elevation[, distance]) in degrees and m; ``floor`` m or "none"; ``show`` marks, as ["axes", "text"];
    ``trail`` s; ``world`` the first one of a recording, ``worlds`` how many, or "all" (of a Batch and a Recording in memory the
    default).

    ArgumentError: the command refuses it. UnavailableError: there is no such command, or no ffmpeg for a movie in a file. Error:
    it cannot draw, as there is no OpenGL, say.
    """
    if isinstance(source, Recording) and source.path is not None:
        source = source.path
    if time is not None and (start is not None or end is not None):
        raise ValueError("time: is of one picture, start and end are of a movie")
    if isinstance(camera, tuple):
        camera = ",".join(f"{x:.17g}" for x in camera)
    show = show if isinstance(show, str) else ",".join(show)
    width, height = size
    with tempfile.TemporaryDirectory(prefix="catena-") as folder:
        file = os.path.join(folder, "motion.h5")
        if isinstance(source, Model):
            _record_motion(source, end if time is None else time, file)
        elif isinstance(source, Batch):
            if start is not None or end is not None or time is not None:
                raise ValueError("time: a Batch is drawn as it is now; catena.record keeps how it moves")
            time = float(source.time[0])
            with Recorder(source, file) as recorder:
                recorder.add()
        elif isinstance(source, Recording):
            _record_states(source, file)
        else:
            file = os.fspath(source)
        if worlds is None and world is None and isinstance(source, (Batch, Recording)):
            worlds = "all"
        first = start if time is None else time
        made = os.path.join(folder, "pictures.npy") if out is None else os.fspath(out)
        single = made.endswith(".png") and "%" not in made
        words = [file, "--out", made, "--size", f"{int(width)}x{int(height)}", *_option("from", first)]
        words += [] if single else [*_option("to", end if time is None else time), *_option("fps", fps)]
        words += [*_option("camera", camera), *_option("floor", floor), *_option("show", show or None), *_option("trail", trail)]
        words += [*_option("title", title), *_option("colors", colors), *_option("layout", layout)]
        words += [*_option("world", world), *_option("worlds", worlds)]
        _draw(words)
        if out is not None:
            return None
        pixels = numpy.load(made)
    return Movie(pixels, fps) if time is None else Picture(pixels[0])
