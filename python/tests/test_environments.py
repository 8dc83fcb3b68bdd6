"""catena.Environments: what C says of worlds with rewards, as arrays."""

from __future__ import annotations

import unittest

import numpy

import catena

from support import SCENES

FALLING = """\
catena: 1
name: falling
links:
  - {name: ball, position: [0, 0, 1], joint: {type: prismatic, axis: [0, 0, 1]}, mass: 2, inertia: [1, 1, 1, 0, 0, 0]}
motors: [{joint: ball, type: torque, effort: 100}]
reward:
  - {term: alive, link: ball, above: 0.8, weight: 3}
  - {term: effort, weight: -0.5}
sample: {q: {ball: {uniform: [0, 0.1]}}}
integrator: {method: semi-implicit, dt: 0.01}
duration: 0.5
"""


class Environments(unittest.TestCase):
    def test_what_they_are(self):
        worlds = catena.Environments(catena.load(FALLING), worlds=3, hold=2)
        self.assertEqual((worlds.worlds, worlds.limit, worlds.every), (3, 25, 0.02))
        self.assertEqual(worlds.action_names, ["ball"])
        self.assertEqual(worlds.observation_names, ["q.ball", "v.ball"])
        self.assertEqual(worlds.reward_names, ["alive", "effort"])
        self.assertEqual(worlds.action_bounds.tolist(), [[-100, 100]])
        self.assertEqual(worlds.observation_bounds.tolist(), [[-numpy.inf, numpy.inf]] * 2)
        self.assertEqual(worlds.config["method"], "semi-implicit")
        self.assertEqual(worlds.model.nq, 1)

    def test_steps(self):
        worlds = catena.Environments(catena.load(FALLING), worlds=2)
        observation = worlds.reset(seeds=[1, 2])
        drawn = observation[:, 0]
        self.assertTrue(((drawn >= 0) & (drawn <= 0.1)).all() and drawn[0] != drawn[1])
        step = worlds.step([[2 * 9.81], [50]])
        held, pushed = [drawn[0], 0], [drawn[1] + 1e-4 * (25 - 9.81), 0.01 * (25 - 9.81)]
        numpy.testing.assert_allclose(step.observation, [held, pushed], atol=1e-14)
        numpy.testing.assert_allclose(step.terms, [[0.03, -0.005 * (2 * 9.81) ** 2], [0.03, -0.005 * 50**2]], atol=1e-12)
        numpy.testing.assert_allclose(step.reward, step.terms.sum(axis=1), atol=1e-12)
        self.assertEqual([x.dtype.kind for x in step[3:6]], ["b"] * 3)
        self.assertFalse(step.terminated.any() or step.truncated.any() or step.lost.any())
        self.assertEqual(step.statistics["steps"].tolist(), [1, 1])
        q, v, time = worlds.state()
        numpy.testing.assert_array_equal(numpy.concatenate([q, v], axis=1), step.observation)
        self.assertEqual(time.tolist(), [0.01, 0.01])

    def test_worlds_begin_where_they_are_told(self):
        worlds = catena.Environments(catena.load(FALLING), worlds=3)
        before = worlds.reset(seeds=[1, 2, 3])
        after = worlds.reset(which=[False, True, False], q=numpy.full((3, 1), 0.7), v=numpy.full((3, 1), -1.0))
        self.assertEqual(after[1].tolist(), [0.7, -1])
        numpy.testing.assert_array_equal(after[::2], before[::2])

    def test_refused(self):
        model = catena.load(FALLING)
        worlds = catena.Environments(model, worlds=2)
        worlds.reset()
        with self.assertRaisesRegex(ValueError, r"seeds: expected 2, one a world, found 3"):
            worlds.reset(seeds=[1, 2, 3])
        with self.assertRaisesRegex(ValueError, "action"):
            worlds.step([1, 2])
        with self.assertRaisesRegex(catena.ArgumentError, r"action\[0\], of 'ball', of world 1 is not finite"):
            worlds.step([[0], [numpy.nan]])
        with self.assertRaisesRegex(catena.ArgumentError, "parameters: environments have those"):
            catena.Environments(model, parameters=[("mass_scale", "ball")])
        with self.assertRaises(TypeError):
            catena.Environments(model, colour="red")
        with self.assertRaisesRegex(catena.SceneError, "the scene has no reward"):
            catena.Environments(catena.load(SCENES / "chain10.yaml"))


if __name__ == "__main__":
    unittest.main()
