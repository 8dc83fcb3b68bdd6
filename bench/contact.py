#!/usr/bin/env python3
"""Falls onto the ground: what an error costs, and what becomes of depth, slip and energy, catena beside MuJoCo.

usage: contact.py [--catena build/catena] [--out FILE.md] [--only box|ragdoll|rope|quadruped ...] [--rounds 3] [--worlds 64] [--quick]

Both programs read the same MJCF file, made here: links touch the ground and not each other. Errors are root mean squares of the
distances of all bodies, at every 0.05 s, from where the same program brings them in the smallest steps. Depths, and energies, are
MuJoCo's own of the states that each program gives. Times are of one world on one thread, the least of --rounds; with --worlds of
that many, which begin a little apart, on all threads.
"""
import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time

import mujoco
import mujoco.rollout
import numpy as np

EVERY = 0.05
STEPS = (0.05, 1 / 60, 0.01, 0.005, 0.002, 0.001, 5e-4, 2.5e-4, 1e-4)
LEVELS = (1e-1, 1e-2, 1e-3)  # m
OURS = ('collocation', 'alpha', 'radau --stages 2')
THEIRS = ('euler', 'implicitfast', 'discrete')
THREADS = len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()

HEAD = """<mujoco model="{name}">
<compiler autolimits="true"/>
<option timestep="0.01"/>
<default><geom contype="1" conaffinity="0" friction="{friction} 0 0" density="1000"/><joint damping="{damping}"/></default>
<worldbody>
<geom type="plane" size="0 0 1" contype="0" conaffinity="1" friction="{friction} 0 0"/>
"""


def head(name, friction=0.7, damping=0.5):
    return HEAD.format(name=name, friction=friction, damping=damping)


def box():
    """slides at 3 m/s on its face: v^2/(2 f g) far"""
    return (head('box', 0.5) + '<body pos="0 0 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1"/></body></worldbody>\n'
            '<keyframe><key name="home" qpos="0 0 0.1 1 0 0 0" qvel="3 0 0 0 0 0"/></keyframe></mujoco>\n')


def limb(name, at, joints, upper, inner):
    return (f'<body name="{name}" pos="{at}">{joints}<geom type="capsule" fromto="0 0 -0.04 0 0 {-upper[0]}" size="{upper[1]}"/>{inner}</body>\n')


def ragdoll():
    """25 degrees of freedom: a free base, five balls, four hinges, bent a little; falls half a metre"""
    ball = '<joint type="ball"/>'
    text = head('ragdoll') + ('<body name="pelvis" pos="0 0 1.55"><freejoint/><geom type="box" size="0.1 0.15 0.075"/>\n'
                              '<body name="torso" pos="0 0 0.12"><joint type="ball" damping="1" range="0 40"/>'
                              '<geom type="box" size="0.1 0.15 0.2" pos="0 0 0.2" density="700"/>\n'
                              '<body name="head" pos="0 0 0.42"><geom type="sphere" size="0.11" pos="0 0 0.13"/></body>\n')
    for side in (-1, 1):
        hinge = '<joint type="hinge" axis="0 1 0" range="-140 0"/>'
        text += limb(f'arm{side}', f'0 {0.2 * side} 0.35', ball, (0.26, 0.045), limb(f'forearm{side}', '0 0 -0.3', hinge, (0.24, 0.04), ''))
    text += '</body>\n'
    for side in (-1, 1):
        hinge = '<joint type="hinge" axis="0 1 0" range="0 140"/>'
        text += limb(f'thigh{side}', f'0 {0.1 * side} -0.08', ball, (0.38, 0.07), limb(f'shin{side}', '0 0 -0.42', hinge, (0.38, 0.05), ''))
    lean = '0 0 1.55 0.9889 0.0743 0.1240 0'
    arms, legs = ' 1 0 0 0 -0.5', ' 0.98 0 -0.199 0 0.5'  # bent: straight knees could give way to either side
    return text + f'</body></worldbody>\n<keyframe><key name="home" qpos="{lean} 1 0 0 0{arms * 2}{legs * 2}"/></keyframe></mujoco>\n'


def rope(links=30):
    """falls lying in an arc of a circle, one end lower"""
    length, text = 0.05, head('rope', damping=2e-4)
    text += '<body name="l0" pos="0 0 0.3"><freejoint/><geom type="capsule" fromto="0.01 0 0 0.04 0 0" size="0.01"/>\n'
    for i in range(1, links):
        text += f'<body name="l{i}" pos="{length} 0 0"><joint type="ball"/><geom type="capsule" fromto="0.01 0 0 0.04 0 0" size="0.01"/>\n'
    half = np.array([0.06, 0.05])  # of the turn from link to link, about z and y
    q = ' '.join(f'{x:.17g}' for x in [np.sqrt(1 - half @ half), 0, half[1] * 0.3, half[0]])
    return (text + '</body>' * links + f'</worldbody>\n<keyframe><key name="home" qpos="0 0 0.3 1 0 0 0{(" " + q) * (links - 1)}"/></keyframe></mujoco>\n')


def quadruped():
    """falls 0.2 m on twelve servos, which hold its legs"""
    text = head('quadruped', 0.8, 0.1) + ('<body name="trunk" pos="0 0 0.55"><freejoint/>'
                                          '<geom type="box" size="0.2 0.08 0.05" density="1500"/>\n')
    names, stand = [], ''
    for x in (1, -1):
        for y in (1, -1):
            leg = f'{x}{y}'
            names += [f'hip{leg}', f'thigh{leg}', f'knee{leg}']
            text += (f'<body pos="{0.19 * x} {0.1 * y} 0"><joint name="hip{leg}" axis="1 0 0"/>'
                     '<geom type="capsule" fromto="0 -0.03 0 0 0.03 0" size="0.04"/>\n'
                     f'<body pos="0 {0.06 * y} 0"><joint name="thigh{leg}" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.02"/>\n'
                     f'<body pos="0 0 -0.2"><joint name="knee{leg}" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -0.18" size="0.015"/>'
                     '<geom type="sphere" pos="0 0 -0.2" size="0.022"/></body></body></body>\n')
            stand += ' 0 0.8 -1.5'
    motors = ''.join(f'<position joint="{n}" kp="100" kv="2" ctrlrange="-3 3"/>\n' for n in names)
    return text + (f'</body></worldbody>\n<actuator>{motors}</actuator>\n<keyframe><key name="home" '
                   f'qpos="0 0 0.55 1 0 0 0{stand}" ctrl="{" ".join(["0"] * 12)}"/></keyframe></mujoco>\n')


SCENES = {'box': (box, 1.0), 'ragdoll': (ragdoll, 1.0), 'rope': (rope, 0.6), 'quadruped': (quadruped, 0.6)}


class MuJoCo:
    def __init__(self, path):
        self.model = mujoco.MjModel.from_xml_path(path)
        self.model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)

    def start(self):
        data = mujoco.MjData(self.model)
        mujoco.mj_resetDataKeyframe(self.model, data, 0)
        return data

    def set(self, method, dt):
        self.model.opt.integrator = getattr(mujoco.mjtIntegrator, f'mjINT_{method.upper()}')
        self.model.opt.timestep = dt

    def step(self, method, dt, duration, rounds):
        """states at every 0.05 s, and seconds of CPU"""
        self.set(method, dt)
        each, least = round(EVERY / dt), np.inf
        for _ in range(rounds):
            data, q, v, spent = self.start(), [], [], 0
            for _ in range(round(duration / EVERY)):
                start = time.perf_counter()
                mujoco.mj_step(self.model, data, each)
                spent += time.perf_counter() - start
                q.append(data.qpos.copy()), v.append(data.qvel.copy())
            least = min(least, spent)
        return np.array(q), np.array(v), least

    def many(self, method, dt, duration, starts):
        """seconds for all of these worlds, on all threads"""
        self.set(method, dt)
        data, states = mujoco.MjData(self.model), []
        for q in starts:
            mujoco.mj_resetDataKeyframe(self.model, data, 0)
            data.qpos = q
            state = np.empty(mujoco.mj_stateSize(self.model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
            mujoco.mj_getState(self.model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
            states.append(state)
        with mujoco.rollout.Rollout(nthread=THREADS) as pool:
            each = [mujoco.MjData(self.model) for _ in range(THREADS)]
            steps = round(duration / dt)
            start = time.perf_counter()
            pool.rollout(self.model, each, np.array(states), nstep=steps)
            return time.perf_counter() - start

    def look(self, q, v):
        """places of all bodies [n][bodies][3]; depth of the deepest point, and energy, of each state"""
        data, places, depths, energies = mujoco.MjData(self.model), [], [], []
        for a, b in zip(q, v):
            data.qpos, data.qvel = a, b
            mujoco.mj_forward(self.model, data)
            places.append(data.xipos[1:].copy())
            depths.append(max([0.0] + [-c.dist for c in data.contact]))
            energies.append(data.energy.sum())
        return np.array(places), np.array(depths), np.array(energies)


class Catena:
    def __init__(self, program, path):
        self.program, self.path = program, path

    def call(self, command, method, dt, duration, *more):
        call = [self.program, command, self.path, '--method', *method.split(), '--dt', repr(dt), '--duration', repr(duration), *more]
        return subprocess.run(call, check=True, capture_output=True, text=True).stdout

    def step(self, method, dt, duration, rounds):
        out = self.path + '.csv'
        self.call('run', method, dt, duration, '--quiet', '--out', out, '--every', str(round(EVERY / dt)))
        with open(out) as f:
            rows = list(csv.DictReader(line for line in f if not line.startswith('#')))
        self.names = [key for key in rows[0] if key.startswith('q.')]
        q, v = (np.array([[float(row[key]) for key in row if key.startswith(kind)] for row in rows])[-round(duration / EVERY):]
                for kind in ('q.', 'v.'))
        spent = [json.loads(self.call('run', method, dt, duration, '--threads', '1', '--json'))['wall_seconds'] for _ in range(rounds)]
        return q, v, min(spent)

    def many(self, method, dt, duration, starts):
        table = self.path + '.starts.csv'
        with open(table, 'w') as f:
            f.write(','.join(self.names) + '\n')
            f.writelines(','.join(repr(float(x)) for x in row) + '\n' for row in starts)
        out = self.path + '.h5'
        if os.path.exists(out):
            os.remove(out)
        text = self.call('rollout', method, dt, duration, '--starts', table, '--stride', '1000000', '--out', out, '--json')
        return json.loads(text)['wall_seconds']


def compare(scene, text, duration, args, lines):
    path = os.path.join(args.folder, scene + '.xml')
    with open(path, 'w') as f:
        f.write(text)
    theirs, ours = MuJoCo(path), Catena(args.catena, path)
    finest = {ours: ('radau --stages 2', 1e-4), theirs: ('implicitfast', 1e-5)}
    limits = {}
    for program, (method, dt) in finest.items():
        q, v, _ = program.step(method, dt if not args.quick else 1e-3, duration, 1)
        limits[program] = theirs.look(q, v)[0]
    start = theirs.start()
    first = theirs.look([start.qpos], [start.qvel])[2][0]
    apart = np.sqrt(((limits[ours] - limits[theirs])**2).sum(2).mean())
    cheapest, hops = {}, {}
    steps = STEPS if not args.quick else STEPS[:3]
    for program, methods in ((ours, OURS), (theirs, THEIRS)):
        for method in methods:
            for dt in steps:
                name = ('catena ' if program is ours else 'mujoco ') + method.replace(' --stages', '')
                try:
                    q, v, spent = program.step(method, dt, duration, args.rounds)
                except subprocess.CalledProcessError as e:
                    lines.append(f'| {scene} | {name} | {1e3 * dt:.3g} | {e.stderr.strip().splitlines()[-1][:60]} | | | | |')
                    continue
                if not (np.isfinite(q).all() and len(q) == len(limits[program])):
                    continue
                places, depths, energies = theirs.look(q, v)
                off = np.sqrt(((places - limits[program])**2).sum(2).mean())
                rise = max(np.diff(np.concatenate([[first], energies])).max(), 0)
                if dt == 1 / 60:
                    hops[name] = max(places[:, 0, 2].max() - start.qpos[2], 0)
                many = ''
                if args.worlds and dt in (1 / 60, 0.005, 0.001):
                    draw = np.random.default_rng(1)
                    begin = np.repeat(start.qpos[None], args.worlds, axis=0)
                    begin[:, :2] += draw.uniform(-0.1, 0.1, (args.worlds, 2))
                    begin[:, 2] += draw.uniform(0, 0.1, args.worlds)
                    many = f'{1e6 * min(program.many(method, dt, duration, begin) for _ in range(args.rounds)) / args.worlds / duration:.3g}'
                for level in LEVELS:
                    if off <= level and spent < cheapest.get((program, level), (np.inf,))[0]:
                        cheapest[program, level] = spent, name, dt
                lines.append(f'| {scene} | {name} | {1e3 * dt:.3g} | {off:.1e} | {1e3 * depths.max():.2g} | {rise:.1e} | '
                             f'{1e3 * spent / duration:.3g} | {many} |')
                print(lines[-1], file=sys.stderr)
    for level in LEVELS:
        a, b = cheapest.get((ours, level)), cheapest.get((theirs, level))
        if a and b:
            lines.append(f'| {scene} | mujoco / catena at {level:g} m: {b[0] / a[0]:.1f} | | {a[1]}, {1e3 * a[2]:.3g} ms | | | {b[1]}, {1e3 * b[2]:.3g} ms | |')
        else:
            lines.append(f'| {scene} | at {level:g} m: {"only catena" if a else "only mujoco" if b else "neither"} | | | | | | |')
    lines.append(f'| {scene} | limits {apart:.1e} m apart | | | | | | |')
    if scene == 'box':
        far = {k: limits[k][-1, 0, 0] for k in (ours, theirs)}
        lines.append(f'| {scene} | slides {far[ours]:.4f} m (catena), {far[theirs]:.4f} m (mujoco), v²/(2 f g) is {9 / (2 * 0.5 * 9.81):.4f} | | | | | | |')
        lines.append(f'| {scene} | rises at 1/60 s, mm: ' + ', '.join(f'{name} {1e3 * hop:.2g}' for name, hop in hops.items()) + ' | | | | | | |')


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument('--catena', default='build/catena')
    args.add_argument('--out')
    args.add_argument('--only', action='append', choices=SCENES, default=[])
    args.add_argument('--rounds', type=int, default=3)
    args.add_argument('--worlds', type=int, default=64)
    args.add_argument('--quick', action='store_true')
    args = args.parse_args()
    lines = [f'MuJoCo {mujoco.__version__}, {THREADS} threads for many worlds ({args.worlds}).', '',
             '| scene | method | dt, ms | error, m | depth, mm | most gained in 0.05 s, J | CPU, ms a s | a world of many, µs a s |', '|---|---|---|---|---|---|---|---|']
    args.catena, home = os.path.abspath(args.catena), os.getcwd()
    out = os.path.abspath(args.out) if args.out else None
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # MuJoCo writes a log where it stands
        args.folder = folder
        for scene in args.only or SCENES:
            text, duration = SCENES[scene]
            compare(scene, text(), duration, args, lines)
        os.chdir(home)
    text = '\n'.join(lines) + '\n'
    open(out, 'w').write(text) if out else print(text, end='')


if __name__ == '__main__':
    main()
