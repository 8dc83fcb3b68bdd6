"""Environments of Gymnasium: any scene with a `reward:`, one world or many side by side.

    >>> import gymnasium
    >>> import catena.gym
    >>> env = gymnasium.make("catena/CartPole-v0")
    >>> many = gymnasium.make_vec("catena/CartPole-v0", num_envs=64, threads=0)
    >>> own = catena.gym.VectorEnv("my-scene.yaml", num_envs=64)

What actions, observations and rewards are, docs/python.md says, Gymnasium.
"""

from __future__ import annotations

import os
import pathlib
from typing import Any

import numpy

try:
    import gymnasium
except ModuleNotFoundError as missing:
    if missing.name != "gymnasium":
        raise
    raise ModuleNotFoundError(
        "catena.gym needs Gymnasium, which is not installed: pip install gymnasium, or '.[gym]' in the source folder of catena",
        name="gymnasium",
    ) from None
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from . import load
from ._core import Environments, Model, freeze_text
from ._types import Step

__all__ = ["SCENES", "TASKS", "Env", "VectorEnv"]

#: The folder of the scenes that came with the package.
SCENES = pathlib.Path(__file__).absolute().parent / "share" / "catena" / "scenes"

#: What is registered, "catena/NAME-v0", and its scene.
TASKS = {
    "CartPole": "cartpole-policy",
    "Hopper": "hopper-policy",
    "Quadruped": "quadruped-policy",
    "Spider": "spider-policy",
    "Swimmer": "swimmer-policy",
}


class _Worlds:
    """What Env and VectorEnv have in common: worlds, their spaces, and what is told of a step."""

    def __init__(
        self,
        scene: str | os.PathLike[str] | Model,
        worlds: int,
        normalize_actions: bool,
        frame_skip: int | None,
        max_episode_steps: int | None,
        config: dict[str, Any],
    ):
        if isinstance(scene, Model):
            model = scene
        elif isinstance(scene, str) and "\n" not in scene and (SCENES / f"{scene}.yaml").is_file():
            model = load(SCENES / f"{scene}.yaml")
        else:
            model = load(scene)
        self.all = Environments(model, frame_skip or 0, max_episode_steps or 0, worlds=worlds, **config)
        self.seeded = False
        bounds = self.all.action_bounds
        self.low, self.half = (bounds[:, 0], (bounds[:, 1] - bounds[:, 0]) / 2) if normalize_actions else (None, None)
        if normalize_actions and not numpy.isfinite(bounds).all():
            number = int(numpy.flatnonzero(~numpy.isfinite(bounds).all(axis=1))[0])
            raise ValueError(
                f"the motor of '{self.all.action_names[number]}' has no bounds for actions from -1 to 1: give the scene a "
                "`controller` with a `range`, the motor an `effort` or its joint `limits`; or take normalize_actions=False"
            )
        ones = numpy.ones(len(bounds), numpy.float32)
        self.action_space = (
            gymnasium.spaces.Box(-ones, ones, dtype=numpy.float32)
            if normalize_actions
            else gymnasium.spaces.Box(bounds[:, 0], bounds[:, 1], dtype=numpy.float64)
        )
        bounds = self.all.observation_bounds
        self.observation_space = gymnasium.spaces.Box(bounds[:, 0], bounds[:, 1], dtype=numpy.float64)

    def step(self, action: Any) -> Step:
        told = numpy.asarray(action, numpy.float64)
        if self.low is not None:
            told = self.low + (told + 1) * self.half
        return self.all.step(told)

    def info(self, step: Step) -> dict[str, numpy.ndarray]:
        """[worlds] of each key."""
        told = {
            "iterations": step.statistics["iterations"].astype(numpy.int64),
            "fallbacks": step.statistics["fallbacks"].astype(numpy.int64),
            "reward_terms": step.terms,
            "lost": step.lost,
        }
        if step.lost.any():
            told["reason"] = numpy.full(len(step.lost), None, dtype=object)
            for world in numpy.flatnonzero(step.lost):
                frozen = int(step.statistics["frozen"][world])
                told["reason"][world] = freeze_text(frozen) if frozen else "its reward is no number"
        return told


class _OfWorlds:
    """What both kinds of environments say of their worlds."""

    _worlds: _Worlds

    @property
    def environments(self) -> Environments:
        """The worlds themselves, with the names of all numbers, their states and their model."""
        return self._worlds.all

    @property
    def dt(self) -> float:
        """How long an action lasts, s."""
        return self._worlds.all.every


def _state_of(options: dict[str, Any] | None) -> tuple[Any, Any]:
    """Where worlds are to begin: options["q"] and options["v"]."""
    options = options or {}
    if ("q" in options) != ("v" in options):
        raise ValueError("options: a state is both, 'q' and 'v'")
    return options.get("q"), options.get("v")


class Env(_OfWorlds, gymnasium.Env):
    """A world of a scene with a `reward:`, as an environment of Gymnasium.

    ``scene``: a path, a text, a Model, or the name of a scene in SCENES. ``normalize_actions``: actions go from -1 to 1, between
    the bounds of targets; without, they are targets in their own units. ``frame_skip``: steps of an action (None: as `every` of
    the scene's controller says). ``max_episode_steps``: actions until an episode is truncated (None: as `duration` of the scene
    says; below 0: none is). Other keys are those of Batch: ``dt``, ``method``, ``engine`` and so on.

    The same seed has the same bits as a world of VectorEnv with that seed. Options of reset: ``q`` [nq] and ``v`` [nv], where
    the episode begins. info: ``iterations`` and ``fallbacks`` of the steps, ``reward_terms`` [terms] of the reward, whether the
    world is ``lost``, and then the ``reason``: such an episode is truncated.
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(
        self,
        scene: str | os.PathLike[str] | Model,
        *,
        normalize_actions: bool = True,
        frame_skip: int | None = None,
        max_episode_steps: int | None = None,
        **config: Any,
    ):
        self._worlds = _Worlds(scene, 1, normalize_actions, frame_skip, max_episode_steps, config)
        self.action_space = self._worlds.action_space
        self.observation_space = self._worlds.observation_space
        self.metadata = {"render_modes": [], "render_fps": round(1 / self.dt)}
        self._over = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[numpy.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        q, v = _state_of(options)
        if seed is None and not self._worlds.seeded:
            seed = int(self.np_random.integers(2**63))
        if q is not None:
            q, v = numpy.asarray(q)[None], numpy.asarray(v)[None]
        observation = self._worlds.all.reset(None if seed is None else [seed], q=q, v=v)
        self._worlds.seeded, self._over = True, False
        return observation[0], {}

    def step(self, action: Any) -> tuple[numpy.ndarray, float, bool, bool, dict[str, Any]]:
        if self._over:
            raise gymnasium.error.ResetNeeded("the episode is over, or has not begun: call reset()")
        step = self._worlds.step(numpy.asarray(action)[None])
        terminated, truncated = bool(step.terminated[0]), bool(step.truncated[0])
        self._over = terminated or truncated
        info = {key: value[0] if value.ndim > 1 else value[0:1].tolist()[0] for key, value in self._worlds.info(step).items()}
        return step.observation[0], float(step.reward[0]), terminated, truncated, info


class VectorEnv(_OfWorlds, gymnasium.vector.VectorEnv):
    """Worlds of a scene with a `reward:`, side by side in lanes and threads, as a vector environment of Gymnasium.

    As Env, with ``num_envs`` worlds, ``threads`` (0: one for each CPU), and a mode of Gymnasium for what follows the end of an
    episode, ``autoreset_mode``. World i of seed s is the one of seed s + i: the same bits in any number of worlds, on any number
    of threads. Options of reset: ``reset_mask`` [num_envs], which worlds; ``q`` [num_envs, nq] and ``v`` [num_envs, nv].
    """

    def __init__(
        self,
        scene: str | os.PathLike[str] | Model,
        num_envs: int = 1,
        *,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        normalize_actions: bool = True,
        frame_skip: int | None = None,
        max_episode_steps: int | None = None,
        **config: Any,
    ):
        self.num_envs = num_envs
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self._worlds = _Worlds(scene, num_envs, normalize_actions, frame_skip, max_episode_steps, config)
        self.single_action_space = self._worlds.action_space
        self.single_observation_space = self._worlds.observation_space
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.metadata = {"render_modes": [], "render_fps": round(1 / self.dt), "autoreset_mode": self.autoreset_mode}
        self._over = numpy.ones(num_envs, bool)
        self._begun = False

    def _seeds(self, seed: int | list[int | None] | None) -> list[int | None]:
        super().reset(seed=seed if isinstance(seed, int) else None)
        if seed is None and not self._worlds.seeded:
            return [int(s) for s in self.np_random.integers(2**63, size=self.num_envs)]
        if seed is None or isinstance(seed, int):
            return [None if seed is None else seed + i for i in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise ValueError(f"seed: expected {self.num_envs} seeds, one a world, found {len(seed)}")
        return list(seed)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[numpy.ndarray, dict[str, Any]]:
        q, v = _state_of(options)
        which = numpy.ones(self.num_envs, bool)
        if options and "reset_mask" in options:
            which = numpy.asarray(options["reset_mask"])
            if which.dtype != bool or which.shape != (self.num_envs,) or not which.any():
                raise ValueError(
                    f"options['reset_mask']: expected booleans of shape ({self.num_envs},), one of them true at least"
                )
            if not self._begun and not which.all():
                raise gymnasium.error.ResetNeeded("no world has begun yet: reset all of them first")
        seeds = self._seeds(seed)
        anew = numpy.array([s is not None for s in seeds])
        if (which & anew).any():
            observation = self._worlds.all.reset([s or 0 for s in seeds], which & anew, q, v)
        if (which & ~anew).any():
            observation = self._worlds.all.reset(None, which & ~anew, q, v)
        self._worlds.seeded = self._begun = True
        self._over &= ~which
        return observation, {}

    def step(
        self, actions: Any
    ) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray, numpy.ndarray, dict[str, Any]]:
        if not self._begun:
            raise gymnasium.error.ResetNeeded("no episode has begun: call reset()")
        rested, mode = self._over, self.autoreset_mode
        if mode is AutoresetMode.DISABLED and rested.any():
            raise gymnasium.error.ResetNeeded(
                f"episodes of worlds {numpy.flatnonzero(rested).tolist()} are over: reset(options={{'reset_mask': ...}})"
            )
        step = self._worlds.step(actions)
        observation, terminated, truncated = step.observation, step.terminated, step.truncated
        if rested.any():
            observation = self._worlds.all.reset(which=rested)
            terminated &= ~rested
            truncated &= ~rested
        over = terminated | truncated
        info = self._worlds.info(step)
        infos: dict[str, Any] = {}
        if mode is AutoresetMode.SAME_STEP and over.any():
            final = numpy.full(self.num_envs, None, dtype=object)
            for world in numpy.flatnonzero(over):
                final[world] = observation[world].copy()
            infos = {"final_obs": final, "_final_obs": over, "final_info": _of(info, over), "_final_info": over.copy()}
            observation = self._worlds.all.reset(which=over)
            infos |= _of(info, ~over)
            self._over = numpy.zeros(self.num_envs, bool)
        else:
            infos = _of(info, ~rested)
            self._over = over.copy()
        return observation, step.reward, terminated, truncated, infos


def _of(info: dict[str, numpy.ndarray], worlds: numpy.ndarray) -> dict[str, numpy.ndarray]:
    """The infos of these worlds, each key with the mask that Gymnasium has beside it; of others zeros."""
    told: dict[str, numpy.ndarray] = {}
    for key, value in info.items():
        mask = worlds if value.dtype != object else worlds & numpy.array([x is not None for x in value])
        if not mask.any():
            continue
        of = numpy.full_like(value, None) if value.dtype == object else numpy.zeros_like(value)
        of[mask] = value[mask]
        told[key], told[f"_{key}"] = of, mask.copy()
    return told


for _name, _scene in TASKS.items():
    gymnasium.register(
        id=f"catena/{_name}-v0",
        entry_point="catena.gym:Env",
        vector_entry_point="catena.gym:VectorEnv",
        kwargs={"scene": _scene},
    )
