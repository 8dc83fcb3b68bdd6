"""catena.torch and catena.jax: trajectories and their gradients."""

from __future__ import annotations

import importlib.util
import logging
import subprocess
import sys
import unittest

import catena
import numpy

from support import TWO_LINKS, fresh, random_states

DRIVEN = TWO_LINKS + "motors: [{joint: upper, type: position, kp: 20, kd: 2}]\n"
FREE = TWO_LINKS.replace("{type: revolute, axis: [0, 1, 0]}", "{type: free}")
KEYS = {"worlds": 2, "method": "radau", "stages": 1, "dt": 0.02, "tolerance": 1e-13}
STEPS = 3


def inputs(model):
    """q0 whose quaternions are of any length, v0, u, tau."""
    q, v = random_states(model, 2)
    for link in model.links:
        if link.joint in ("ball", "free"):
            q[:, link.q.stop - 4 : link.q.stop] *= [[1.2], [0.7]]
    draw = numpy.random.default_rng(2)
    return q, v, draw.normal(size=(STEPS, 2, model.ntarget)), draw.normal(size=(STEPS, 2, model.nv))


def ran(model, q, v, u, tau):
    """q, v after each step, of a batch."""
    batch = catena.Batch(model, motor_targets=True, **KEYS)
    batch.set_state(q, v)
    states = [batch.state()]
    for k in range(STEPS):
        batch.set_targets(u[k])
        batch.set_force(tau[k])
        batch.step()
        states.append(batch.state())
    return tuple(numpy.stack(x) for x in zip(*states))


class Imports(unittest.TestCase):
    def test_neither_is_loaded(self):
        said = fresh("import catena, sys; print({'torch', 'jax', 'h5py', 'pandas'} & set(sys.modules))")
        self.assertEqual(said, "set()\n")

    def test_missing(self):
        for name, said in (("torch", "takes PyTorch, .*: pip install torch"), ("jax", "takes JAX, .*: pip install jax")):
            program = f"import sys; sys.modules[{name!r}] = None; import catena.{name}"
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
            self.assertRegex(done.stderr.splitlines()[-1], f"^ImportError: catena.{name} {said}$")


@unittest.skipUnless(importlib.util.find_spec("torch"), "the package torch")
class Torch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import catena.torch
        import torch

        cls.torch, cls.simulation = torch, catena.torch.Simulation

    def tensors(self, model, dtype="float64"):
        return [self.torch.tensor(x, dtype=getattr(self.torch, dtype), requires_grad=True) for x in inputs(model)]

    def test_gradients(self):
        for text in (DRIVEN, FREE):
            model = catena.load(text)
            simulation = self.simulation(model, STEPS, **KEYS)
            given = self.tensors(model)
            if not model.ntarget:
                given[2] = None
            self.assertTrue(self.torch.autograd.gradcheck(simulation, given, eps=1e-6, atol=1e-6, rtol=1e-5))

    def test_values(self):
        model = catena.load(DRIVEN)
        simulation = self.simulation(model, STEPS, **KEYS)
        for found, expected in zip(simulation(*self.tensors(model)), ran(model, *inputs(model))):
            self.assertTrue((found.detach().numpy() == expected).all())
        self.assertEqual(simulation.lost.tolist(), [-1, -1])

    def test_two_runs_before_going_back(self):
        model = catena.load(DRIVEN)
        simulation = self.simulation(model, STEPS, **KEYS)
        alone = self.tensors(model)
        simulation(*alone)[1].square().sum().backward()
        q, v, u, tau = self.tensors(model)
        first = simulation(q, v, u, tau)[1].square().sum()
        with self.torch.no_grad():
            q += 1  # in place, after it was used
        simulation(q.detach(), v.detach())
        first.backward()
        for a, b in zip(alone, (q, v, u, tau)):
            self.assertTrue((a.grad == b.grad).all())

    def test_single_precision(self):
        model = catena.load(DRIVEN)
        single, double = self.tensors(model, "float32"), self.tensors(model)
        for given in (single, double):
            out = self.simulation(model, STEPS, **KEYS)(*given)
            self.assertEqual(out[0].dtype, given[0].dtype)
            out[0].square().sum().backward()
        for a, b in zip(single, double):
            self.torch.testing.assert_close(a.grad, b.grad.float(), rtol=1e-4, atol=1e-5)

    def test_it_learns(self):
        model = catena.load(DRIVEN)
        simulation = self.simulation(model, 20, **{**KEYS, "worlds": 1})
        q0, v0 = (self.torch.tensor(x[None]) for x in model.initial_state())
        u = self.torch.zeros(20, 1, 1, dtype=self.torch.float64, requires_grad=True)
        descent = self.torch.optim.Adam([u], lr=0.05)
        losses = []
        for _ in range(40):
            descent.zero_grad()
            loss = (simulation(q0, v0, u)[0][-1, 0, 0] - 0.3).square()
            loss.backward()
            descent.step()
            losses.append(loss.item())
        self.assertLess(losses[-1], 0.01 * losses[0])

    def test_refused(self):
        model = catena.load(DRIVEN)
        simulation = self.simulation(model, STEPS, **KEYS)
        q, v, u, tau = self.tensors(model)
        for error, call in (
            (ValueError, lambda: simulation(q[:1], v)),
            (ValueError, lambda: simulation(q, v, u[:2])),
            (TypeError, lambda: simulation(q, v.detach().numpy())),
            (catena.ArgumentError, lambda: simulation(q * numpy.nan, v)),
            (catena.UnavailableError, lambda: self.simulation(model, STEPS, parallel="links")),
            (TypeError, lambda: self.simulation(model, STEPS, nothing=1)),
        ):
            with self.assertRaises(error):
                call()
        with self.assertRaisesRegex(RuntimeError, "once_differentiable|twice"):
            loss = simulation(q, v)[0].square().sum()
            (by_q,) = self.torch.autograd.grad(loss, q, create_graph=True)
            by_q.sum().backward()

    def test_lost_worlds(self):
        model = catena.load(DRIVEN)
        q, v, u, tau = self.tensors(model)
        with self.torch.no_grad():
            v[1] = 1e7
        with self.assertRaisesRegex(catena.FrozenError, "world 1 is lost in step 0"):
            self.simulation(model, STEPS, **KEYS)(q, v)
        simulation = self.simulation(model, STEPS, lost_raises=False, **KEYS)
        simulation(q, v)[0].sum().backward()
        self.assertEqual(simulation.lost.tolist(), [-1, 0])
        self.assertTrue(q.grad[0].any() and not q.grad[1].any())


@unittest.skipUnless(importlib.util.find_spec("jax"), "the package jax")
class Jax(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import catena.jax
        import jax
        import jax.test_util

        jax.config.update("jax_enable_x64", True)
        cls.jax, cls.simulation = jax, catena.jax.Simulation

    def test_gradients(self):
        for text in (DRIVEN, FREE):
            model = catena.load(text)
            simulation = self.simulation(model, STEPS, **KEYS)
            q, v, u, tau = inputs(model)

            def run(q, v, tau):
                return simulation(q, v, u if model.ntarget else None, tau)

            self.jax.test_util.check_grads(run, (q, v, tau), order=1, modes=["rev"], atol=1e-6, rtol=1e-5, eps=1e-6)

    def test_values_within_jit(self):
        model = catena.load(DRIVEN)
        simulation = self.simulation(model, STEPS, **KEYS)
        given = inputs(model)
        for found, again, expected in zip(simulation(*given), self.jax.jit(simulation)(*given), ran(model, *given)):
            self.assertTrue((numpy.asarray(found) == expected).all() and (numpy.asarray(again) == expected).all())
        by_u = self.jax.jit(self.jax.grad(lambda u: simulation(given[0], given[1], u)[1][-1].sum()))(given[2])
        self.assertEqual(by_u.shape, given[2].shape)
        self.assertTrue(numpy.asarray(by_u).any(axis=(1, 2)).all())

    def test_as_torch(self):
        if not importlib.util.find_spec("torch"):
            self.skipTest("the package torch")
        import catena.torch
        import torch

        model = catena.load(DRIVEN)
        given = inputs(model)
        tensors = [torch.tensor(x, requires_grad=True) for x in given]
        catena.torch.Simulation(model, STEPS, **KEYS)(*tensors)[0].square().sum().backward()
        simulation = self.simulation(model, STEPS, **KEYS)
        found = self.jax.grad(lambda x: (simulation(*x)[0] ** 2).sum())(tuple(map(self.jax.numpy.asarray, given)))
        for a, b in zip(found, tensors):
            self.assertTrue((numpy.asarray(a) == b.grad.numpy()).all())

    def test_mapped(self):
        model = catena.load(DRIVEN)
        simulation = self.simulation(model, STEPS, **KEYS)
        q, v, u, tau = inputs(model)
        both = self.jax.vmap(lambda tau: simulation(q, v, u, tau)[0])(numpy.stack([tau, 2 * tau]))
        self.assertTrue((both[1] == simulation(q, v, u, 2 * tau)[0]).all())

    def test_refused(self):
        model = catena.load(DRIVEN)
        q, v, u, tau = inputs(model)
        with self.assertRaisesRegex(ValueError, "tau: expected shape"):
            self.simulation(model, STEPS, **KEYS)(q, v, u, tau[1:])
        v[1] = 1e7
        logging.disable()  # JAX writes what it raises
        self.addCleanup(logging.disable, logging.NOTSET)
        with self.assertRaisesRegex(Exception, "world 1 is lost in step 0"):
            self.jax.block_until_ready(self.simulation(model, STEPS, **KEYS)(q, v))


if __name__ == "__main__":
    unittest.main()
