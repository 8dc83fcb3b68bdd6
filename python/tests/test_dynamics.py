"""Dynamics of catena.Model against differences, and against each other."""

from __future__ import annotations

import threading
import unittest

import catena
import numpy

from support import SCENES, TWO_LINKS, random_states


class Dynamics(unittest.TestCase):
    def setUp(self):
        self.model = catena.load(TWO_LINKS)
        self.q, self.v = random_states(self.model, 6)
        self.a = numpy.random.default_rng(5).normal(size=self.v.shape)

    def near(self, found, expected, tolerance):
        numpy.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)

    def by_q(self, f, h=1e-6):
        """The derivative of f(q) by tangent coordinates, by central differences: [count, ..., nv]."""
        columns = []
        for k in range(self.model.nv):
            e = numpy.zeros_like(self.v)
            e[:, k] = 1
            columns.append((f(self.model.integrate(self.q, e, h)) - f(self.model.integrate(self.q, e, -h))) / (2 * h))
        return numpy.stack(columns, -1)

    def test_forward_takes_back_inverse(self):
        m = self.model
        tau = m.rnea(self.q, self.v, self.a)
        self.near(m.aba(self.q, self.v, tau - m.passive(self.q, self.v)), self.a, 1e-12)
        H = m.crba(self.q)
        self.near(numpy.einsum("nij,nj->ni", H, self.a) + m.bias(self.q, self.v), tau, 1e-12)
        energies = m.energy_momentum(self.q, self.v)
        self.near(energies["kinetic"], numpy.einsum("ni,nij,nj->n", self.v, H, self.v) / 2, 1e-12)

    def test_derivatives(self):
        m = self.model
        dq, dv, da = m.rnea_derivatives(self.q, self.v, self.a)
        self.near(dq, self.by_q(lambda q: m.rnea(q, self.v, self.a)), 1e-7)
        self.near(da, m.crba(self.q), 1e-12)
        h = 1e-6
        e = numpy.zeros_like(self.v)
        e[:, 2] = h
        self.near(dv[..., 2], (m.rnea(self.q, self.v + e, self.a) - m.rnea(self.q, self.v - e, self.a)) / (2 * h), 1e-7)
        dq, _, dtau = m.aba_derivatives(self.q, self.v, self.a)
        self.near(dq, self.by_q(lambda q: m.aba(q, self.v, self.a)), 1e-6)
        self.near(dtau @ m.crba(self.q), numpy.broadcast_to(numpy.eye(m.nv), dtau.shape), 1e-12)

    def test_kinematics_and_jacobians(self):
        m = self.model
        R, p = m.kinematics(self.q)
        self.assertEqual((R.shape, p.shape), ((6, 2, 3, 3), (6, 2, 3)))
        self.near(R @ R.transpose(0, 1, 3, 2), numpy.broadcast_to(numpy.eye(3), R.shape), 1e-14)
        J = m.jacobian(self.q, "lower")
        self.near(numpy.einsum("nij,nj->ni", J, self.v), m.link_twists(self.q, self.v)[:, 1], 1e-13)
        at = numpy.array([0.1, 0.2, -0.3])
        place = lambda q: (lambda R, p: p[:, 1] + R[:, 1] @ at)(*m.kinematics(q))
        self.near(m.jacobian(self.q, 1, point=at), self.by_q(place), 1e-8)
        rate = m.jacobian_rate(self.q, self.v, "lower")
        accelerations = numpy.einsum("nij,nj->ni", J, self.a) + numpy.einsum("nij,nj->ni", rate, self.v)
        self.near(accelerations, m.link_accelerations(self.q, self.v, self.a)[:, 1], 1e-12)

    def test_centroidal(self):
        m = self.model
        A = m.centroidal_matrix(self.q)
        sums = m.energy_momentum(self.q, self.v)
        momentum = numpy.einsum("nij,nj->ni", A, self.v)
        self.near(momentum[:, 3:], sums["momentum_linear"], 1e-12)
        self.near(momentum[:, :3], sums["momentum_angular"] - numpy.cross(sums["com"], sums["momentum_linear"]), 1e-12)
        self.near(
            numpy.einsum("nij,nj->ni", m.com_jacobian(self.q), self.v) * sums["mass"][:, None], sums["momentum_linear"], 1e-12
        )
        h = 1e-6

        def at(h):
            q = m.integrate(self.q, self.v, h)
            return numpy.einsum("nij,nj->ni", m.centroidal_matrix(q), self.v + h * self.a)

        self.near(m.momentum_rate(self.q, self.v, self.a), (at(h) - at(-h)) / (2 * h), 1e-6)

    def test_motors(self):
        m = catena.load(TWO_LINKS + "motors: [{joint: upper, type: position, kp: 50, kd: 5}]\n")
        u = numpy.full((6, 1), 0.5)
        tau = m.motor_forces(self.q, self.v, u)
        self.near(tau[:, 0], 50 * (0.5 - self.q[:, 0]) - 5 * self.v[:, 0], 1e-12)
        self.near(m.motor_derivatives(self.q, self.v, u)[2][:, 0, 0], 50, 1e-12)

    def test_sensors(self):
        m = catena.load(SCENES / "imu.yaml")
        q, v = random_states(m, 3)
        self.assertEqual(m.sensors(q, v).shape, (3, len(m.sensor_names)))

    def test_one_state_and_many_have_the_same_bits(self):
        m = self.model
        for f in (m.rnea, m.aba):
            many = f(self.q, self.v, self.a)
            for k in range(6):
                self.assertTrue((f(self.q[k], self.v[k], self.a[k]) == many[k]).all())
            out = numpy.empty_like(many)
            self.assertIs(f(self.q, self.v, self.a, out=out), out)
            self.assertTrue((out == many).all())

    def test_wrong_arguments(self):
        m = self.model
        for call, error in (
            (lambda: m.rnea(self.q, self.v[:3], self.a), ValueError),
            (lambda: m.rnea(self.q, self.v, self.a, out=self.a), ValueError),
            (lambda: m.rnea(self.q, self.v, self.a, out=numpy.empty((6, 4), numpy.float32)), TypeError),
            (lambda: m.jacobian(self.q, "middle"), KeyError),
            (lambda: m.jacobian(self.q, 2), IndexError),
            (lambda: m.jacobian(self.q, 1.5), TypeError),
            (lambda: m.jacobian(self.q, 0, point=[1, 2]), ValueError),
            (lambda: m.crba("no"), TypeError),
            (lambda: m.crba(), TypeError),
        ):
            with self.assertRaises(error):
                call()

    def test_threads(self):
        model = catena.load(SCENES / "chain10.yaml")
        q, v = random_states(model, 500)
        expected = model.aba(q, v)
        wrong = []

        def work():
            for _ in range(20):
                if not (model.aba(q, v) == expected).all():
                    wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
