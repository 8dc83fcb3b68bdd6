"""catena.gym against Gymnasium: its checker, its own vector environment of single ones, and what C says."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy

import catena

try:
    import gymnasium
except ModuleNotFoundError:
    gymnasium = None
else:
    import catena.gym
    from gymnasium.utils.env_checker import check_env, data_equivalence
    from gymnasium.vector import AutoresetMode, SyncVectorEnv

from support import SCENES
from test_environments import FALLING

# a rod that turns until it freezes where it is pushed too hard, and ends where it hangs too low
FREEZES = """\
catena: 1
name: freezes
links:
  - {name: rod, joint: {type: revolute, axis: [0, 1, 0]}, mass: 1, com: [0.5, 0, 0], inertia: [0.1, 0.1, 0.1, 0, 0, 0]}
  - {name: tip, parent: rod, position: [1, 0, 0], mass: 0.1, inertia: [0.001, 0.001, 0.001, 0, 0, 0]}
motors: [{joint: rod, type: torque, effort: 1e9}]
reward: [{term: posture, weight: -1}, {term: alive, link: tip, above: -0.5, weight: 1}]
sample: {q: {rod: {uniform: [-0.3, 0.3]}}}
integrator: {method: semi-implicit, dt: 0.05}
duration: 0.6
"""


def quietly(call, *arguments):
    """Without Gymnasium's word on spaces that have no bounds."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        result = call(*arguments)
    rest = [str(w.message) for w in told if "infinity. This is probably too" not in str(w.message)]
    assert not rest, rest
    return result


@unittest.skipUnless(gymnasium, "gymnasium is not installed")
class Gym(unittest.TestCase):
    def test_tasks(self):
        for name in catena.gym.TASKS:
            with self.subTest(name):
                env = gymnasium.make(f"catena/{name}-v0")
                quietly(check_env, env.unwrapped)
                self.assertEqual(env.action_space.high.tolist(), [1] * env.action_space.shape[0])
                env.close()

    def test_time_limit(self):
        env = gymnasium.make("catena/CartPole-v0", max_episode_steps=3)
        many = gymnasium.make_vec("catena/CartPole-v0", num_envs=2, max_episode_steps=3)
        env.reset(seed=1), many.reset(seed=1)
        for k in range(3):
            _, _, _, truncated, _ = env.step(numpy.zeros(1, numpy.float32))
            _, _, _, cut, _ = many.step(numpy.zeros((2, 1), numpy.float32))
            self.assertEqual((truncated, cut.tolist()), (k == 2, [k == 2] * 2))

    def test_a_wheel_has_its_scenes(self):
        for scene in catena.gym.TASKS.values():
            self.assertEqual((catena.gym.SCENES / f"{scene}.yaml").read_text(), (SCENES / f"{scene}.yaml").read_text())
        here = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            self.addCleanup(os.chdir, here)
            gymnasium.make_vec("catena/Quadruped-v0", num_envs=2).reset()
            os.chdir(here)

    def test_spaces(self):
        env = catena.gym.Env(FALLING)
        self.assertEqual(env.action_space, gymnasium.spaces.Box(-1, 1, (1,), numpy.float32))
        self.assertEqual(env.dt, 0.01)
        env = catena.gym.Env(FALLING, normalize_actions=False, frame_skip=3, max_episode_steps=7)
        self.assertEqual(env.action_space, gymnasium.spaces.Box(-100, 100, (1,), numpy.float64))
        self.assertEqual((env.dt, env.environments.limit), (0.03, 7))
        free = FALLING.replace(", effort: 100", "")
        with self.assertRaisesRegex(ValueError, "the motor of 'ball' has no bounds"):
            catena.gym.Env(free)
        self.assertEqual(catena.gym.Env(free, normalize_actions=False).action_space.low.tolist(), [-numpy.inf])

    def test_actions(self):
        """Between -1 and 1 is between the bounds; the same by targets."""
        one, other = catena.gym.Env(FALLING), catena.gym.Env(FALLING, normalize_actions=False)
        one.reset(seed=5), other.reset(seed=5)
        for action in (0.25, -1.0, 3.0):
            a, b = one.step(numpy.array([action])), other.step(numpy.array([100.0 * action]))
            numpy.testing.assert_array_equal(a[0], b[0])
            self.assertEqual(a[1], b[1])

    def test_beside_single_ones(self):
        """In each mode what Gymnasium's SyncVectorEnv makes of single environments with the same seeds, to the last bit."""
        scenes = {"freezes": (FREEZES, 5e-9, True), "cart-pole": (SCENES / "cartpole-policy.yaml", 1.0, False)}
        for mode in AutoresetMode:
            for name, (scene, size, terminates) in scenes.items():
                with self.subTest(name, mode=mode):
                    self.beside(mode, scene, size, terminates)

    def beside(self, mode, scene, size, terminates):
        worlds = 6
        single = SyncVectorEnv([lambda: catena.gym.Env(scene, max_episode_steps=9)] * worlds, autoreset_mode=mode)
        many = catena.gym.VectorEnv(scene, worlds, autoreset_mode=mode, max_episode_steps=9, threads=2)
        self.assertEqual(many.metadata["autoreset_mode"], mode)
        self.assertEqual((many.action_space, many.observation_space), (single.action_space, single.observation_space))
        for seed in (11, None, [3, None, 5, 3, None, 1]):
            self.same(many.reset(seed=copy.copy(seed)), single.reset(seed=copy.copy(seed)))
            ends = set()
            for k in range(40):
                actions = size * numpy.sin(1.3 * k + 2 * numpy.arange(worlds)).astype(numpy.float32)[:, None]
                if k % 17 == 16:
                    actions[1] = 1  # too hard
                told = many.step(actions)
                self.assertEqual([type(x) for x in told], [numpy.ndarray] * 4 + [dict])
                self.assertTrue(many.observation_space.contains(told[0]))
                self.assertTrue(numpy.isfinite(told[1]).all())
                self.same(told, single.step(actions))
                over = told[2] | told[3]
                ends |= set(zip(told[2][over].tolist(), told[3][over].tolist()))
                if mode is AutoresetMode.DISABLED and over.any():
                    with self.assertRaises(gymnasium.error.ResetNeeded):
                        many.step(actions)
                    self.same(many.reset(options={"reset_mask": over.copy()}), single.reset(options={"reset_mask": over.copy()}))
            self.assertEqual(ends, {(True, False), (False, True)} if terminates else {(False, True)})
        single.close(), many.close()

    def same(self, one, other):
        self.assertTrue(data_equivalence(one, other, exact=True), f"{one}\n{other}")

    def test_seeds(self):
        """A world has the bits of its seed, whatever the number of worlds and threads, in its second episode, too."""
        lives = []
        for worlds, threads, at in ((1, 1, 0), (9, 2, 4), (64, 3, 63)):
            many = catena.gym.VectorEnv("cartpole-policy", worlds, threads=threads, max_episode_steps=5)
            kept = [many.reset(seed=100 - at)[0][at]]
            for k in range(15):
                observation, reward, *_ = many.step(numpy.full((worlds, 1), 0.5 * numpy.sin(k), numpy.float32))
                kept += [observation[at], reward[at]]
            lives.append(numpy.hstack(kept))
        numpy.testing.assert_array_equal(lives[1], lives[0])
        numpy.testing.assert_array_equal(lives[2], lives[0])
        first, second = catena.gym.VectorEnv(FALLING, 3), catena.gym.VectorEnv(FALLING, 3)
        self.assertFalse((first.reset()[0][:, 0] == second.reset()[0][:, 0]).any())  # without a seed by chance

    def test_frozen_worlds(self):
        many = catena.gym.VectorEnv(FREEZES, 3, autoreset_mode=AutoresetMode.SAME_STEP)
        begin, _ = many.reset(seed=1)
        observation, reward, terminated, truncated, infos = many.step(numpy.array([[0], [1], [0]], numpy.float32))
        self.assertEqual((terminated.tolist(), truncated.tolist()), ([False] * 3, [False, True, False]))
        self.assertEqual(reward[1], 0)
        self.assertEqual(infos["final_info"]["lost"].tolist(), [False, True, False])
        self.assertIn("turned", infos["final_info"]["reason"][1])
        self.assertEqual(infos["lost"].tolist(), [False] * 3)
        numpy.testing.assert_array_equal(infos["final_obs"][1], begin[1])  # the last good state
        self.assertIsNone(infos["final_obs"][0])
        self.assertEqual(infos["_iterations"].tolist(), [True, False, True])
        self.assertTrue(numpy.isfinite(observation).all())

    def test_info(self):
        many = catena.gym.VectorEnv("cartpole-policy", 4)
        many.reset(seed=1)
        _, reward, _, _, infos = many.step(numpy.zeros((4, 1), numpy.float32))
        self.assertEqual(infos["reward_terms"].shape, (4, 3))
        numpy.testing.assert_allclose(infos["reward_terms"].sum(axis=1), reward, atol=1e-15)
        self.assertTrue((infos["iterations"] > 0).all())
        self.assertEqual(many.environments.reward_names, ["alive", "posture", "effort"])

    def test_states(self):
        env = catena.gym.Env(FALLING)
        observation, _ = env.reset(options={"q": [0.3], "v": [2]})
        self.assertEqual(observation.tolist(), [0.3, 2])
        with self.assertRaisesRegex(ValueError, "'q' and 'v'"):
            env.reset(options={"q": [0.3]})
        many = catena.gym.VectorEnv(FALLING, 2)
        observation, _ = many.reset(options={"q": [[0.3], [0.4]], "v": [[2], [3]]})
        self.assertEqual(observation.tolist(), [[0.3, 2], [0.4, 3]])

    def test_refused(self):
        env, many = catena.gym.Env(FALLING, max_episode_steps=1), catena.gym.VectorEnv(FALLING, 2)
        for steps in (lambda: env.step(numpy.zeros(1)), lambda: many.step(numpy.zeros((2, 1)))):
            with self.assertRaises(gymnasium.error.ResetNeeded):
                steps()
        env.reset()
        env.step(numpy.zeros(1))
        with self.assertRaises(gymnasium.error.ResetNeeded):
            env.step(numpy.zeros(1))
        with self.assertRaises(gymnasium.error.ResetNeeded):
            many.reset(options={"reset_mask": numpy.array([True, False])})
        many.reset()
        with self.assertRaisesRegex(ValueError, "reset_mask"):
            many.reset(options={"reset_mask": numpy.array([1, 0])})
        with self.assertRaisesRegex(ValueError, "seed: expected 2 seeds, one a world, found 1"):
            many.reset(seed=[1])
        with self.assertRaisesRegex(catena.ArgumentError, "is not finite"):
            many.step(numpy.array([[numpy.nan], [0]]))
        with self.assertRaisesRegex(catena.FileError, "no-such-scene"):
            catena.gym.Env("no-such-scene")


class Imports(unittest.TestCase):
    def python(self, program, *arguments):
        return subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True)

    def test_catena_alone(self):
        ran = self.python("import catena, sys; sys.exit('gymnasium' in sys.modules)")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_without_gymnasium(self):
        ran = self.python("import sys; sys.modules['gymnasium'] = None; import catena.gym")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("ModuleNotFoundError: catena.gym needs Gymnasium", ran.stderr.splitlines()[-1])
        self.assertIn("pip install", ran.stderr.splitlines()[-1])


if __name__ == "__main__":
    unittest.main()
