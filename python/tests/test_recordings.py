"""catena.Recorder, record and read_recording."""

from __future__ import annotations

import importlib.util
import pathlib
import tempfile
import unittest

import catena
import numpy

from support import COMMAND, SCENES, TWO_LINKS, run


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

    @unittest.skipUnless(importlib.util.find_spec("h5py"), "the package h5py")
    def test_rollouts(self):
        model = catena.load(SCENES / "chain10-sampled.yaml")
        path, heard = self.folder / "chains.h5", []
        report = catena.rollout(model, path, 5, steps=20, stride=10, keep="q,v,energy", progress=lambda *x: heard.append(x))
        self.assertEqual((report.worlds, report.done, report.frozen, report.states), (5, 5, 0, 3))
        self.assertEqual((heard[0], heard[-1]), ((0, 5), (5, 5)))
        file = catena.read_recording(path)
        self.assertEqual((file.q.shape, file.v.shape, file.time.shape), ((3, 5, model.nq), (3, 5, model.nv), (3,)))
        sample = model.sample(5)
        batch = catena.Batch(model, worlds=5)
        batch.set_state(sample.q, sample.v)
        batch.set_force(sample.force)
        memory = catena.record(batch, 20, every=10)
        self.assertTrue((file.q == memory.q).all() and (file.v == memory.v).all())
        numpy.testing.assert_allclose(file.time, memory.time)
        self.assertEqual(file.rest["status"].tolist(), [0] * 5)
        self.assertEqual(file.rest["energy/kinetic"].shape, (3, 5))
        totals = batch.totals()
        numpy.testing.assert_allclose(file.rest["energy/kinetic"][-1], totals["kinetic"], rtol=1e-12)
        if COMMAND:
            words = ("--worlds", "5", "--steps", "20", "--stride", "10", "--keep", "q,v,energy", "--quiet")
            run("rollout", str(SCENES / "chain10-sampled.yaml"), *words, "--out", str(self.folder / "b.h5"))
            self.assertTrue((catena.read_recording(self.folder / "b.h5").q == file.q).all())

    @unittest.skipUnless(importlib.util.find_spec("h5py"), "the package h5py")
    def test_rollouts_that_end_early(self):
        model, path = catena.load(SCENES / "chain10-sampled.yaml"), self.folder / "chains.h5"

        def stop(done, all):
            if done:
                raise KeyError("enough")

        whole = catena.rollout(model, self.folder / "whole.h5", 40, steps=3000, stride=1500, threads=1)
        with self.assertRaisesRegex(KeyError, "enough"):
            catena.rollout(model, path, 40, steps=3000, stride=1500, threads=1, progress=stop)
        report = catena.rollout(model, path, 40, steps=3000, stride=1500, resume=True)
        self.assertEqual((report.done, whole.done), (40, 40))
        self.assertTrue((catena.read_recording(path).q == catena.read_recording(self.folder / "whole.h5").q).all())
        for error, words in (
            (catena.ArgumentError, {"path": self.folder / "a.csv"}),
            (catena.ArgumentError, {"path": path, "steps": -1}),
            (catena.ArgumentError, {"path": path, "keep": "qq"}),
            (TypeError, {"path": path, "progress": 1}),
            (TypeError, {"path": path, "parameters": []}),
            (TypeError, {"path": 3}),
            (catena.FileError, {"path": path, "starts": self.folder / "none.h5"}),
        ):
            with self.assertRaises(error):
                catena.rollout(model, **words)
        # another recording of the library would meet HDF5 in the middle of a call
        batch = catena.Batch(model)

        def record(done, all):
            catena.Recorder(batch, str(self.folder / "other.h5"))

        with self.assertRaisesRegex(RuntimeError, "HDF5 is in use"):
            catena.rollout(model, path, 2, steps=2, progress=record)

    def test_rollouts_of_worlds_that_freeze(self):
        scene = """\
catena: 1
links:
  - {name: a, joint: {type: prismatic, axis: [1, 0, 0]}, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}
motors: [{joint: a, type: position, kp: 1e9, kd: 10, target: 1}]
integrator: {method: semi-implicit, dt: 0.05}
"""
        report = catena.rollout(catena.load(scene), self.folder / "a.h5", 2, steps=200)
        self.assertEqual((report.done, report.frozen), (2, 2))
        self.assertTrue(any("no `sample:` section" in text for text in report.warnings), report.warnings)

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
        self.assertEqual(dict(data.sizes), {"time": 4, "world": 2, "coordinate": 5, "dof": 4})
        self.assertTrue((data["v"].sel(dof="upper", time=memory.time[2]).to_numpy() == memory.v[2, :, 0]).all())
        self.assertEqual(list(data["coordinate"].to_numpy()), memory.names[0])

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
