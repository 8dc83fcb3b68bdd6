"""catena.Tapes: runs and gradients of many worlds."""

from __future__ import annotations

import unittest

import catena
import numpy

from support import TWO_LINKS, random_states

DRIVEN = TWO_LINKS + "motors: [{joint: upper, type: position, kp: 20, kd: 2}]\n"
KEYS = {"worlds": 3, "method": "radau", "stages": 1, "dt": 0.02, "tolerance": 1e-13}


class Tapes(unittest.TestCase):
    def setUp(self):
        self.model = catena.load(DRIVEN)
        self.steps = 5
        self.tapes = catena.Tapes(self.model, 8, **KEYS)
        self.q, self.v = random_states(self.model, 3)
        draw = numpy.random.default_rng(2)
        self.u, self.tau = draw.normal(size=(5, 3, 1)), draw.normal(size=(5, 3, 4))

    def cost(self, u=None, tau=None, q=None, v=None):
        """Half the square of v at the end, of each world."""
        given = {"u": self.u if u is None else u, "tau": self.tau if tau is None else tau}
        self.tapes.run(self.steps, self.q if q is None else q, self.v if v is None else v, **given)
        return (self.tapes.v(self.steps) ** 2).sum(1) / 2

    def test_runs_have_the_bits_of_batches(self):
        self.cost()
        batch = catena.Batch(self.model, motor_targets=True, **KEYS)
        batch.set_state(self.q, self.v)
        for k in range(self.steps):
            batch.set_targets(self.u[k])
            batch.set_force(self.tau[k])
            batch.step()
        q, v = batch.state()
        self.assertTrue((self.tapes.q(self.steps) == q).all() and (self.tapes.v(self.steps) == v).all())
        self.assertEqual(self.tapes.lost.tolist(), [-1, -1, -1])

    def test_gradients_against_differences(self):
        self.cost()
        dv = numpy.zeros((self.steps + 1, 3, 4))
        dv[-1] = self.tapes.v(self.steps)
        by_q, by_v, by_u, by_tau = self.tapes.gradient(dv=dv)
        h = 1e-5

        def difference(name, step, k):
            values = []
            for sign in (h, -h):
                e = numpy.zeros_like(getattr(self, name))
                e[step][:, k] = sign
                values.append(self.cost(**{name: getattr(self, name) + e}))
            return (values[0] - values[1]) / (2 * h)

        numpy.testing.assert_allclose(by_u[2][:, 0], difference("u", 2, 0), rtol=1e-5, atol=1e-7)
        numpy.testing.assert_allclose(by_tau[1][:, 3], difference("tau", 1, 3), rtol=1e-5, atol=1e-7)
        e = numpy.zeros((3, 4))
        e[:, 1] = 1
        found = (self.cost(q=self.model.integrate(self.q, e, h)) - self.cost(q=self.model.integrate(self.q, e, -h))) / (2 * h)
        numpy.testing.assert_allclose(by_q[:, 1], found, rtol=1e-5, atol=1e-7)
        found = (self.cost(v=self.v + h * e) - self.cost(v=self.v - h * e)) / (2 * h)
        numpy.testing.assert_allclose(by_v[:, 1], found, rtol=1e-5, atol=1e-7)

    def test_functions_are_asked(self):
        by_table = self.cost()
        dv = numpy.zeros((self.steps + 1, 3, 4))
        dv[-1] = self.tapes.v(self.steps)
        expected = self.tapes.gradient(dv=dv)
        self.tapes.run(self.steps, self.q, self.v, tell=lambda step, q, v: (self.u[step], self.tau[step]))
        self.assertTrue(((self.tapes.v(self.steps) ** 2).sum(1) / 2 == by_table).all())
        heard = []

        def back(step, q, v, by_u, by_tau):
            heard.append((step, by_u is None))
            return (None, v) if step == self.steps else None

        for a, b in zip(self.tapes.gradient(back=back), expected):
            self.assertTrue((a == b).all())
        self.assertEqual(heard, [(k, k == self.steps) for k in range(self.steps, -1, -1)])

    def test_functions_that_raise(self):
        def fail(*_):
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            self.tapes.run(3, tell=fail)
        with self.assertRaises(ValueError):
            self.tapes.gradient()
        self.cost()
        with self.assertRaisesRegex(KeyError, "mine"):
            self.tapes.gradient(back=fail)
        with self.assertRaises(TypeError):
            self.tapes.run(3, tell=lambda *_: 3)
        self.cost()
        self.tapes.gradient()

    def test_calls_that_are_refused_leave_the_run(self):
        self.cost()
        dv = numpy.ones((self.steps + 1, 3, 4))
        before = self.tapes.gradient(dv=dv)
        for call in (
            lambda: self.tapes.run(2, self.q * numpy.nan),
            lambda: self.tapes.step_inverse(self.q, self.v, self.q * numpy.nan),
        ):
            with self.assertRaises(catena.ArgumentError):
                call()
            for a, b in zip(before, self.tapes.gradient(dv=dv)):
                self.assertTrue((a == b).all())

        class Sly:
            """An array that makes another run while it is read."""

            def __init__(self, tapes, q):
                self.tapes, self.q = tapes, q

            def __array__(self, dtype=None, copy=None):
                self.tapes.run(2, self.q)
                return dv

        with self.assertRaisesRegex(RuntimeError, "another run was made"):
            self.tapes.gradient(dq=Sly(self.tapes, self.q))

    def test_views_share_memory(self):
        self.cost()
        view = self.tapes.q(2)
        self.assertFalse(view.flags.writeable or view.flags.owndata)
        kept = view.copy()
        self.assertTrue(numpy.shares_memory(view, self.tapes.q(2)))
        self.tapes.run(3, self.q, self.v)
        self.assertFalse((view == kept).all())
        with self.assertRaises(IndexError):
            self.tapes.q(4)

    def test_linearised(self):
        self.tapes.run(1, self.q, self.v, u=self.u[:1])
        A, B, F = self.tapes.jacobian()
        self.assertEqual((A.shape, B.shape, F.shape), ((3, 8, 8), (3, 8, 1), (3, 8, 4)))
        h = 1e-6
        ends = []
        for sign in (h, -h):
            tau = numpy.zeros((1, 3, 4))
            tau[:, :, 2] = sign
            self.tapes.run(1, self.q, self.v, u=self.u[:1], tau=tau)
            ends.append(self.tapes.v(1).copy())
        numpy.testing.assert_allclose(F[:, 4:, 2], (ends[0] - ends[1]) / (2 * h), rtol=1e-6, atol=1e-8)

    def test_the_inverse_of_a_step(self):
        self.tapes.run(1, self.q, self.v, tau=self.tau[:1])
        to = self.tapes.q(1).copy()
        tau, distance = self.tapes.step_inverse(self.q, self.v, to)
        numpy.testing.assert_allclose(tau, self.tau[0], rtol=0, atol=1e-7)
        self.assertLess(distance.max(), 1e-10)

    def test_wrong_arguments(self):
        for call, error in (
            (lambda: self.tapes.run(9), ValueError),
            (lambda: self.tapes.run(0), ValueError),
            (lambda: self.tapes.run(2, u=self.u), ValueError),
            (lambda: self.tapes.run(2, begin=[1, 0, 1]), ValueError),
            (lambda: self.tapes.run(2, self.q * numpy.nan), ValueError),
            (lambda: self.tapes.run(2, tell=3), TypeError),
            (lambda: catena.Tapes(self.model, 0), ValueError),
            (lambda: catena.Tapes(self.model, 2, parallel="links"), catena.UnavailableError),
        ):
            with self.assertRaises(error):
                call()


class Tape(unittest.TestCase):
    def test_it_is_a_world_of_tapes(self):
        model = catena.load(DRIVEN)
        q, v = random_states(model, 1)
        draw = numpy.random.default_rng(2)
        u, tau = draw.normal(size=(5, 1, 1)), draw.normal(size=(5, 1, 4))
        dq, dv = draw.normal(size=(6, 1, 4)), draw.normal(size=(6, 1, 4))
        keys = {**KEYS, "worlds": 1}
        tapes, tape = catena.Tapes(model, 5, **keys), catena.Tape(model, 5, **keys)
        tapes.run(5, q, v, u=u, tau=tau)
        tape.run(q[0], v[0], u[:, 0], tau[:, 0])
        for k in range(6):
            self.assertTrue((tape.state(k)[0] == tapes.q(k)[0]).all() and (tape.state(k)[1] == tapes.v(k)[0]).all())
        by = tapes.gradient(dq, dv)
        for a, b in zip(tape.gradient(dq[:, 0], dv[:, 0]), (by[0][0], by[1][0], by[2][:, 0], by[3][:, 0])):
            numpy.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
        self.assertEqual((tape.steps, tape.fallbacks, tape.contact_changes), (5, 0, 0))
        # the same by the states of steps
        S, C = tape.start_jacobian(), tape.output_jacobian(5)
        self.assertEqual((S.shape, C.shape), ((tape.state_size, 8), (8, tape.state_size)))
        row = C.T @ numpy.concatenate([dq[5, 0], dv[5, 0]])
        only_last = [numpy.zeros((6, 4)), numpy.zeros((6, 4))]
        only_last[0][5], only_last[1][5] = dq[5, 0], dv[5, 0]
        by_q, by_v, by_u, by_tau = tape.gradient(*only_last)
        for k in range(4, -1, -1):
            A, B, U = tape.step_jacobian(k)
            numpy.testing.assert_allclose(by_tau[k], B.T @ row, rtol=1e-7, atol=1e-10)
            numpy.testing.assert_allclose(by_u[k], U.T @ row, rtol=1e-7, atol=1e-10)
            row = A.T @ row
        numpy.testing.assert_allclose(numpy.concatenate([by_q, by_v]), S.T @ row, rtol=1e-7, atol=1e-10)

    def test_friction_against_differences(self):
        scene = """\
catena: 1
ground: true
contact: {friction: %.17g}
links:
  - {name: block, joint: free, position: [0, 0, 0.05], mass: 2, shapes: [{type: box, size: [0.4, 0.3, 0.1]}]}
"""
        keys = {"method": "collocation", "order": 2, "dt": 0.01, "tolerance": 1e-12}

        def slide(friction):
            tape = catena.Tape(catena.load(scene % friction), 60, **keys)
            tape.run(v=[3, 0, 0, 0, 0, 0])
            dq = numpy.zeros((61, 6))
            dq[-1, 0] = 1
            return tape.state(60)[0][0], tape.parameter_gradient([("ground_friction", 0)], dq)[0], tape

        way, by_friction, tape = slide(0.5)
        found = (slide(0.5 + 1e-5)[0] - slide(0.5 - 1e-5)[0]) / 2e-5
        self.assertAlmostEqual(by_friction, found, delta=1e-4 * abs(found))
        self.assertLess(by_friction, -0.1)
        self.assertGreater(tape.contact_changes, 0)
        with self.assertRaises(catena.UnavailableError):
            tape.parameter_gradient([("mass_scale", "block")])

    def test_wrong_arguments(self):
        model = catena.load(DRIVEN)
        tape = catena.Tape(model, 3, **{**KEYS, "worlds": 1})
        for error, call in (
            (catena.ArgumentError, lambda: tape.gradient()),
            (catena.ArgumentError, lambda: tape.state(0)),
            (ValueError, lambda: tape.run(u=numpy.zeros((2, 1)))),
            (catena.ArgumentError, lambda: tape.run(v=[numpy.nan] * 4)),
            (ValueError, lambda: catena.Tape(model, 0)),
            (ValueError, lambda: catena.Tape(model, 3, worlds=2)),
            (catena.UnavailableError, lambda: catena.Tape(model, 3, method="radau", adaptive=True)),
        ):
            with self.assertRaises(error):
                call()
        tape.run()
        with self.assertRaises(ValueError):
            tape.gradient(numpy.zeros((3, 4)))
        with self.assertRaises(catena.ArgumentError):
            tape.step_jacobian(3)


if __name__ == "__main__":
    unittest.main()
