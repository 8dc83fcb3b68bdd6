"""catena.load and catena.Model."""

from __future__ import annotations

import pathlib
import pickle
import unittest

import catena
import numpy

from support import SCENES, TWO_LINKS, random_states


class Loading(unittest.TestCase):
    def test_files_of_all_kinds(self):
        for file, nq in (("double-pendulum.yaml", 2), ("arm.urdf", None)):
            model = catena.load(SCENES / file)
            self.assertGreater(model.nlink, 1, file)
            self.assertTrue(nq is None or model.nq == nq, file)
        mjcf = '<mujoco model="m">\n<worldbody><body name="b"><joint name="j" axis="0 1 0"/><geom size="0.1"/></body></worldbody></mujoco>'
        model = catena.load(mjcf)
        self.assertEqual((model.nq, model.links[0].name, model.links[0].joint), (1, "b", "revolute"))
        self.assertEqual(catena.load(str(SCENES / "chain10.yaml")).nv, 20)

    def test_text(self):
        model = catena.load(TWO_LINKS, name="my.yaml")
        self.assertEqual((model.name, model.nlink, model.nq, model.nv), ("two", 2, 5, 4))
        self.assertEqual(model.text, TWO_LINKS)
        upper, lower = model.links
        self.assertEqual((lower.name, lower.parent, lower.joint), ("lower", 0, "ball"))
        self.assertEqual((lower.q, lower.v), (slice(1, 5, 1), slice(1, 4, 1)))
        self.assertEqual((upper.mass, list(upper.com), upper.inertia[0]), (1, [0, 0, -0.5], 0.1))
        self.assertEqual(list(model.gravity), [0, 0, -9.81])
        self.assertEqual(model.find("lower"), 1)
        with self.assertRaisesRegex(KeyError, "no link 'middle'"):
            model.find("middle")

    def test_errors_have_places(self):
        wrong = TWO_LINKS.replace("type: ball", "type: bal").replace("mass: 1", "mass: -1", 1)
        with self.assertRaises(catena.SceneError) as caught:
            catena.load(wrong, name="my.yaml")
        error = caught.exception
        self.assertEqual((error.status, error.file, error.line), ("bad scene", "my.yaml", 6))
        self.assertEqual([f.line for f in error.findings], [6, 12])
        self.assertEqual(error.findings[1].key, "joint.type")
        self.assertIn("did you mean 'ball'", error.findings[1].text)
        self.assertGreater(error.column, 0)
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((str(again), again.findings), (str(error), error.findings))
        self.assertIsInstance(error, ValueError)

    def test_no_file(self):
        with self.assertRaisesRegex(catena.Error, "no-such.yaml"):
            catena.load("no-such.yaml")
        with self.assertRaises(catena.Error):
            catena.load(pathlib.Path("no-such.urdf"))
        with self.assertRaises(TypeError):
            catena.load(3)
        with self.assertRaisesRegex(TypeError, "name"):
            catena.load("a.yaml", name="b.yaml")

    def test_warnings(self):
        self.assertEqual(catena.load(TWO_LINKS).warnings, [])


class Samples(unittest.TestCase):
    def test_worlds_do_not_depend_on_how_many(self):
        model = catena.load(SCENES / "chain10-sampled.yaml")
        all, part = model.sample(20), model.sample(5, first=10)
        self.assertEqual((all.q.shape, all.parameters, all.values.shape), ((20, 20), [], (20, 0)))
        self.assertTrue((all.q[10:15] == part.q).all() and (all.v[10:15] == part.v).all())
        self.assertFalse((model.sample(5, seed=7).q == all.q[:5]).any())
        self.assertGreater(numpy.ptp(all.q, axis=0).min(), 0.2)
        for arguments in ({"worlds": -1}, {"worlds": 3, "first": -1}, {"worlds": 3, "of": 2}):
            with self.assertRaises(ValueError):
                model.sample(**arguments)

    def test_parameters(self):
        model = catena.load(SCENES / "chain10-randomised.yaml")
        sample = model.sample(4)
        batch = catena.Batch(model, worlds=4, parameters=sample.parameters)
        batch.set_parameters(sample.values)
        self.assertGreater(len(sample.parameters), 0)
        self.assertTrue((batch.parameters == sample.values).all())


class Contacts(unittest.TestCase):
    def test_points(self):
        model = catena.load(SCENES / "marble.yaml")
        points = model.contact_points
        self.assertEqual(len(points), catena.Batch(model).contacts().shape[1])
        self.assertEqual(points[0].surface, "terrain")
        self.assertGreater(points[0].stiffness, 0)


class Coordinates(unittest.TestCase):
    def test_difference_takes_back_integrate(self):
        model = catena.load(TWO_LINKS)
        q, v = random_states(model, 7)
        to = model.integrate(q, v, 0.3)
        numpy.testing.assert_allclose(numpy.linalg.norm(to[:, 1:], axis=1), 1, rtol=0, atol=1e-15)
        numpy.testing.assert_allclose(model.difference(q, to), 0.3 * v, rtol=0, atol=1e-14)

    def test_any_leading_sizes(self):
        model = catena.load(TWO_LINKS)
        q, v = random_states(model, 6)
        flat = model.integrate(q, v, 0.1)
        self.assertTrue(numpy.array_equal(model.integrate(q.reshape(2, 3, 5), v.reshape(2, 3, 4), 0.1), flat.reshape(2, 3, 5)))
        self.assertTrue(numpy.array_equal(model.integrate(q[0], v[0], 0.1), flat[0]))
        self.assertTrue(numpy.array_equal(model.integrate(q[::2], v[::2], 0.1), flat[::2]))
        self.assertTrue(numpy.array_equal(model.integrate(numpy.asfortranarray(q), v.tolist(), 0.1), flat))
        self.assertEqual(model.integrate(q[:0], v[:0]).shape, (0, 5))
        same = q.copy()
        self.assertIs(model.integrate(same, v, 0.1, out=same), same)
        self.assertTrue(numpy.array_equal(same, flat))

    def test_wrong_arrays(self):
        model = catena.load(TWO_LINKS)
        q, v = random_states(model, 3)
        for bad, error in (
            (q[:, :4], ValueError),
            (q.astype(complex), TypeError),
            ("text", TypeError),
            (None, TypeError),
            (q[:2], ValueError),
            (numpy.array(3.0), ValueError),
            (q > 0, TypeError),
        ):
            with self.assertRaises(error, msg=repr(bad)):
                model.integrate(bad, v)
        frozen = numpy.empty((3, 5))
        frozen.flags.writeable = False
        for bad, error in (
            (numpy.empty((3, 4)), ValueError),
            (numpy.empty((3, 5), numpy.float32), TypeError),
            (frozen, TypeError),
            (numpy.empty((6, 5))[::2], TypeError),
            ([], TypeError),
            (numpy.empty((3, 5), ">f8"), TypeError),
        ):
            with self.assertRaises(error, msg=repr(bad)):
                model.integrate(q, v, out=bad)
        line = numpy.zeros(30)
        with self.assertRaisesRegex(ValueError, "overlaps"):
            model.difference(line[:15].reshape(3, 5), q, out=line[10:22].reshape(3, 4))


if __name__ == "__main__":
    unittest.main()
