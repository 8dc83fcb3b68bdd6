#!/usr/bin/env python3
"""PPO of stable-baselines3 holds the pole of catena/CartPole-v0: trains, judges in episodes that it had not, and says what each earns.

usage: python/examples/cartpole_sb3.py [--steps N] [--worlds N] [--seed N]. Needs catena, gymnasium, stable-baselines3 and torch.
Ends with status 1 where the policy has not learned to hold it: it earns less than 9 of 10.
"""

from __future__ import annotations

import argparse
import sys
import time

import gymnasium
import numpy
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecEnv

import catena.gym


class SideBySide(VecEnv):
    """A VectorEnv of catena as stable-baselines3 has them: worlds begin anew in the step in which their episodes end."""

    def __init__(self, many: catena.gym.VectorEnv):
        self.many, self.earned, self.lasted = many, numpy.zeros(many.num_envs), numpy.zeros(many.num_envs, int)
        super().__init__(many.num_envs, many.single_observation_space, many.single_action_space)

    def reset(self):
        seeds = [s for s in self._seeds if s is not None]
        self._reset_seeds()
        return self.many.reset(seed=seeds or None)[0]

    def step_async(self, actions):
        self.told = actions

    def step_wait(self):
        observations, rewards, terminated, truncated, infos = self.many.step(self.told)
        over = terminated | truncated
        self.earned += rewards
        self.lasted += 1
        told = [{} for _ in over]
        for world in numpy.flatnonzero(over):
            told[world] = {
                "terminal_observation": infos["final_obs"][world],
                "TimeLimit.truncated": bool(truncated[world]),
                "episode": {"r": self.earned[world], "l": int(self.lasted[world]), "t": time.process_time()},
            }
        self.earned[over], self.lasted[over] = 0, 0
        return observations, rewards, over, told

    def close(self):
        self.many.close()

    def get_attr(self, attr_name, indices=None):
        return [getattr(self.many, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name, value, indices=None):
        raise NotImplementedError("worlds have no attributes of their own")

    def env_method(self, method_name, *arguments, indices=None, **keys):
        raise NotImplementedError("worlds have no methods of their own")

    def env_is_wrapped(self, wrapper_class, indices=None):
        return [False for _ in self._get_indices(indices)]


def judge(policy: PPO, seeds: list[int]) -> numpy.ndarray:
    """What the policy earns without noise, in an episode of each seed."""
    many = gymnasium.make_vec("catena/CartPole-v0", num_envs=len(seeds), autoreset_mode="Disabled")
    observations, _ = many.reset(seed=seeds)
    earned, ended, over = numpy.zeros(len(seeds)), numpy.zeros(len(seeds), bool), numpy.zeros(len(seeds), bool)
    while not over.all():
        if ended.any():  # these begin anew, and count no more
            observations, _ = many.reset(options={"reset_mask": ended})
        observations, rewards, terminated, truncated, _ = many.step(policy.predict(observations, deterministic=True)[0])
        earned += numpy.where(over, 0, rewards)
        ended = terminated | truncated
        over |= ended
    return earned


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--steps", type=int, default=100_000)
    options.add_argument("--worlds", type=int, default=16)
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    torch.set_num_threads(1)
    worlds = SideBySide(gymnasium.make_vec("catena/CartPole-v0", num_envs=chosen.worlds, autoreset_mode="SameStep"))
    policy = PPO("MlpPolicy", worlds, seed=chosen.seed, n_steps=128, batch_size=256, device="cpu")
    seeds = list(range(1000, 1016))
    before, start = judge(policy, seeds), time.process_time()
    policy.learn(chosen.steps)
    after = judge(policy, seeds)
    print(f"before: {before.mean():.3f} of 10, {before.min():.3f} at least, in {len(seeds)} episodes")
    spent = f"after {policy.num_timesteps} actions, {time.process_time() - start:.0f} s of CPU"
    print(f"{spent}: {after.mean():.3f} of 10, {after.min():.3f} at least")
    return 0 if after.min() > 9 else 1


if __name__ == "__main__":
    sys.exit(main())
