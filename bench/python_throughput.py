#!/usr/bin/env python3
"""How many steps a second programs in Python get: catena.Batch and catena.gym beside mujoco.rollout, the vector environments of
Gymnasium's MuJoCo tasks, and Pinocchio, on the models of those tasks, in steps of the same length.

usage: bench/python_throughput.py [--quick] [--only NAME] [--worlds N] [--threads N] [--seconds S]. Needs catena with Gymnasium;
gymnasium[mujoco] and pin where they are to be measured. On one thread, then on all; some three minutes.

A number is steps of worlds a second, of the time step of the model, the best of three turns. Peers take turns. What each does:

| catena.Batch    | worlds side by side, told other targets every frame (frame_skip steps); then states are read  |
| mujoco.rollout  | as many worlds, with such controls, a frame a call, from where the last one ended             |
| catena.gym      | VectorEnv of as many worlds: observations (q and v), rewards, ends of episodes, infos         |
| gymnasium       | the task itself: SyncVectorEnv on one thread; AsyncVectorEnv, a process a thread, on all      |
| pinocchio       | aba and integrate, a call each, of one world: without contact, limits and dampers             |

catena steps by collocation of order 2, which makes its contact stable in steps of this size; MuJoCo as the model says (RK4 or
Euler). They are not as exact as each other: that is the subject of bench/contact.py.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import time

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import gymnasium
import numpy

import catena
import catena.gym

try:
    import mujoco
    import mujoco.rollout

    mujoco.set_mju_user_warning(lambda text: None)  # of old words in its tasks' models, amid the table
except ModuleNotFoundError:
    mujoco = None
try:
    import pinocchio
except ModuleNotFoundError:
    pinocchio = None

ASSETS = pathlib.Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"

#: task of Gymnasium: its model, steps of an action, and the time step, s
TASKS = {
    "InvertedDoublePendulum-v5": ("inverted_double_pendulum.xml", 5, 0.01),
    "Hopper-v5": ("hopper.xml", 4, 0.002),
    "HalfCheetah-v5": ("half_cheetah.xml", 5, 0.01),
    "Walker2d-v5": ("walker2d_v5.xml", 4, 0.002),
    "Ant-v5": ("ant.xml", 5, 0.01),
}
COLUMNS = ("catena.Batch", "mujoco.rollout", "catena.gym", "gymnasium", "pinocchio")


def scene_of(file: pathlib.Path, frame: float) -> catena.Model:
    """The model, told within its ranges, with a reward, and with the ground that a scene takes from no file that it includes."""
    points = catena.load(str(file)).contact_points
    friction = points[0].friction if points else 0
    scene = catena.load(
        f"""\
catena: 1
mjcf: {{file: {file}}}
ground: {str(bool(points)).lower()}
contact: {{friction: {friction!r}}}
controller: {{type: sinusoids, frequency: [1, 2], range: [-1, 1], every: {frame!r}}}
reward: [{{term: speed, of: com, weight: 1}}, {{term: effort, weight: -0.001}}]
duration: {1000 * frame!r}
""",
        name="throughput.yaml",
    )
    if [(p.link, p.friction, p.stiffness) for p in points] != [(p.link, p.friction, p.stiffness) for p in scene.contact_points]:
        raise ValueError(f"{file.name}: the scene touches the ground otherwise than the model by itself")
    return scene


class Task:
    """What is measured of a task: a call makes a frame of all worlds."""

    def __init__(self, name: str, worlds: int, threads: int):
        file, self.frame_skip, self.dt = TASKS[name]
        self.name, self.file, self.worlds, self.threads = name, ASSETS / file, worlds, threads
        self.keys = {"method": "collocation", "order": 2, "dt": self.dt, "threads": threads}
        self.model = scene_of(self.file, self.frame_skip * self.dt)
        self.draw = numpy.random.default_rng(1)
        self.left_out: dict[str, str] = {}

    def actions(self, count: int) -> numpy.ndarray:
        return self.draw.uniform(-0.5, 0.5, (self.worlds, count))

    def catena_Batch(self):
        free = catena.load(str(self.file))  # without a controller, which would tell the motors
        batch = catena.Batch(free, worlds=self.worlds, motor_targets=True, frozen_raises=False, **self.keys)

        def frame():
            batch.set_targets(self.actions(free.ntarget))
            batch.step(self.frame_skip)
            batch.state()

        return frame, self.worlds * self.frame_skip

    def catena_gym(self):
        many = catena.gym.VectorEnv(self.model, self.worlds, **self.keys)
        many.reset(seed=1)
        count = many.single_action_space.shape[0]
        return lambda: many.step(self.actions(count)), self.worlds * self.frame_skip

    def mujoco_rollout(self):
        if not mujoco:
            raise ModuleNotFoundError("mujoco is not installed")
        model = mujoco.MjModel.from_xml_path(str(self.file))
        model.opt.timestep = self.dt
        data = [mujoco.MjData(model) for _ in range(self.threads)]
        full = mujoco.mjtState.mjSTATE_FULLPHYSICS
        state = numpy.zeros((self.worlds, mujoco.mj_stateSize(model, full)))
        for row in state:
            mujoco.mj_getState(model, data[0], row, full)
        states = numpy.zeros((self.worlds, self.frame_skip, state.shape[1]))
        control = numpy.zeros((self.worlds, self.frame_skip, model.nu))
        pool = mujoco.rollout.Rollout(nthread=self.threads if self.threads > 1 else 0)

        def frame():
            control[:] = self.actions(model.nu)[:, None, :]
            pool.rollout(model, data, state, control, state=states)
            state[:] = states[:, -1]

        return frame, self.worlds * self.frame_skip

    def gymnasium(self):
        if not mujoco:
            raise ModuleNotFoundError("mujoco is not installed")
        mode, worlds = ("sync", min(self.worlds, 16)) if self.threads == 1 else ("async", self.threads)
        many = gymnasium.make_vec(self.name, num_envs=worlds, vectorization_mode=mode)
        many.reset(seed=1)
        count = many.single_action_space.shape[0]
        return lambda: many.step(self.draw.uniform(-0.5, 0.5, (worlds, count))), worlds * self.frame_skip

    def pinocchio(self):
        if not pinocchio:
            raise ModuleNotFoundError("pin is not installed")
        if self.threads > 1:
            raise NotImplementedError("one thread alone")
        model = pinocchio.buildModelFromMJCF(str(self.file))
        data = model.createData()
        q, v, dt = pinocchio.neutral(model), numpy.zeros(model.nv), self.dt

        def frame():
            nonlocal q, v
            tau = self.draw.uniform(-0.5, 0.5, model.nv)
            for _ in range(self.frame_skip):
                v = v + dt * pinocchio.aba(model, data, q, v, tau)
                q = pinocchio.integrate(model, q, dt * v)
            v *= 0.9  # nothing else takes energy here

        return frame, self.frame_skip


def speed(frame, steps: int, seconds: float) -> float:
    """Steps a second, over at least so long."""
    made, start = 0, time.perf_counter()
    while (went := time.perf_counter() - start) < seconds or not made:
        frame()
        made += steps
    return made / went


def measure(task: Task, seconds: float, turns: int) -> dict[str, float]:
    ready = {}
    for column in COLUMNS:
        try:
            ready[column] = getattr(task, column.replace(".", "_"))()
            ready[column][0]()
        except (ModuleNotFoundError, NotImplementedError, ValueError, RuntimeError, catena.Error) as error:
            ready.pop(column, None)
            task.left_out[column] = str(error).splitlines()[0]
    best = dict.fromkeys(ready, 0.0)
    for _ in range(turns):
        for column, (frame, steps) in ready.items():
            best[column] = max(best[column], speed(frame, steps, seconds))
    return best


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true", help="to see that it works; its figures are noise")
    options.add_argument("--only", metavar="NAME", help="one task, as Hopper-v5")
    options.add_argument("--worlds", type=int, default=256)
    cpus = len(os.sched_getaffinity(0))
    options.add_argument("--threads", type=int, default=cpus, help="of the second turn; default: all CPUs")
    options.add_argument("--seconds", type=float, default=1.0, help="of a turn of a column")
    chosen = options.parse_args()
    seconds, turns = (0.1, 1) if chosen.quick else (chosen.seconds, 3)
    print(f"| task, steps of | threads | {' | '.join(COLUMNS)} |")
    print("|---" * (2 + len(COLUMNS)) + "|")
    left_out = {}
    for name in TASKS:
        if chosen.only not in (None, name):
            continue
        for threads in dict.fromkeys((1, chosen.threads)):
            task = Task(name, chosen.worlds, threads)
            best = measure(task, seconds, turns)
            cells = [f"{best[column]:,.0f}" if column in best else "" for column in COLUMNS]
            print(f"| {name}, {1000 * task.dt:g} ms | {threads} | {' | '.join(cells)} |", flush=True)
            left_out |= {(name, column, threads): why for column, why in task.left_out.items()}
    for (name, column, threads), why in left_out.items():
        print(f"left out: {column}, {name}, {threads} threads: {why}")


if __name__ == "__main__":
    main()
