"""catena.Recorder, record and read_recording."""

from __future__ import annotations

import importlib.util
import pathlib
import tempfile
import unittest

import catena
import numpy

from support import COMMAND, TWO_LINKS, run


class Recordings(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def made(self, suffix):
        path = str(self.folder / f"run.{suffix}")
        batch = catena.Batch(catena.load(TWO_LINKS), worlds=2)
        batch.set_state([[0.3, 1, 0, 0, 0], [0.4, 1, 0, 0, 0]])
        with catena.Recorder(batch, path, every=2) as recorder:
            recorder.add()
            for _ in range(3):
                recorder.add(batch.step(2, statistics=True))
            self.assertEqual(recorder.count, 4)
        recorder.close()
        for call in (recorder.add, recorder.flush, lambda: recorder.count):
            with self.assertRaisesRegex(ValueError, "closed"):
                call()
        again = catena.Batch(catena.load(TWO_LINKS), worlds=2)
        again.set_state([[0.3, 1, 0, 0, 0], [0.4, 1, 0, 0, 0]])
        return catena.read_recording(path), catena.record(again, 6, every=2)

    def same(self, file, memory):
        self.assertTrue((file.q == memory.q).all() and (file.v == memory.v).all() and (file.time == memory.time).all())
        self.assertEqual(file.q.shape, (4, 2, 5))

    def test_csv(self):
        file, memory = self.made("csv")
        self.same(file, memory)
        self.assertTrue((file.rest["stats.iterations"] == memory.rest["statistics"]["iterations"]).all())

    @unittest.skipUnless(importlib.util.find_spec("h5py"), "the package h5py")
    def test_hdf5(self):
        file, memory = self.made("h5")
        self.same(file, memory)
        self.assertTrue((file.rest["stats/iterations"] == memory.rest["statistics"]["iterations"]).all())
        self.assertEqual(file.attributes["method"], "radau")

    @unittest.skipUnless(COMMAND, "the command: CATENA_COMMAND says where it is")
    def test_what_the_command_writes(self):
        scene = self.folder / "two.yaml"
        scene.write_text(TWO_LINKS.replace("axis: [0, 1, 0]}", "axis: [0, 1, 0], q0: 0.3}"))
        run("run", str(scene), "--steps", "6", "--every", "2", "--quiet", "--out", str(self.folder / "run.csv"))
        file, memory = catena.read_recording(self.folder / "run.csv"), catena.record(catena.Batch(catena.load(scene)), 6, every=2)
        self.assertTrue((file.q == memory.q).all() and (file.v == memory.v).all())

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "the package pandas")
    def test_pandas(self):
        file, memory = self.made("csv")
        frame = file.to_pandas(world=1)
        self.assertTrue((frame.to_numpy()[:, :5] == memory.q[:, 1]).all())
        self.assertEqual(len(memory.to_pandas().columns), 9)

    @unittest.skipUnless(importlib.util.find_spec("xarray"), "the package xarray")
    def test_xarray(self):
        _, memory = self.made("csv")
        data = memory.to_xarray()
        self.assertTrue((data["q"].isel(world=1).to_numpy() == memory.q[:, 1]).all())

    def test_refused(self):
        batch = catena.Batch(catena.load(TWO_LINKS), worlds=2)
        with self.assertRaises(catena.ArgumentError):
            catena.Recorder(batch, str(self.folder / "run.txt"))
        with self.assertRaises(catena.FileError):
            catena.Recorder(batch, "/no/such/folder/run.csv")
        with self.assertRaises(catena.Error):
            catena.Recorder(batch, str(self.folder / "run.csv"), every=0)
        with self.assertRaises((TypeError, RuntimeError)):
            catena.Recorder("batch", str(self.folder / "run.csv"))
        recorder = catena.Recorder(batch, str(self.folder / "run.csv"))
        with self.assertRaises(TypeError):
            recorder.add(numpy.zeros(2))
        with self.assertRaises(ValueError):
            recorder.add(catena.Batch(batch.model).step(statistics=True))
        with self.assertRaises(catena.ArgumentError):
            recorder.hash()
        del batch
        recorder.add()


if __name__ == "__main__":
    unittest.main()
