"""catena.Batch."""

from __future__ import annotations

import csv
import pathlib
import tempfile
import unittest

import catena
import numpy

from support import COMMAND, SCENES, TWO_LINKS, random_states, run


class Bits(unittest.TestCase):
    @unittest.skipUnless(COMMAND, "the command: CATENA_COMMAND says where it is")
    def test_the_same_bits_as_the_command(self):
        for scene in ("chain10.yaml", "double-pendulum.yaml", "walker.yaml", "imu.yaml"):
            with self.subTest(scene), tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder) / "run.csv"
                run("run", f"scenes/{scene}", "--steps", "40", "--every", "40", "--quiet", "--out", str(file))
                with open(file) as lines:
                    last = list(csv.DictReader(line for line in lines if not line.startswith("#")))[-1]
                batch = catena.Batch(catena.load(SCENES / scene))
                statistics = batch.step(40, statistics=True)
                columns = list(last.values())
                q, v = batch.state()
                self.assertEqual(float(last["time"]), batch.time[0])
                self.assertEqual([float(x) for x in columns[2 : 2 + batch.model.nq]], q[0].tolist())
                self.assertEqual([float(x) for x in columns[2 + batch.model.nq :][: batch.model.nv]], v[0].tolist())
                self.assertEqual(float(last["stats.iterations"]), statistics["iterations"][0])
                self.assertEqual(float(last["stats.energy_after"]), statistics["energy_after"][0])

    def test_the_same_bits_in_every_batch(self):
        model = catena.load(SCENES / "chain10.yaml")
        alone = catena.Batch(model)
        alone.step(30)
        for keys in ({"worlds": 9}, {"worlds": 9, "threads": 2}, {"worlds": 5, "engine": "scalar"}):
            batch = catena.Batch(model, **keys)
            batch.step(10)
            batch.step(20)
            self.assertTrue((batch.q == alone.q).all(), keys)
            self.assertTrue((batch.hashes() == alone.hashes()).all(), keys)


class States(unittest.TestCase):
    def test_states_are_set_and_read(self):
        model = catena.load(TWO_LINKS)
        q, v = random_states(model, 3)
        batch = catena.Batch(model, worlds=3)
        batch.set_state(q, v, 1.5)
        numpy.testing.assert_allclose(batch.q, q, rtol=0, atol=1e-15)
        numpy.testing.assert_allclose(batch.v, v, rtol=0, atol=1e-13)
        self.assertEqual(batch.time.tolist(), [1.5] * 3)
        to_q, to_v = numpy.empty((3, 5)), numpy.empty((3, 4))
        got = batch.state(to_q, to_v)
        self.assertIs(got[0], to_q)
        self.assertTrue(numpy.array_equal(to_v, batch.v))
        batch.set_state(q[0])
        self.assertEqual(abs(batch.v).max(), 0)
        for bad in (q[:2], q * numpy.nan):
            with self.assertRaises(ValueError):
                batch.set_state(bad, v)
        with self.assertRaises(ValueError):
            batch.state(q=to_q[:2])
        both = numpy.zeros(30)
        with self.assertRaisesRegex(ValueError, "overlaps"):
            batch.state(both[:15].reshape(3, 5), both[3:15].reshape(3, 4))

    def test_saved_states_go_on(self):
        model = catena.load(TWO_LINKS)
        batch = catena.Batch(model, worlds=2, parameters=[("mass_scale", "lower")])
        batch.set_parameters([[1.0], [2.0]])
        batch.step(5)
        block = batch.save()
        batch.step(5)
        after = batch.hashes()
        other = catena.Batch(model, worlds=2, parameters=[("mass_scale", "lower")])
        other.restore(block)
        self.assertEqual(other.parameters.tolist(), [[1], [2]])
        other.step(5)
        self.assertTrue((other.hashes() == after).all())
        for bad in (block[:-1], b"", block[:20], bytes(len(block))):
            with self.assertRaises(ValueError):
                other.restore(bad)
        with self.assertRaises(TypeError):
            other.restore("text")

    def test_within_a_step(self):
        batch = catena.Batch(catena.load(TWO_LINKS), dense=True)
        batch.step(2)
        q, _, time = batch.dense(1.0)
        numpy.testing.assert_allclose(q, batch.q, rtol=0, atol=1e-14)
        self.assertAlmostEqual(batch.dense(0.5)[2][0], 0.03)
        with self.assertRaises(catena.ArgumentError):
            batch.dense(1.5)
        self.assertEqual(time[0], batch.time[0])


class Told(unittest.TestCase):
    def test_forces(self):
        model = catena.load(TWO_LINKS)
        batch = catena.Batch(model, worlds=2, method="rk4", dt=0.001)
        batch.set_force([[1.0, 0, 0, 0], [0, 0, 0, 0]])
        batch.step(1)
        q, v = model.initial_state()
        expected = model.aba(q, v, [1.0, 0, 0, 0])
        numpy.testing.assert_allclose(batch.v[0] / 0.001, expected, rtol=1e-4, atol=1e-4)
        self.assertLess(abs(batch.v[1]).max(), 1e-12)
        batch.set_force(None)
        with self.assertRaises(ValueError):
            batch.set_force([numpy.inf, 0, 0, 0])
        with self.assertRaises(ValueError):
            batch.set_force([1.0, 2.0])

    def test_a_table_and_a_control_are_the_same(self):
        model = catena.load(TWO_LINKS)
        table = numpy.random.default_rng(3).normal(size=(5, 6, 4))
        by_table, by_control = (catena.Batch(model, worlds=5, threads=2) for _ in range(2))
        by_table.run(6, force=table)
        seen = []

        def control(first, time, q, v):
            seen.append((first, len(time), q.shape, v.shape))
            return table[first : first + len(time), numpy.rint(time / 0.02).astype(int)[0]]

        statistics = by_control.run(6, control=control, statistics=True)
        self.assertTrue((by_table.hashes() == by_control.hashes()).all())
        self.assertEqual(sum(n for _, n, _, _ in seen), 30)
        self.assertEqual(statistics["steps"].tolist(), [6] * 5)
        by_table.run(4, horizon=[0, 1, 2, 3, 4])
        self.assertEqual(numpy.rint((by_table.time - 0.12) / 0.02).tolist(), [0, 1, 2, 3, 4])

    def test_a_control_that_raises_leaves_the_worlds(self):
        batch = catena.Batch(catena.load(TWO_LINKS), worlds=5, threads=2)
        batch.step(3)
        before = batch.hashes()

        def control(first, time, q, v):
            if time[0] > 0.07:
                raise KeyError("mine")
            return None

        with self.assertRaisesRegex(KeyError, "mine"):
            batch.run(10, control=control)
        self.assertTrue((batch.hashes() == before).all())
        for gives in (lambda *_: "text", lambda *_: numpy.zeros((1, 99)), lambda: None, lambda *_: [1]):
            with self.assertRaises((TypeError, ValueError)):
                batch.run(1, control=gives)
        with self.assertRaises(TypeError):
            batch.run(1, control=3)
        with self.assertRaisesRegex(RuntimeError, "in use"):
            batch.run(1, control=lambda *_: batch.step())
        batch.step(1)

    def test_targets_of_motors(self):
        model = catena.load(TWO_LINKS + "motors: [{joint: upper, type: position, kp: 50, kd: 5}]\n")
        self.assertEqual((model.ntarget, model.targets.tolist()), (1, [0]))
        batch = catena.Batch(model, worlds=2, motor_targets=True, parameters=[("mass_scale", "upper")])
        batch.set_targets([[0.0], [0.5]])
        batch.set_parameters([[1.0], [1.5]])
        self.assertEqual(batch.targets.tolist(), [[0], [0.5]])
        batch.step(20)
        self.assertLess(abs(batch.q[0, 0]), 1e-9)
        self.assertGreater(batch.q[1, 0], 0.1)
        with self.assertRaisesRegex(ValueError, "motor_targets"):
            catena.Batch(model).set_targets([0.0])
        self.assertEqual(catena.Batch(model).targets.tolist(), [[0]])

    def test_wrenches(self):
        model = catena.load(TWO_LINKS)
        batch = catena.Batch(model, worlds=2)
        batch.set_wrench("lower", force=[1, 0, 0], point=[0, 0, -1], world=1)
        batch.step(5)
        self.assertLess(abs(batch.q[0, 0]), 1e-12)
        self.assertGreater(abs(batch.q[1, 0]), 1e-4)
        batch.set_wrench("lower", world=1)
        for keys, error in (
            ({"force": [1, 2]}, ValueError),
            ({"force": [numpy.nan, 0, 0]}, ValueError),
            ({"force": [1, 0, 0], "world": 7}, ValueError),
        ):
            with self.assertRaises(error):
                batch.set_wrench(0, **keys)
        with self.assertRaises(IndexError):
            batch.set_wrench(9, force=[0, 0, 1])


class Felt(unittest.TestCase):
    def test_contacts_bear_the_weight(self):
        model = catena.load(
            "catena: 1\nlinks:\n  - {name: ball, joint: {type: free}, mass: 2, inertia: [0.1, 0.1, 0.1, 0, 0, 0], "
            "position: [0, 0, 0.1], shapes: [{type: sphere, radius: 0.1, contact: true}]}\n"
            "ground: {}\nintegrator: {method: alpha, dt: 0.02}\n"
        )
        batch = catena.Batch(model, worlds=2)
        statistics = batch.step(100, statistics=True)
        contacts = batch.contacts()
        self.assertEqual(contacts.shape, (2, 1))
        numpy.testing.assert_allclose(contacts["force"][:, 0], [[0, 0, 2 * 9.81]] * 2, rtol=1e-3, atol=1e-6)
        self.assertEqual(statistics["touching"].tolist(), [1, 1])
        self.assertEqual(contacts["touch"].tolist(), [[1], [1]])
        self.assertEqual(batch.touches().shape, (0,))

    def test_sensors(self):
        model = catena.load(SCENES / "imu.yaml")
        batch = catena.Batch(model, worlds=2)
        batch.step(3)
        values = batch.sensors()
        self.assertEqual(values.shape, (2, len(model.sensor_names)))
        out = numpy.empty_like(values)
        self.assertIs(batch.sensors(out=out), out)
        self.assertTrue(numpy.array_equal(out, values))
        self.assertTrue(all(isinstance(name, str) and isinstance(unit, str) for name, unit in model.sensor_names))

    def test_energies(self):
        model = catena.load(SCENES / "double-pendulum.yaml")
        batch = catena.Batch(model, worlds=2)
        statistics = batch.step(100, statistics=True)
        totals = batch.totals()
        numpy.testing.assert_allclose(totals["kinetic"] + totals["potential"], statistics["energy_after"], rtol=1e-12)
        numpy.testing.assert_allclose(statistics["energy_after"], statistics["energy_before"], rtol=1e-9)
        numpy.testing.assert_array_equal(totals["mass"], [2.0, 2.0])


class Refused(unittest.TestCase):
    def test_configurations(self):
        model = catena.load(TWO_LINKS)
        for keys, error, words in (
            ({"method": "radua"}, catena.ArgumentError, "radau"),
            ({"method": 3}, TypeError, "method"),
            ({"dt": -1}, catena.ArgumentError, "dt"),
            ({"worlds": 0}, catena.ArgumentError, "worlds"),
            ({"worlds": "two"}, TypeError, "worlds"),
            ({"wolrds": 2}, TypeError, "wolrds"),
            ({"engine": "abacus"}, catena.Error, "abacus"),
            ({"parameters": [("mas_scale", 0)]}, ValueError, "mass_scale"),
            ({"parameters": ["mass_scale"]}, TypeError, "pairs"),
            ({"parameters": [("mass_scale", "middle")]}, KeyError, "middle"),
            ({"parameters": [("mass_scale", 7)]}, ValueError, ""),
        ):
            with self.assertRaisesRegex(error, words, msg=str(keys)):
                catena.Batch(model, **keys)
        with self.assertRaises(TypeError):
            catena.Batch("model")
        with self.assertRaises(TypeError):
            catena.Batch()

    def test_calls(self):
        batch = catena.Batch(catena.load(TWO_LINKS), worlds=2)
        with self.assertRaises(catena.ArgumentError):
            batch.step(-1)
        for call in (lambda: batch.step(1.5), lambda: batch.step(10**12), lambda: batch.step("1")):
            with self.assertRaises(TypeError):
                call()
        for keys in (
            {"force": numpy.zeros((2, 3, 4))},
            {"horizon": [1]},
            {"horizon": [1, 9]},
            {"horizon": [0.5, 1]},
            {"sensed": True},
        ):
            with self.assertRaises(ValueError, msg=str(keys)):
                batch.run(2, **keys)
        with self.assertRaises(ValueError):
            batch.run(-1)
        with self.assertRaises(ValueError):
            batch.set_parameters(numpy.zeros((2, 0)))

    def test_worlds_that_cannot_go_on(self):
        model = catena.load(SCENES / "chain40.yaml")
        with self.assertRaisesRegex(catena.FrozenError, "world 0 is frozen") as caught:
            catena.Batch(model, method="rk4", dt=0.05).step(100, statistics=True)
        self.assertGreater(caught.exception.statistics["frozen"][0], 0)
        quiet = catena.Batch(model, method="rk4", dt=0.05, frozen_raises=False)
        statistics = quiet.step(100, statistics=True)
        self.assertLess(statistics["frozen_time"][0], 5)


class Handed(unittest.TestCase):
    def test_dlpack(self):
        """What is returned goes to other libraries as it is."""
        batch = catena.Batch(catena.load(TWO_LINKS), worlds=3)
        q = batch.q
        again = numpy.from_dlpack(q)
        self.assertTrue(numpy.shares_memory(q, again) and (again == q).all())
        self.assertEqual(q.__dlpack_device__()[0], 1)  # on the CPU
        again[0] = 7
        self.assertFalse((batch.q == 7).any())


if __name__ == "__main__":
    unittest.main()
