"""catena.render: what it draws, as arrays, files and for notebooks."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
import unittest
import unittest.mock
import zlib

import catena
import numpy

from support import COMMAND, SCENES, TWO_LINKS

SHAPES = """\
shapes: [{type: capsule, from: [0, 0, 0], to: [0, 0, -1], radius: 0.08}]
"""
DRAWN = TWO_LINKS.replace("mass: 1", SHAPES.strip() + "\n    mass: 1") + "duration: 0.2\n"


def draws() -> bool:
    """Whether the command is there, draws, and finds OpenGL."""
    if not COMMAND:
        return False
    with tempfile.TemporaryDirectory() as folder:
        words = [COMMAND, "render", str(SCENES / "double-pendulum.yaml"), "--out", os.path.join(folder, "a.png"), "--size", "8x8"]
        return subprocess.run(words, capture_output=True).returncode == 0


def of_png(data: bytes) -> numpy.ndarray:
    """The pixels of a PNG without filters."""
    width, height = struct.unpack(">II", data[16:24])
    parts, at = b"", 8
    while at < len(data):
        (length,), kind = struct.unpack(">I", data[at : at + 4]), data[at + 4 : at + 8]
        parts += data[at + 8 : at + 8 + length] if kind == b"IDAT" else b""
        at += 12 + length
    lines = numpy.frombuffer(zlib.decompress(parts), numpy.uint8).reshape(height, 1 + 3 * width)
    assert not lines[:, 0].any()
    return lines[:, 1:].reshape(height, width, 3)


@unittest.skipUnless(draws(), "the command `catena render` with OpenGL")
class Pictures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.model = catena.load(DRAWN)

    def test_a_batch_as_it_is(self):
        batch = catena.Batch(self.model)
        first = catena.render(batch, size=(80, 60))
        self.assertEqual((first.pixels.shape, first.pixels.dtype), ((60, 80, 3), numpy.uint8))
        self.assertTrue((numpy.asarray(first) == first.pixels).all())
        self.assertTrue((catena.render(batch, size=(80, 60)).pixels == first.pixels).all())
        batch.set_state([1, 1, 0, 0, 0], time=3)
        self.assertGreater((catena.render(batch, size=(80, 60)).pixels != first.pixels).mean(), 0.01)
        self.assertTrue((of_png(first._repr_png_()) == first.pixels).all())
        first.save(self.folder / "a.png")
        catena.render(catena.Batch(self.model), self.folder / "b.png", size=(80, 60))
        made = [of_png((self.folder / f"{x}.png").read_bytes()) for x in "ab"]
        self.assertTrue((made[0] == made[1]).all())

    def test_a_motion(self):
        movie = catena.render(self.model, size=(80, 60), fps=20, camera=(-60, 20, 6))
        self.assertEqual((len(movie), movie.pixels.shape), (5, (5, 60, 80, 3)))
        self.assertEqual(repr(movie), "<catena.Movie of 5 pictures of 80x60, 20 a second>")
        batch = catena.Batch(self.model)
        batch.step(5)
        self.assertTrue((catena.render(batch, size=(80, 60), camera=(-60, 20, 6)).pixels == movie[2].pixels).all())
        at = catena.render(self.model, time=0.1, size=(80, 60), camera=(-60, 20, 6))
        self.assertTrue((at.pixels == movie[2].pixels).all())
        # of a recording in memory, and in a file
        memory = catena.record(catena.Batch(self.model), 10)
        self.assertTrue((catena.render(memory, size=(80, 60), fps=20, camera=(-60, 20, 6)).pixels == movie.pixels).all())
        path = self.folder / "run.h5"
        batch = catena.Batch(self.model)
        with catena.Recorder(batch, str(path)) as recorder:
            recorder.add()
            for _ in range(10):
                recorder.add(batch.step(1, statistics=True))
        for source in (path, str(path), catena.read_recording(path)):
            found = catena.render(source, size=(80, 60), fps=20, camera=(-60, 20, 6), start=0.1)
            self.assertTrue((found.pixels == movie.pixels[2:]).all())

    def test_many_worlds_and_marks(self):
        batch = catena.Batch(self.model, worlds=4)
        plain = catena.render(batch, size=(80, 60))
        one = catena.render(batch, size=(80, 60), world=2)
        marked = catena.render(batch, size=(80, 60), world=2, show=["axes", "text"], title="four", colors="link", floor="none")
        self.assertFalse((plain.pixels == one.pixels).all() or (marked.pixels == one.pixels).all())

    @unittest.skipUnless(shutil.which("ffmpeg"), "ffmpeg")
    def test_movies(self):
        movie = catena.render(self.model, size=(81, 61), fps=20)
        said = movie._repr_html_()
        self.assertRegex(said, r'^<video width="81" .* src="data:video/mp4;base64,[A-Za-z0-9+/=]{500,}"></video>$')
        movie.save(self.folder / "own.mp4")
        catena.render(self.model, self.folder / "command.mp4", size=(81, 61), fps=20)
        for name in ("own", "command"):
            counted = subprocess.run(
                ["ffmpeg", "-i", str(self.folder / f"{name}.mp4"), "-f", "null", "-"], capture_output=True, text=True
            ).stderr
            self.assertRegex(counted, r"82x62")
            self.assertEqual(re.findall(r"frame= *(\d+)", counted)[-1], "5")
        with self.assertRaises(catena.FileError):
            movie.save(self.folder / "no" / "such.mp4")

    def test_refused(self):
        for error, words, call in (
            (catena.ArgumentError, "--camera", lambda: catena.render(self.model, camera="nobody")),
            (catena.ArgumentError, "unknown ending", lambda: catena.render(self.model, "a.jpg")),
            (ValueError, "of one picture", lambda: catena.render(self.model, time=1, end=2)),
            (ValueError, "as it is now", lambda: catena.render(catena.Batch(self.model), end=2)),
            (ValueError, "no duration", lambda: catena.render(catena.load(TWO_LINKS))),
            (catena.Error, "none.h5", lambda: catena.render(self.folder / "none.h5")),
            (ValueError, "as .png", lambda: catena.Picture(numpy.zeros((2, 2, 3), numpy.uint8)).save("a.jpg")),
        ):
            with self.assertRaisesRegex(error, words):
                call()
        batch = catena.Batch(self.model)
        with catena.Recorder(batch, str(self.folder / "run.csv")) as recorder:
            recorder.add()
        with self.assertRaisesRegex(ValueError, "record into a .h5"):
            catena.render(catena.read_recording(self.folder / "run.csv"))


class Without(unittest.TestCase):
    def test_no_command(self):
        with unittest.mock.patch.dict(os.environ, {"PATH": "/nonexistent"}):
            os.environ.pop("CATENA_COMMAND", None)
            if (pathlib.Path(catena.__file__).parent / "bin" / "catena").exists():
                self.skipTest("the package has the command")
            with self.assertRaisesRegex(catena.UnavailableError, "^the command `catena`, which draws pictures, is neither"):
                catena.render(catena.Batch(catena.load(DRAWN)))

    def test_a_command_that_does_not_start(self):
        with unittest.mock.patch.dict(os.environ, {"CATENA_COMMAND": "/no/such/catena"}):
            with self.assertRaisesRegex(catena.UnavailableError, "'/no/such/catena' cannot be started: No such file"):
                catena.render(catena.Batch(catena.load(DRAWN)))

    def test_no_ffmpeg(self):
        movie = catena.Movie(numpy.zeros((2, 4, 6, 3), numpy.uint8), 10)
        with unittest.mock.patch.dict(os.environ, {"PATH": "/nonexistent"}):
            self.assertRegex(movie._repr_html_(), '^<img width="6" height="4" src="data:image/png;base64,')
            with self.assertRaisesRegex(catena.UnavailableError, "ffmpeg"):
                movie.save("a.mp4")


if __name__ == "__main__":
    unittest.main()
