#!/usr/bin/env python3
"""An arm on position servos: what an error of the hand costs, and which steps last, catena beside MuJoCo's position actuators.

usage: motors.py [--catena build/catena] [--out FILE.md] [--kp N ...] [--rounds 5]

The KUKA iiwa 14, out of a bent pose, is called to zero by seven servos of kp, and of kv = kp 0.2 s: whatever kp is, joints come
nearer by a factor of e in 0.2 s. Both programs read the same MJCF file, made here. Errors are distances of the hand, at every
0.1 s of 3 s, from where the same program brings it in the smallest steps. Times are of 3 s of motion, the least of --rounds, one
thread. A step lasts where the hand stays within 1 cm of that for 60 s.
"""
import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import mujoco
import numpy as np

import models

POSE = [0.3, 0.6, -0.4, -0.9, 0.5, 0.7, -0.2]
HAND = np.array([0, 0, 0.126])  # of the flange, in the last link
STEPS = (0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 5e-4, 2e-4, 1e-4, 5e-5)
SHORT, LONG, EVERY = 3.0, 60.0, 0.1
LASTS = 0.2  # kv / kp, s
CLOSE, LASTING = 1e-4, 1e-2
OURS = ('collocation', 'alpha', 'radau --stages 2', 'radau --stages 3')
THEIRS = ('implicitfast', 'implicit', 'discrete')


def write_arm(path, kp):
    """the arm with its servos"""
    model = models.golden('iiwa14')
    model.tip = HAND
    models.write_mjcf(model, path)
    with open(path) as f:
        text = f.read()
    names = iter(range(len(POSE)))
    text = re.sub('<joint ', lambda _: f'<joint name="j{next(names)}" ', text)
    text = text.replace('balanceinertia="false"', 'balanceinertia="false" autolimits="true"').replace(
        '</mujoco>', f'<keyframe><key name="home" qpos="{models.numbers(np.array(POSE))}"/></keyframe>\n</mujoco>')
    servos = ''.join(f'<position joint="j{j}" kp="{kp}" kv="{LASTS * kp:.6g}"/>\n' for j in range(len(POSE)))
    with open(path, 'w') as f:
        f.write(text.replace('</mujoco>', f'<actuator>\n{servos}</actuator>\n</mujoco>'))


def hands(model, q):
    """places of the hand at coordinates q [n][7]"""
    data = mujoco.MjData(model)
    places = []
    for row in q:
        data.qpos = row
        mujoco.mj_kinematics(model, data)
        places.append(data.site_xpos[0].copy())
    return np.array(places)


class MuJoCo:
    def __init__(self, path):
        self.model = mujoco.MjModel.from_xml_path(path)

    def step(self, method, dt, duration, rounds):
        """coordinates at every 0.1 s, and seconds of CPU"""
        self.model.opt.integrator = getattr(mujoco.mjtIntegrator, f'mjINT_{method.upper()}')
        self.model.opt.timestep = dt
        each, least = round(EVERY / dt), np.inf
        for _ in range(rounds):
            data, q, spent = mujoco.MjData(self.model), [], 0
            mujoco.mj_resetDataKeyframe(self.model, data, 0)
            for _ in range(round(duration / EVERY)):
                start = time.perf_counter()
                mujoco.mj_step(self.model, data, each)
                spent += time.perf_counter() - start
                q.append(data.qpos.copy())
            least = min(least, spent)
        return np.array(q), least


class Catena:
    def __init__(self, program, path):
        self.program, self.path = program, path

    def step(self, method, dt, duration, rounds):
        call = [self.program, 'run', self.path, '--method', *method.split(), '--dt', repr(dt), '--duration', repr(duration)]
        out = self.path + '.csv'
        subprocess.run(call + ['--quiet', '--out', out, '--every', str(round(EVERY / dt))], check=True, stderr=subprocess.DEVNULL)
        with open(out) as f:
            rows = list(csv.DictReader(line for line in f if not line.startswith('#')))
        q = np.array([[float(row[key]) for key in row if key.startswith('q.')] for row in rows])
        spent = [json.loads(subprocess.run(call + ['--json'], check=True, capture_output=True, text=True).stdout)['wall_seconds']
                 for _ in range(rounds)]
        return q[-round(duration / EVERY):], min(spent)


def measure(program, method, limit, model, rounds):
    """cost and size of the largest step that is close, and of the largest that lasts; the error of each step"""
    close, lasting, errors = None, None, {}
    for dt in STEPS:
        try:
            q, spent = program.step(method, dt, SHORT, rounds)
        except subprocess.CalledProcessError:  # frozen
            continue
        if not np.isfinite(q).all():
            continue
        off = np.linalg.norm(hands(model, q) - limit, axis=1).max()
        errors[dt] = off
        if not lasting and off <= LASTING:
            q, _ = program.step(method, dt, LONG, 1)
            late = np.concatenate([limit, np.repeat(limit[-1:], len(q) - len(limit), axis=0)])
            if np.isfinite(q).all() and np.linalg.norm(hands(model, q) - late, axis=1).max() <= LASTING:
                lasting = spent, dt
        if off <= CLOSE and not close:
            close = spent, dt
        if close and lasting and 0.01 in errors:
            break
    return close, lasting, errors


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument('--catena', default='build/catena')
    args.add_argument('--out')
    args.add_argument('--kp', type=float, nargs='*', default=[1e3, 1e5, 1e7])
    args.add_argument('--rounds', type=int, default=5)
    args = args.parse_args()
    lines = [f'MuJoCo {mujoco.__version__}; times of {SHORT:g} s of motion.', '',
             f'| kp | method | 1e-4 m: ms | in steps of | 60 s within 1 cm: ms | in steps of | error at 10 ms |', '|---|---|---|---|---|---|---|']
    args.catena, home = os.path.abspath(args.catena), os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # MuJoCo writes a log where it stands
        for kp in args.kp:
            path = os.path.join(folder, 'arm.xml')
            write_arm(path, kp)
            theirs, ours = MuJoCo(path), Catena(args.catena, path)
            model = theirs.model
            limits = {ours: hands(model, ours.step('radau --stages 3', 2e-4, SHORT, 1)[0]),
                      theirs: hands(model, theirs.step('implicit', 1e-5, SHORT, 1)[0])}
            apart = np.linalg.norm(limits[ours] - limits[theirs], axis=1).max()
            best = {}
            for program, methods in ((ours, OURS), (theirs, THEIRS)):
                for method in methods:
                    close, lasting, errors = measure(program, method, limits[program], model, args.rounds)
                    name = ('catena ' if program is ours else 'mujoco ') + method.replace(' --stages', ',')
                    for kind, found in enumerate((close, lasting)):
                        if found:
                            best[program, kind] = min(best.get((program, kind), np.inf), found[0])
                    cells = [f'{1e3 * cost:.3g} | {1e3 * dt:g} ms' for cost, dt in (x or (np.nan, np.nan) for x in (close, lasting))]
                    cells.append(f'{errors[0.01]:.1e} m' if 0.01 in errors else '')
                    lines.append(f'| {kp:g} | {name} | ' + ' | '.join(cells).replace('nan | nan ms', '- | -') + ' |')
                    print(lines[-1], file=sys.stderr)
            ratios = [f'{best.get((theirs, k), np.nan) / best.get((ours, k), np.nan):.1f}' for k in (0, 1)]
            lines.append(f'| {kp:g} | mujoco / catena, the cheapest | {ratios[0]} | | {ratios[1]} | | limits {apart:.0e} m apart |')
        os.chdir(home)
    text = '\n'.join(lines) + '\n'
    open(args.out, 'w').write(text) if args.out else print(text, end='')


if __name__ == '__main__':
    main()
