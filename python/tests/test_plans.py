"""catena.Optimize, Trajectories and MPC."""

from __future__ import annotations

import unittest

import catena
import numpy

PENDULUM = """\
catena: 1
links:
  - name: rod
    joint: {type: revolute, axis: [0, -1, 0], damping: 0.02, v0: 0.01}
    mass: 1
    com: [0, 0, -0.5]
    inertia: [0.084, 0.084, 0.001, 0, 0, 0]
motors: [{joint: rod, type: torque, effort: 3}]
optimize:
  cost:
    - {term: posture, weight: 0.1, end: 100, target: 3.141592653589793}
    - {term: velocity, weight: 0.01, end: 20}
    - {term: control, weight: 0.01}
  guess: 0.1
  tolerance: 1e-3
  mpc: {horizon: 1}
integrator: {method: radau, dt: 0.02}
duration: 2
"""


class Plans(unittest.TestCase):
    def setUp(self):
        self.model = catena.load(PENDULUM)

    def test_a_swing_up(self):
        plan = catena.Optimize(self.model, 2.0)
        self.assertEqual((plan.knots, plan.state.iteration, plan.state.stop), (100, 0, "runs"))
        first = plan.state.cost
        state = plan.step(200)
        self.assertEqual(state.stop, "optimal")
        self.assertLess(state.cost, first)
        x, u, gains = plan.x, plan.u, plan.gains
        self.assertEqual((x.shape, u.shape, gains.shape, plan.told_gains), ((101, 2), (100, 1), (100, 1, 2), None))
        self.assertAlmostEqual(x[-1, 0], numpy.pi, delta=0.1)
        self.assertLessEqual(abs(u).max(), 3)
        batch = catena.Batch(self.model, motor_targets=True)
        for told in u:
            batch.set_targets(told)
            batch.step(round(plan.knot_length / 0.02))
        # knots begin at (q, v) anew, a batch goes on with what its method carries; on its head a pendulum does not forgive that
        numpy.testing.assert_allclose(batch.q[0], x[-1, :1], rtol=0, atol=2e-3)

    def test_costs_of_ones_own(self):
        """A posture that Python says is the scene's posture."""
        without = PENDULUM.replace("    - {term: posture, weight: 0.1, end: 100, target: 3.141592653589793}\n", "")

        def weights(knot):
            return numpy.where(knot == 100, 100, 0.1 * 0.02)

        def cost(knot, x, u):
            self.assertEqual((x.shape, u.shape), ((len(knot), 2), (len(knot), 1)))
            return weights(knot) / 2 * (x[:, 0] - numpy.pi) ** 2

        def derivatives(knot, x, u):
            by_x, xx = numpy.zeros((len(knot), 2)), numpy.zeros((len(knot), 2, 2))
            by_x[:, 0], xx[:, 0, 0] = weights(knot) * (x[:, 0] - numpy.pi), weights(knot)
            return by_x, None, xx, None, None

        plan = catena.Optimize(self.model, 2.0)
        own = catena.Optimize(catena.load(without), 2.0, cost, derivatives)
        self.assertAlmostEqual(own.state.cost, plan.state.cost, delta=1e-9 * plan.state.cost)
        plan.step(200), own.step(200)
        self.assertEqual(own.state.stop, "optimal")
        numpy.testing.assert_allclose(own.u, plan.u, rtol=0, atol=1e-5)

    def test_costs_that_fail(self):
        def fail(knot, x, u):
            if many[0]:
                raise KeyError("mine")
            return numpy.zeros(len(knot))

        many = [False]
        plan = catena.Optimize(self.model, 2.0, fail, lambda knot, x, u: (None,) * 5)
        before = plan.u
        many[0] = True
        with self.assertRaisesRegex(KeyError, "mine"):
            plan.step()
        many[0] = False
        self.assertTrue((plan.u == before).all())
        plan.step(200)
        for error, functions in (
            (ValueError, (fail, None)),
            (TypeError, (fail, 3)),
            (ValueError, (lambda knot, x, u: [1.0], lambda knot, x, u: None)),
        ):
            with self.assertRaises(error):
                catena.Optimize(self.model, 2.0, *functions)
        with self.assertRaises(TypeError):
            catena.Optimize(self.model, 2.0, fail, lambda knot, x, u: 3).step()

    def test_many_are_as_one(self):
        x0 = numpy.array([[0, 0.01], [0.2, 0], [-0.3, 0.1]])
        many = catena.Trajectories(self.model, 2.0, x0, worlds=3)
        while many.step(100) and many.state(0).iteration < 200:
            pass
        self.assertEqual([many.lost(w) for w in range(3)], [None] * 3)
        one = catena.Optimize(self.model, 2.0)
        one.step(200)
        self.assertTrue((many.u(0) == one.u).all() and (many.x(0) == one.x).all())
        self.assertEqual(many.gains(1).shape, (100, 1, 2))
        self.assertEqual(many.state(0), one.state)
        with self.assertRaises(IndexError):
            many.x(3)
        with self.assertRaises(ValueError):
            catena.Trajectories(self.model, 2.0, x0, worlds=2)

    def test_plans_made_anew(self):
        mpc = catena.MPC(self.model, numpy.array([[3.0, 0], [3.3, 0]]), worlds=2)
        plant = catena.Batch(self.model, worlds=2, motor_targets=True)
        plant.set_state([[3.0], [3.3]], [[0], [0]])
        for _ in range(30):
            u = mpc.step(numpy.concatenate(plant.state(), axis=1))
            plant.set_targets(u)
            plant.step(round(mpc.knot_length / 0.02))
        numpy.testing.assert_allclose(plant.q, numpy.pi, rtol=0, atol=0.05)
        self.assertEqual((mpc.state(1).knot, mpc.state(1).lost), (30, False))
        with self.assertRaises(ValueError):
            mpc.step([[0.0, 0.0]])
        with self.assertRaises(catena.ArgumentError):
            mpc.step([[numpy.nan, 0.0], [0, 0]])
        mpc.begin([[3.0, 0], [3.3, 0]], 0.0, which=[True, False])

    def test_scenes_without_a_cost(self):
        model = catena.load(PENDULUM[: PENDULUM.index("optimize:")])
        for make in (lambda: catena.Optimize(model, 1.0), lambda: catena.MPC(model), lambda: catena.Optimize(self.model, -1.0)):
            with self.assertRaises(catena.Error):
                make()
        with self.assertRaises(ValueError):
            catena.Optimize(self.model, 1.0).set_parameters([1.0])


if __name__ == "__main__":
    unittest.main()
