#!/usr/bin/env python3
"""A robot dog learns to walk: catena's searches beside CMA-ES on MuJoCo, and PPO of stable-baselines3 on Gymnasium and MuJoCo.

usage: gym_quadruped.py [--only CELL ...] [--seeds 5] [--limit 7200] [--dt 0.004] [--catena build/catena] [--out DIR] [--quick]

The task is that of scenes/quadruped-search.yaml: the dog of scenes/parts/go2.yaml is to go forwards at 0.5 m/s. Robot, motors,
friction, reward, ranges and the 20 ms from decision to decision are read from there, and a model of MuJoCo is written from them.
Forward dynamics of both programs are compared first. Each cell gives the way ahead in 20 s, without noise on motors:

cma-catena   the scene's search: open-loop sinusoids, 37 parameters, CMA-ES
cma-mujoco   the same sinusoids, population, bounds and first deviations by pycma, on MuJoCo's rollout of whole generations
ppo-catena   a network of joints, body and a clock, by catena's PPO
ppo-sb3      likewise by PPO of stable-baselines3 with its default settings, eight environments in one process (DummyVecEnv)

A PPO ends when its policy walks 10 m without falling, or after --limit s by the clock. Walks are off the clock. Times are of the
search alone, on one thread. Needs numpy, pyyaml, mujoco 4.0.0, cma; ppo-sb3 gymnasium, stable-baselines3, torch.
"""
import argparse
import csv
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time

import mujoco
import mujoco.rollout
import numpy as np
import yaml

from gym_task import CLOCK, LONG, RATES, SCENES, Task, World

FAR = 10.0                                    # m, that count as walking
NOISE = {'ppo-catena': 0.1, 'ppo-sb3': 1.0}   # of half a range, that policies explore with at first


def walked(w):
    return w['ahead'] >= FAR and not w['fell']


def say(words, walk):
    fell = ', falls' if walk['fell'] else ''
    print(f'  {words}: without {walk["reward"]:.2f}, {walk["ahead"]:.2f} m{fell}', file=sys.stderr, flush=True)


def cpu(who=resource.RUSAGE_SELF):
    use = resource.getrusage(who)
    return use.ru_utime + use.ru_stime


class Stopwatch:
    """CPU and wall clock of what runs between go and stop, of this process or of those that it starts"""

    def __init__(self, who=resource.RUSAGE_SELF):
        self.who, self.cpu, self.wall = who, 0.0, 0.0

    def go(self):
        self.since = cpu(self.who), time.monotonic()

    def stop(self):
        self.cpu += cpu(self.who) - self.since[0]
        self.wall += time.monotonic() - self.since[1]


# The cells: each gives what it found, as a walk in its own steps and one in steps a tenth as long

def cma_mujoco(task, args, seed):
    import cma
    model, search = task.model(args.dt), task.scene['search']
    half = task.half
    low = np.concatenate([[task.law['frequency'][0]], np.stack([task.range[:, 0], 0 * half, -1 + 0 * half], 1).ravel()])
    high = np.concatenate([[task.law['frequency'][1]], np.stack([task.range[:, 1], half, 1 + 0 * half], 1).ravel()])
    unit, each = 0.3 * (high - low), round(task.every / args.dt)
    told = np.arange(round(task.duration / task.every)) * task.every
    data, start = mujoco.MjData(model), np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_getState(model, data, start, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    watch, steps = Stopwatch(), 0
    watch.go()
    es = cma.CMAEvolutionStrategy(np.array(task.law['parameters']) / unit, search['sigma'], {
        'bounds': [list(low / unit), list(high / unit)], 'popsize': search['population'], 'seed': seed, 'verbose': -9,
        'maxiter': args.generations, 'tolfun': 0, 'tolx': 0, 'tolflatfitness': 1000})
    while es.countiter < args.generations:
        tries = es.ask()
        control = np.stack([np.repeat(task.sinusoids(x * unit, told), each, axis=0) for x in tries])
        state, force = mujoco.rollout.rollout(model, data, np.tile(start, (len(tries), 1)), control)
        state, force = state[:, each - 1::each, 1:], force[:, each - 1::each]
        qpos, qvel = state[..., :model.nq], state[..., model.nq:model.nq + model.nv]
        alive = np.logical_and.accumulate(qpos[..., 2] >= task.low, axis=1)
        reward = (task.earned(qpos, qvel, force) * alive).sum(1) * task.every
        es.tell(tries, [-r if np.isfinite(r) else np.inf for r in reward])
        steps += control.shape[0] * control.shape[1]
    watch.stop()
    found = es.result.xbest * unit
    act = lambda world, k: task.sinusoids(found, [k * task.every])[0]
    return watch, steps, [World(task, dt).walk(act) for dt in (args.dt, args.dt / 10)]


def ppo_sb3(task, args, seed):
    import gymnasium
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv
    torch.set_num_threads(1)

    class Dog(gymnasium.Env):
        def __init__(self):
            self.world = World(task, args.dt)
            self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, self.world.felt().shape, np.float32)
            self.action_space = gymnasium.spaces.Box(-1, 1, (len(task.motors),), np.float32)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.world.reset()
            return self.world.felt(), {}

        def step(self, action):
            reward, fallen = self.world.step(task.middle + task.half * action)
            return self.world.felt(), reward, fallen, self.world.k * task.every >= task.duration - 1e-9, {}

    learner = PPO('MlpPolicy', DummyVecEnv([lambda: Monitor(Dog())] * 8), seed=seed, device='cpu',
                  n_steps=64 if args.quick else 2048,
                  policy_kwargs={'log_std_init': float(np.log(args.noise or NOISE['ppo-sb3']))})
    act = lambda world, k: task.middle + task.half * np.clip(learner.predict(world.felt(), deterministic=True)[0], -1, 1)
    world, watch, rows, walk = World(task, args.dt), Stopwatch(), [], None
    while not walk or not walked(walk) and watch.wall < args.limit:
        watch.go()
        learner.learn(learner.n_steps * learner.n_envs, reset_num_timesteps=False)
        watch.stop()
        walk = world.walk(act)
        noisy = np.mean([e['r'] for e in learner.ep_info_buffer]) if learner.ep_info_buffer else np.nan
        deviation = learner.policy.log_std.exp().mean().item()
        rows.append([seed, learner.num_timesteps, watch.wall, watch.cpu, noisy, deviation, *walk.values()])
        say(f'ppo-sb3 {world.each * learner.num_timesteps} steps, {watch.wall:.0f} s, with noise {deviation:.2f} {noisy:.2f}', walk)
    keep(args, f'sb3-{seed}', ['seed', 'decisions', 'wall_s', 'cpu_s', 'with_noise', 'noise', *walk], rows)
    return watch, learner.num_timesteps * world.each, [walk, World(task, args.dt / 10).walk(act)]


def write_scene(args, name, scene):
    path = os.path.join(args.out, 'scenes', name + '.yaml')
    with open(path, 'w') as f:
        yaml.safe_dump(scene, f, sort_keys=False, default_flow_style=None)
    return path


def catena_walk(args, found, *more):
    """of a scene that was found; its reward is what the search says"""
    out = found + '.walk.csv'
    call = [args.catena, 'run', found, '--duration', repr(LONG), '--quiet', '--threads', '1', '--out', out, *more]
    subprocess.run(call, check=True)
    with open(out) as f:
        rows = list(csv.DictReader(line for line in f if not line.startswith('#')))
    x, y, z = (np.array([float(r[f'q.trunk.{k}']) for r in rows]) for k in 'xyz')
    return {'ahead': x[-1], 'aside': y[-1], 'fell': bool((z < args.low).any()), 'reward': np.nan}


def catena_search(task, args, watch, scene, seed, name, *more):
    """its walks, and what it said"""
    path = write_scene(args, name, scene)
    found = os.path.join(args.out, 'scenes', f'{name}-{seed}.yaml')
    call = [args.catena, 'search', path, '--threads', '1', '--seed', str(seed), '--out', found, *more]
    watch.go()
    said = subprocess.run(call, check=True, capture_output=True, text=True).stdout
    watch.stop()
    rewards = re.findall(r'(\S+) in steps of', said)[-2:]
    dt = task.scene['integrator']['dt']
    walks = [catena_walk(args, found), catena_walk(args, found, '--dt', repr(dt / 10), '--every', '10')]
    return [w | {'reward': float(r)} for w, r in zip(walks, rewards)], said


def cma_catena(task, args, seed):
    watch = Stopwatch(resource.RUSAGE_CHILDREN)
    walks, _ = catena_search(task, args, watch, task.scene, seed, 'cma', '--generations', str(args.generations))
    tries = args.generations * task.scene['search']['population']
    return watch, tries * round(task.duration / task.scene['integrator']['dt']), walks


def ppo_catena(task, args, seed):
    joints = [m['joint'] for m in task.motors]
    sensors = [{'name': t, 'type': t, 'link': 'trunk'} for t in ('orientation', 'velocimeter', 'gyro')]
    sensors += [{'name': f'{t}-{j}', 'type': t, 'joint': j} for t in ('joint_position', 'joint_velocity') for j in joints]
    law = {'type': 'tanh', 'sensors': 'all', 'scale': [1] * (3 + len(joints)) + [RATES] * len(joints), 'hidden': [64],
           'clock': CLOCK, 'every': task.every, 'range': task.law['range']}
    how = {'method': 'ppo', 'worlds': 32, 'noise': args.noise or NOISE['ppo-catena']}
    scene = task.scene | {'sensors': sensors, 'controller': law, 'search': how}
    watch, generations, walks = Stopwatch(resource.RUSAGE_CHILDREN), 0, None
    while not walks or not walked(walks[0]) and watch.wall < args.limit:
        generations += args.windows
        more = ['--resume'] if walks else []
        walks, said = catena_search(task, args, watch, scene, seed, 'ppo', '--generations', str(generations), *more)
        steps, noisy = re.findall(r'steps (\d+) .* mean (\S+) ', said)[-1]
        say(f'ppo-catena {steps} steps, {watch.wall:.0f} s, with noise it earns {noisy}', walks[0])
    return watch, int(steps), walks


def same(task, args):
    """the largest difference of joint accelerations between both programs, in flight, and the largest one"""
    model, rng, states, theirs = task.model(args.dt), np.random.default_rng(1), [], []
    data = mujoco.MjData(model)
    for _ in range(20):
        mujoco.mj_resetDataKeyframe(model, data, 0)
        turn = rng.standard_normal(4)
        data.qpos[2:7] = 2, *turn / np.linalg.norm(turn)
        data.qpos[7:] += rng.uniform(-0.1, 0.1, model.nu)
        data.qvel[6:] = rng.uniform(-1, 1, model.nu)
        data.ctrl = [m.get('target', 0) for m in task.motors]
        mujoco.mj_forward(model, data)
        states.append({'q': list(data.qpos), 'v': list(data.qvel)})
        theirs.append(data.qacc[6:].copy())
    path = write_scene(args, 'same', {k: v for k, v in task.scene.items() if k not in ('controller', 'search', 'reward')})
    said = subprocess.run([args.catena, 'eval', path], input=json.dumps(states), check=True, capture_output=True, text=True)
    ours = np.array([s['qdd_fd'][6:] for s in json.loads(said.stdout)['states']])
    return np.abs(ours - theirs).max(), np.abs(theirs).max()


CELLS = {'cma-catena': cma_catena, 'cma-mujoco': cma_mujoco, 'ppo-catena': ppo_catena, 'ppo-sb3': ppo_sb3}


def keep(args, name, head, rows):
    with open(os.path.join(args.out, f'gym-quadruped-{name}.csv'), 'w') as f:
        csv.writer(f).writerows([head, *rows])


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument('--only', action='append', choices=CELLS, default=[])
    args.add_argument('--seeds', type=int, default=5)
    args.add_argument('--first-seed', type=int, default=1)
    args.add_argument('--limit', type=float, default=7200, help='s by the clock, of a PPO that does not walk before (7200)')
    args.add_argument('--dt', type=float, default=0.004, help="MuJoCo's step, s (0.004)")
    args.add_argument('--noise', type=float, help='of policies at first, of half a range (ppo-catena 0.1, ppo-sb3 1)')
    args.add_argument('--catena', default='build/catena')
    args.add_argument('--out', default='build-bench/results', help='folder for tables and what was found')
    args.add_argument('--quick', action='store_true', help='two generations, windows or so: to see that it works')
    args = args.parse_args()
    task = Task()
    args.low, args.catena = task.low, os.path.abspath(args.catena)
    args.generations, args.windows = (2, 2) if args.quick else (task.scene['search']['generations'], 20)
    if args.quick:
        args.seeds, args.limit = 1, 0
    os.makedirs(args.out, exist_ok=True)
    shutil.copytree(os.path.join(SCENES, 'parts'), os.path.join(args.out, 'scenes', 'parts'), dirs_exist_ok=True)
    apart, size = same(task, args)
    assert apart < 1e-9 * size, (apart, size)
    print(f'MuJoCo {mujoco.__version__}, implicitfast, {args.dt:g} s; one thread. Joint accelerations agree to {apart:.0e} of '
          f'{size:.0f} rad/s2. In brackets steps a tenth as long.\n\n'
          '| cell | seed | CPU, s | wall, s | steps | m in 20 s | m aside | falls | reward in 6 s |\n' + '|---' * 9 + '|')
    rows = []
    for cell in args.only or CELLS:
        for seed in range(args.first_seed, args.first_seed + args.seeds):
            watch, steps, (walk, fine) = CELLS[cell](task, args, seed)
            rows.append([cell, seed, watch.cpu, watch.wall, steps, *walk.values(), *fine.values()])
            print(f'| {cell} | {seed} | {watch.cpu:.1f} | {watch.wall:.1f} | {steps} | ' + ' | '.join(
                f'{walk[k]:.2f} ({fine[k]:.2f})' if k != 'fell' else ' '.join('yes' if w[k] else 'no' for w in (walk, fine))
                for k in walk) + ' |', flush=True)
            keep(args, '-'.join(args.only) or 'all',
                 ['cell', 'seed', 'cpu_s', 'wall_s', 'steps', *walk, *(k + '_fine' for k in fine)], rows)


if __name__ == '__main__':
    main()
