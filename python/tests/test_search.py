"""catena.Search and catena.CMA."""

from __future__ import annotations

import os
import pathlib
import signal
import tempfile
import threading
import unittest

import catena
import numpy

from support import COMMAND, run

SLIDER = """\
catena: 1
gravity: [0, 0, 0]
links:
  - {name: a, joint: {type: prismatic, axis: [1, 0, 0], damping: 1}, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}
motors: [{joint: a, type: position, kp: 50, kd: 10}]
controller: {type: spline, knots: 3, period: 4, range: [-1, 1], every: 0.04}
integrator: {method: radau, dt: 0.02}
duration: 1
"""
REACH = "reward: [{term: reach, link: a, target: [0.3, 0, 0], weight: -1}]\n"
SAMPLED = "sample: {v: {a: {normal: [0, 0.3]}}}\n"
SEARCH = "search: {seed: 3, population: 6, generations: 5}\n"
NETWORK = """\
sensors: [{name: x, type: joint_position, joint: a}]
controller: {type: tanh, sensors: all, hidden: [2], range: [-1, 1], every: 0.04}
search: {method: ppo, worlds: 4, critic: [4], generations: 2}
"""
LEARNED = "\n".join(x for x in SLIDER.splitlines() if not x.startswith("controller")) + "\n" + NETWORK + REACH


class Searches(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_finds_what_the_command_finds(self):
        if not COMMAND:
            self.skipTest("the command")
        for text in (SLIDER + REACH + SAMPLED + SEARCH, LEARNED):
            scene = self.folder / "scene.yaml"
            scene.write_text(text)
            search = catena.Search(catena.load(scene), seed=7)
            states = []
            last = search.run(checkpoint=self.folder / "own", progress=states.append)
            self.assertEqual([state.generation for state in states], list(range(1, search.generations + 1)))
            self.assertEqual(last, search.state)
            run("search", str(scene), "--seed", "7", "--out", str(self.folder / "found.yaml"), "--quiet")
            found = (self.folder / "found.yaml").read_text()
            self.assertEqual(search.scene().split("\n", 1)[1], found.split("\n", 1)[1])
            self.assertEqual((self.folder / "own").read_bytes(), (self.folder / "found.yaml.checkpoint").read_bytes())
            value = search.value()
            self.assertIn(f"reward {value:.6g} in its steps, {search.value(search.best, parts=10):.6g} in steps", found)

    def test_goes_on(self):
        model = catena.load(SLIDER + REACH + SEARCH)
        whole = catena.Search(model)
        self.assertEqual((whole.parameters, whole.worlds, whole.generations), (3, 6, 5))
        self.assertEqual(whole.state.best, -numpy.inf)
        with self.assertRaises(catena.ArgumentError):
            whole.best
        whole.run()
        first, then = catena.Search(model), catena.Search(model, threads=2)
        first.step(), first.step()
        first.save(self.folder / "c")
        then.restore(str(self.folder / "c"))
        self.assertEqual(then.state, first.state)
        then.run(5)
        self.assertTrue((then.best == whole.best).all())
        self.assertEqual(catena.load(then.scene(about="mine")).text.splitlines()[0], "# mine")
        with self.assertRaises(catena.ArgumentError):
            catena.Search(model, seed=4).restore(self.folder / "c")
        with self.assertRaises(catena.FileError):
            then.restore(self.folder / "none")

    def test_own_reward(self):
        """A reward of one's own finds what the scene's finds that says the same."""
        seen = []

        def reward(moment):
            seen.append((moment.dt, moment.last, moment.q.shape, moment.sensors.shape, moment.over.any()))
            return -abs(moment.q[:, 0] - 0.3) if moment.last else numpy.zeros(len(moment.q))

        search = catena.Search(catena.load(SLIDER + SEARCH), reward=reward)
        by_scene = catena.Search(catena.load(SLIDER + REACH + SEARCH))
        search.run(4), by_scene.run(4)
        numpy.testing.assert_allclose(search.best, by_scene.best, rtol=0, atol=1e-12)
        self.assertEqual(len(seen), 4 * 26)
        self.assertEqual(seen[0], (0.0, False, (6, 1), (6, 0), False))
        self.assertEqual(seen[25][:2], (0.04, True))

    def test_rewards_that_fail(self):
        model = catena.load(SLIDER + SEARCH)
        count = [0]

        def reward(moment):
            count[0] += 1
            if count[0] == 40:
                raise KeyError("mine")
            return -moment.q[:, 0] ** 2

        search = catena.Search(model, reward=reward)
        with self.assertRaisesRegex(KeyError, "mine"):
            search.run()
        self.assertEqual(search.state.generation, 1)
        search.run(3)
        with self.assertRaises(ValueError):
            catena.Search(model, reward=lambda moment: [0.0]).step()
        with self.assertRaises(TypeError):
            catena.Search(model, reward=lambda moment: None if moment.dt == 0 else "much").step()
        with self.assertRaisesRegex(RuntimeError, "in use"):
            again = catena.Search(model, reward=lambda moment: again.state)
            again.step()
        with self.assertRaisesRegex(KeyError, "late"):

            def late(state):
                raise KeyError("late")

            search.run(9, progress=late)

    def test_interrupted(self):
        model = catena.load(SLIDER + REACH + SEARCH.replace("population: 6", "population: 64"))
        search = catena.Search(model, duration=300)  # s: it does not come to rest before the signal comes
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):
            search.run(10**6)
        generation = search.state.generation
        self.assertEqual(search.step().generation, generation + 1)
        policy = catena.Search(catena.load(LEARNED))
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):
            policy.run(10**6, checkpoint=self.folder / "c")
        generation = policy.state.generation  # it went back to what was saved
        self.assertEqual(policy.run(generation + 1).generation, generation + 1)

    def test_refused(self):
        model = catena.load(SLIDER + REACH + SEARCH)
        for error, call in (
            (catena.SceneError, lambda: catena.Search(catena.load(SLIDER + SEARCH))),
            (catena.SceneError, lambda: catena.Search(model, duration=0.001)),
            (catena.ArgumentError, lambda: catena.Search(model, seed=-1)),
            (TypeError, lambda: catena.Search(model, worlds=3)),
            (TypeError, lambda: catena.Search(model, reward=3)),
            (TypeError, lambda: catena.Search(model, nothing=3)),
            (catena.ArgumentError, lambda: catena.Search(catena.load(LEARNED), reward=lambda moment: 0)),
            (catena.ArgumentError, lambda: catena.Search(model).run(0)),
            (ValueError, lambda: catena.Search(model).value([1, 2])),
            (catena.ArgumentError, lambda: catena.Search(model).value([1, 2, numpy.inf])),
            (catena.ArgumentError, lambda: catena.Search(model).scene()),
            (ValueError, lambda: catena.Search(model).scene([1, 2, 3], about="a\nb")),
            (TypeError, lambda: catena.Search(model).save(3)),
        ):
            with self.assertRaises(error):
                call()


class CMA(unittest.TestCase):
    def test_a_sphere(self):
        cma = catena.CMA([3, 3, 3], 1.0, tolfun=1e-14)
        while not cma.stop:
            x = cma.ask()
            self.assertEqual(x.shape, (cma.population, 3))
            cma.tell(((x - [1, 2, 3]) ** 2).sum(1))
        self.assertIn(cma.stop, ("tolfun", "tolfunhist", "tolx"))
        numpy.testing.assert_allclose(cma.best, [1, 2, 3], rtol=0, atol=1e-5)
        numpy.testing.assert_allclose(cma.mean, [1, 2, 3], rtol=0, atol=1e-5)
        self.assertEqual((cma.state.covariance, cma.state.run, cma.state.evaluations % cma.population), ("full", 0, 0))
        self.assertEqual((cma.deviations.shape, cma.multipliers.shape), ((3,), (0,)))

    def test_constraints_and_bounds(self):
        cma = catena.CMA(3, 1.0, constraints=1, lower=-5, upper=[5, 5, 2], seed=2, max_evaluations=6000)
        while not cma.stop:
            x = cma.ask()
            self.assertTrue((x >= -5).all() and (x <= [5, 5, 2]).all())
            cma.tell((x**2).sum(1), 1 - x[:, :1])
        numpy.testing.assert_allclose(cma.best, [1, 0, 0], rtol=0, atol=1e-2)
        numpy.testing.assert_allclose(cma.multipliers, [2], rtol=0.1)

    def test_goes_on(self):
        def steps(cma, count):
            for _ in range(count):
                cma.tell(abs(cma.ask()).sum(1))

        whole, first, then = (catena.CMA([1, -1], 0.5, restarts="ipop", seed=4) for _ in range(3))
        steps(whole, 20), steps(first, 8)
        then.restore(first.save())
        steps(then, 12)
        self.assertEqual(then.state, whole.state)
        self.assertTrue((then.ask() == whole.ask()).all())
        with self.assertRaises(catena.ArgumentError):
            catena.CMA([1, -1, 0], 0.5).restore(first.save())

    def test_refused(self):
        cma = catena.CMA([0, 0], 1)
        for error, call in (
            (catena.ArgumentError, lambda: catena.CMA([0, 0], -1)),
            (catena.ArgumentError, lambda: catena.CMA([0, 0], 1, lower=1, upper=0)),
            (ValueError, lambda: catena.CMA([], 1)),
            (ValueError, lambda: catena.CMA(0, 1)),
            (ValueError, lambda: catena.CMA([[0, 0]], 1)),
            (ValueError, lambda: catena.CMA([0, 0], 1, covariance="fll")),
            (ValueError, lambda: catena.CMA([0, 0], 1, lower=[1, 2, 3])),
            (TypeError, lambda: catena.CMA([0, 0], 1, nothing=1)),
            (TypeError, lambda: catena.CMA([0, 0], 1, seed="x")),
            (TypeError, lambda: catena.CMA(["a"], 1)),
            (ValueError, lambda: cma.tell([1, 2])),
            (catena.ArgumentError, lambda: cma.best),
            (catena.ArgumentError, lambda: cma.restore(b"x")),
            (catena.ArgumentError, lambda: catena.CMA([0, 0], 1, constraints=1).tell([0] * 6)),
        ):
            with self.assertRaises(error):
                call()


if __name__ == "__main__":
    unittest.main()
