#!/usr/bin/env python3
"""Links that touch each other, and closed loops: cost, depth, creep and drift, catena beside MuJoCo.

usage: pairs.py [--catena build/catena] [--only stack|masses|heap|gripper|four-bar|ragdolls|net ...] [--rounds 3] [--worlds 64]
                [--method collocation ...] [--error] [--out FILE.md] [--write FOLDER] [--quick]

Both programs get the same bodies, shapes, densities and friction, from one list: catena as a scene, MuJoCo as MJCF with elliptic
cones, impratio 10 and implicitfast. `mujoco hard` asks for contacts and equations as stiff as its step allows (solref 1 ms, which it
takes as two steps). Depths, energies and openings of loops are measured alike for both, by MuJoCo's geometry, of the states after
every step; energies have no share that contacts store. Times are of one world on one thread, the least of --rounds, in turns; with
--worlds of that many, which begin a little apart, on one thread. With --error: root mean squares of the distances of all bodies, at
every 1/30 s, from where the same program brings them in the smallest steps, and the cheapest run of each within a level.
"""
import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time

import h5py
import mujoco
import mujoco.rollout
import numpy as np

STEPS = (1 / 240, 1 / 60, 1 / 30)
FINER = (1 / 1920, 1 / 960, 1 / 480)
FINEST = {'catena': 1 / 3840, 'mujoco': 1 / 15360}
EVERY = 1 / 30
LEVELS = (1e-2, 1e-3, 1e-4)  # m


# --- bodies ---------------------------------------------------------------------------------------------------------------------

def text(numbers):
    return ' '.join(f'{x:.17g}' for x in numbers)


def listed(numbers):
    return '[' + ', '.join(f'{x:.17g}' for x in numbers) + ']'


def sphere(radius, mass):
    return {'type': 'sphere', 'radius': radius, 'density': mass / (4 / 3 * np.pi * radius**3)}


def box(half, mass, center=(0, 0, 0)):
    return {'type': 'box', 'half': half, 'center': center, 'density': mass / (8 * np.prod(half))}


def capsule(a, b, radius, density=1000):
    return {'type': 'capsule', 'from': a, 'to': b, 'radius': radius, 'density': density}


def body(name, shapes, position=(0, 0, 0), joint='free', q=None, axis=None, damping=0.0, limits=None, parts=()):
    """q: where its joint begins; parts hang on it"""
    if q is None:
        q = {'free': [*position, 1, 0, 0, 0], 'ball': [1, 0, 0, 0]}.get(joint, [0])
    return dict(name=name, shapes=shapes, position=position, joint=joint, q=q, axis=axis, damping=damping, limits=limits, parts=parts)


def turned(angle, axis):
    return [np.cos(angle / 2), *(np.sin(angle / 2) * np.array(axis, dtype=float))]


class Scene:
    def __init__(self, name, duration, bodies, look, ground=True, touch=True, friction=0.7, depth=5e-4, fixed=(), closed=(), rods=(),
                 servos=(), driven=False):
        """look: figures of a run; fixed: spheres (center, radius); closed: (link, point, point of the world); rods: pairs of links
        whose origins stay as far apart as they begin; servos: (link, kp, kd, target)"""
        self.name, self.duration, self.bodies, self.look, self.ground, self.touch = name, duration, bodies, look, ground, touch
        self.friction, self.depth, self.fixed, self.closed, self.rods = friction, depth, fixed, closed, rods
        self.servos, self.driven = servos, driven
        self.flat = []  # depth first: the order of q in both programs

        def walk(some, parent):
            for b in some:
                self.flat.append((b, parent))
                walk(b['parts'], b['name'])
        walk(bodies, None)
        self.q = [x for b, _ in self.flat for x in b['q']]

    def catena(self):
        out = ['catena: 1']
        if self.touch:
            out.append(f'contact: {{between: all, friction: {self.friction}, depth: {self.depth}}}')
        if self.ground:
            out.append('ground: true')
        if self.fixed:
            out.append('obstacles:')
            out += [f'  - {{type: sphere, center: {listed(c)}, radius: {r}}}' for c, r in self.fixed]
        out.append('links:')
        kinds = {'hinge': 'revolute', 'slide': 'prismatic'}
        for b, parent in self.flat:
            joint = f'type: {kinds.get(b["joint"], b["joint"])}'
            joint += f', axis: {listed(b["axis"])}' if b['axis'] else ''
            joint += f', damping: {b["damping"]}' if b['damping'] else ''
            joint += f', limits: {listed(b["limits"])}' if b['limits'] else ''
            out += [f'  - name: {b["name"]}'] + ([f'    parent: {parent}'] if parent else [])
            out += [f'    position: {listed(b["position"])}', f'    joint: {{{joint}}}', '    shapes:']
            for s in b['shapes']:
                at = {'sphere': lambda: f'radius: {s["radius"]}',
                      'box': lambda: f'size: {listed(2 * np.array(s["half"]))}, center: {listed(s["center"])}',
                      'capsule': lambda: f'from: {listed(s["from"])}, to: {listed(s["to"])}, radius: {s["radius"]}'}[s['type']]()
                out.append(f'      - {{type: {s["type"]}, {at}, density: {s["density"]:.17g}{"" if self.touch else ", contact: false"}}}')
        if self.closed or self.rods:
            out.append('loops:')
            out += [f'  - {{type: hinge, a: {a}, b: world, at_a: {listed(p)}, at_b: {listed(x)}, axis: [0, 1, 0]}}' for a, p, x in self.closed]
            out += [f'  - {{type: distance, a: {a}, b: {b}, at_a: [0, 0, 0], at_b: [0, 0, 0]}}' for a, b in self.rods]
        if self.servos:
            out.append('motors:')
            out += [f'  - {{joint: {j}, type: position, kp: {kp}, kd: {kd}, target: {x}}}' for j, kp, kd, x in self.servos]
        return '\n'.join(out + ['state:', f'  q: {listed(self.q)}']) + '\n'

    def mjcf(self):
        friction = f'friction="{self.friction} 0 0"' + ('' if self.touch else ' contype="0" conaffinity="0"')
        out = [f'<mujoco model="{self.name}"><compiler autolimits="true" angle="radian"/><size memory="100M"/>',
               '<option cone="elliptic" impratio="10" integrator="implicitfast"><flag energy="enable"/></option>',
               f'<default><geom {friction}/></default><worldbody>']
        if self.ground:
            out.append('<geom type="plane" size="0 0 1"/>')
        out += [f'<geom type="sphere" size="{r}" pos="{text(c)}"/>' for c, r in self.fixed]
        out += [f'<site name="at{i}" pos="{text(x)}"/>' for i, (_, _, x) in enumerate(self.closed)]

        def walk(some):
            for b in some:
                out.append(f'<body name="{b["name"]}" pos="{text(b["position"])}">')
                if b['joint'] == 'free':
                    out.append('<freejoint/>')
                else:
                    out.append(f'<joint name="{b["name"]}" type="{b["joint"]}" damping="{b["damping"]}"' +
                               (f' axis="{text(b["axis"])}"' if b['axis'] else '') + (f' range="{text(b["limits"])}"' if b['limits'] else '') + '/>')
                for s in b['shapes']:
                    at = {'sphere': lambda: f'size="{s["radius"]}"', 'box': lambda: f'size="{text(s["half"])}" pos="{text(s["center"])}"',
                          'capsule': lambda: f'size="{s["radius"]}" fromto="{text(s["from"])} {text(s["to"])}"'}[s['type']]()
                    out.append(f'<geom type="{s["type"]}" {at} density="{s["density"]:.17g}"/>')
                out.extend(f'<site name="of{i}" pos="{text(p)}"/>' for i, (a, p, _) in enumerate(self.closed) if a == b['name'])
                out.append(f'<site name="{b["name"]}"/>')
                walk(b['parts'])
                out.append('</body>')
        walk(self.bodies)
        out.append('</worldbody>')
        if self.rods:
            out.append('<tendon>' + ''.join(f'<spatial name="rod{i}"><site site="{a}"/><site site="{b}"/></spatial>'
                                            for i, (a, b) in enumerate(self.rods)) + '</tendon>')
        if self.closed or self.rods:
            out.append('<equality>' + ''.join(f'<connect site1="of{i}" site2="at{i}"/>' for i in range(len(self.closed))) +
                       ''.join(f'<tendon tendon1="rod{i}"/>' for i in range(len(self.rods))) + '</equality>')
        if self.servos:
            out.append('<actuator>' + ''.join(f'<position joint="{j}" kp="{kp}" kv="{kd}"/>' for j, kp, kd, _ in self.servos) + '</actuator>')
        ctrl = f' ctrl="{text(x for *_, x in self.servos)}"' if self.servos else ''
        return '\n'.join(out + [f'<keyframe><key qpos="{text(self.q)}"{ctrl}/></keyframe></mujoco>']) + '\n'


# --- scenes ---------------------------------------------------------------------------------------------------------------------

def settled(scene, q, v, dt):
    """how far the highest body has sunk below where it would lie on the others, and how fast the fastest body is in the end"""
    top = 0.1 * len(scene.bodies) - 0.05
    return f'sunk {1e3 * (top - q[-1, 7 * (len(scene.bodies) - 1) + 2]):.3g} mm, at the end {np.abs(v[-1]).max():.1e} m/s'


def stack(name='stack', ratio=1.0, count=10, half=0.05):
    draw, bodies = np.random.default_rng(3), []
    for i in range(count):
        turn, x, y = np.radians(5) * draw.uniform(-1, 1), *draw.uniform(-0.004, 0.004, 2)
        bodies.append(body(f'box{i}', [box([half] * 3, 0.1 * ratio**(i / (count - 1)))],
                           q=[x, y, half + 0.002 + i * (2 * half + 0.002), *turned(turn, [0, 0, 1])]))
    return Scene(name, 2.0, bodies, settled)


def heap():
    draw, bodies = np.random.default_rng(7), []
    for i in range(12):
        x, y = 0.03 * draw.normal(size=2)
        bodies.append(body(f'ball{i}', [sphere(0.05, 0.1 if i % 2 else 2.0)], (x, y, 0.06 + 0.11 * i)))
    return Scene('heap', 2.0, bodies, lambda s, q, v, dt: f'at the end {np.abs(v[-1].reshape(-1, 6)[:, :3]).max():.1e} m/s', depth=1e-3)


def balls():
    """100 of them fall into a heap between four large ones"""
    draw, bodies = np.random.default_rng(11), []
    for i in range(100):
        x, y = 0.13 * np.array([i % 4 - 1.5, i // 4 % 4 - 1.5]) + 0.005 * draw.normal(size=2)
        bodies.append(body(f'ball{i}', [sphere(0.05, 0.1 if i % 2 else 2.0)], (x, y, 0.06 + 0.115 * (i // 16))))
    wall = [((1.4 * x, 1.4 * y, 0.3), 1.0) for x, y in ((1, 0), (0, 1), (-1, 0), (0, -1))]
    return Scene('balls', 1.0, bodies, lambda s, q, v, dt: f'at the end {np.abs(v[-1].reshape(-1, 6)[:, :3]).max():.1e} m/s', depth=1e-3, fixed=wall)


def creep(scene, q, v, dt):
    first = round(1 / dt) - 1
    way = np.linalg.norm(q[-1, 2:5] - q[first, 2:5])
    return f'creeps {1e6 * way:.2g} um in {scene.duration - 1:.0f} s'


def gripper():
    """two fingers on slides hold a box in the air, with 2.4 times the friction that it takes"""
    bodies = [body(f'finger{i}', [box([0.01, 0.03, 0.03], 0.1)], (side * 0.05, 0, 0.5), 'slide', axis=[-side, 0, 0]) for i, side in enumerate((-1, 1))]
    bodies.append(body('held', [box([0.04, 0.04, 0.05], 0.5)], (0, 0, 0.5)))
    return Scene('gripper', 60.0, bodies, creep, ground=False, friction=0.6, servos=[(f'finger{i}', 200.0, 10.0, 0.05) for i in (0, 1)], driven=True)


def opened(scene, q, v, dt):
    model = mujoco.MjModel.from_xml_string(scene.mjcf())
    data, most, energies = mujoco.MjData(model), [], []
    for a, b in zip(q, v):
        data.qpos, data.qvel = a, b
        mujoco.mj_fwdPosition(model, data), mujoco.mj_energyPos(model, data), mujoco.mj_energyVel(model, data)
        most.append(max(np.linalg.norm(data.site(f'of{i}').xpos - data.site(f'at{i}').xpos) for i in range(len(scene.closed))))
        energies.append(data.energy.sum())
    return f'open by {max(most):.1e} m, energy {energies[-1] - energies[0]:+.2g} J of {max(energies) - min(energies):.2g} J'


def four_bar():
    """crank, coupler and rocker swing in a vertical plane, undamped, the rocker's end on a pin of the world"""
    lengths, angles = (0.3, 0.6, 0.4), np.array([2.2, -1.8, -1.6])  # of each to the one before

    def end(a):
        t = np.cumsum(a)
        return np.array([np.dot(lengths, np.cos(t)), np.dot(lengths, np.sin(t))])
    for _ in range(50):
        slope = np.array([(end(angles + 1e-6 * e) - end(angles - 1e-6 * e)) / 2e-6 for e in np.eye(3)]).T
        slope[:, 0] = 0
        angles = angles - np.linalg.pinv(slope) @ (end(angles) - [0.5, 0])
    inner = ()
    for i in (2, 1, 0):
        inner = [body(f'bar{i}', [capsule((0, 0, 0), (lengths[i], 0, 0), 0.02)], (lengths[i - 1], 0, 0) if i else (0, 0, 0), 'hinge',
                      q=[angles[i]], axis=[0, -1, 0], parts=inner)]
    return Scene('four-bar', 10.0, inner, opened, ground=False, touch=False, closed=[('bar2', (lengths[2], 0, 0), (0.5, 0, 0))])


def limb(name, at, joint, length, radius, parts=(), **more):
    return body(name, [capsule((0, 0, -0.04), (0, 0, -length), radius)], at, joint, damping=0.5, parts=parts, **more)


def ragdoll(name, at, turn):
    sides, arms, legs = (-1, 1), [], []
    for side in sides:
        arms.append(limb(f'{name}-arm{side}', (0, 0.22 * side, 0.35), 'ball', 0.26, 0.045, q=turned(0.6 * side, [1, 0, 0]), parts=[
            limb(f'{name}-forearm{side}', (0, 0, -0.3), 'hinge', 0.24, 0.04, axis=[0, 1, 0], limits=[-2.4, 0], q=[-0.5])]))
        legs.append(limb(f'{name}-thigh{side}', (0, 0.1 * side, -0.16), 'ball', 0.38, 0.07, q=turned(-0.4, [0, 1, 0]), parts=[
            limb(f'{name}-shin{side}', (0, 0, -0.42), 'hinge', 0.38, 0.05, axis=[0, 1, 0], limits=[0, 2.4], q=[0.5])]))
    head = body(f'{name}-head', [sphere(0.11, 4.0)], (0, 0, 0.54), 'ball', damping=0.5)
    torso = body(f'{name}-torso', [box([0.1, 0.15, 0.2], 16.0, (0, 0, 0.2))], (0, 0, 0.12), 'ball', damping=1.0, parts=[head, *arms])
    return body(f'{name}-pelvis', [box([0.1, 0.14, 0.075], 8.0)], at, q=[*at, *turn], parts=[torso, *legs])


def ragdolls():
    """lie across each other in the air, one half a metre above the other, and fall onto the ground: 2 x 28 degrees of freedom"""
    across = np.array(turned(np.pi / 2, [0, 1, 0]))
    other = np.empty(4)
    mujoco.mju_mulQuat(other, np.array(turned(1.2, [0, 0, 1])), across)
    bodies = [ragdoll('low', (0.05, 0, 0.5), across), ragdoll('high', (-0.05, 0.1, 1.1), other)]
    return Scene('ragdolls', 2.0, bodies, lambda s, q, v, dt: f'at the end {np.abs(v[-1]).max():.1e}', depth=2e-3)


def stretched(scene, q, v, dt):
    names = [b['name'] for b in scene.bodies]
    at = q.reshape(len(q), -1, 7)[:, :, :3]
    pairs = np.array([(names.index(a), names.index(b)) for a, b in scene.rods])
    lengths = np.linalg.norm(at[:, pairs[:, 0]] - at[:, pairs[:, 1]], axis=2)
    return f'rods off by {1e3 * np.abs(lengths - 0.1).max():.2g} mm, at the end {np.abs(v[-1].reshape(-1, 6)[:, :3]).max():.1e} m/s'


def net(side=6, apart=0.1):
    """knots and rods between neighbours fall onto a sphere and the ground"""
    bodies = [body(f'knot{i}-{j}', [sphere(0.03, 0.05)], (apart * (i - (side - 1) / 2) + 0.01, apart * (j - (side - 1) / 2) + 0.02, 0.5))
              for i in range(side) for j in range(side)]
    rods = [(f'knot{i}-{j}', f'knot{i + a}-{j + b}') for i in range(side) for j in range(side) for a, b in ((1, 0), (0, 1)) if max(i + a, j + b) < side]
    return Scene('net', 1.0, bodies, stretched, depth=1e-3, fixed=[((0, 0, 0.25), 0.15)], rods=rods)


SCENES = {'stack': stack, 'masses': lambda: stack('masses', 1000.0), 'heap': heap, 'gripper': gripper, 'four-bar': four_bar,
          'ragdolls': ragdolls, 'net': net, 'balls': balls}


# --- programs -------------------------------------------------------------------------------------------------------------------

class MuJoCo:
    def __init__(self, scene, hard):
        self.name = 'mujoco' + (' hard' if hard else '')
        self.model = mujoco.MjModel.from_xml_string(scene.mjcf())
        if hard:
            self.model.geom_solref[:, 0] = self.model.eq_solref[:, 0] = 1e-3

    def start(self, dt):
        self.model.opt.timestep = dt
        data = mujoco.MjData(self.model)
        mujoco.mj_resetDataKeyframe(self.model, data, 0)
        return data

    def states(self, dt, steps):
        """q and v after every step, and iterations of its solver in each"""
        data, q, v, iterations = self.start(dt), [], [], []
        for _ in range(steps):
            mujoco.mj_step(self.model, data)
            q.append(data.qpos.copy()), v.append(data.qvel.copy()), iterations.append(data.solver_niter.sum())
        return np.array(q), np.array(v), np.array(iterations), any(w.number for w in data.warning)

    def time(self, dt, steps):
        data = self.start(dt)
        start = time.perf_counter()
        mujoco.mj_step(self.model, data, steps)
        return time.perf_counter() - start

    def many(self, dt, steps, starts):
        data, states, kind = self.start(dt), [], mujoco.mjtState.mjSTATE_FULLPHYSICS
        for q, v in starts:
            data.qpos, data.qvel = q, v
            states.append(np.empty(mujoco.mj_stateSize(self.model, kind)))
            mujoco.mj_getState(self.model, data, states[-1], kind)
        control = np.tile(data.ctrl, (len(starts), steps, 1)) if self.model.nu else None
        each = [mujoco.MjData(self.model)]
        with mujoco.rollout.Rollout(nthread=0) as pool:
            start = time.perf_counter()
            pool.rollout(self.model, each, np.array(states), control, nstep=steps)
            return time.perf_counter() - start


class Catena:
    def __init__(self, scene, program, folder, method):
        self.name, self.program, self.method = f'catena {method}', program, method
        self.path = os.path.join(folder, f'{scene.name}.yaml')
        self.file = os.path.join(folder, 'run.h5')
        with open(self.path, 'w') as f:
            f.write(scene.catena())

    def call(self, command, dt, steps, *more):
        call = [self.program, command, self.path, '--method', self.method, '--dt', repr(dt), '--steps', str(steps), '--threads', '1', *more]
        if os.path.exists(self.file):
            os.remove(self.file)
        return subprocess.run(call, check=True, capture_output=True, text=True).stdout

    def states(self, dt, steps):
        self.call('run', dt, steps, '--quiet', '--out', self.file)
        with h5py.File(self.file) as f:
            n = min(len(f[name]) for name in ('q', 'v', 'stats/iterations'))
            q, v, iterations = (f[name][:n, 0] for name in ('q', 'v', 'stats/iterations'))
            self.fallbacks = f['stats/fallbacks'][:n].sum()
        return q[-steps:], v[-steps:], iterations[-steps:], len(q) < steps

    def time(self, dt, steps):
        return json.loads(self.call('run', dt, steps, '--json'))['wall_seconds']

    def many(self, dt, steps, starts):
        table = self.path + '.h5'
        with h5py.File(table, 'w') as f:
            f['q'], f['v'] = np.array([q for q, _ in starts]), np.array([v for _, v in starts])
        return json.loads(self.call('rollout', dt, steps, '--starts', table, '--stride', '1000000', '--out', self.file, '--json'))['wall_seconds']


class Referee:
    """measures states of either program by MuJoCo's geometry"""
    def __init__(self, scene):
        self.scene, self.model = scene, mujoco.MjModel.from_xml_string(scene.mjcf())
        self.data = mujoco.MjData(self.model)

    def look(self, q, v):
        """places of bodies, the deepest overlap, and energy, of each state"""
        m, d, places, depths, energies = self.model, self.data, [], [], []
        for a, b in zip(q, v):
            d.qpos, d.qvel = a, b
            mujoco.mj_fwdPosition(m, d), mujoco.mj_energyPos(m, d), mujoco.mj_energyVel(m, d)
            places.append(d.xipos[1:].copy())
            depths.append(max([0.0] + [-c.dist for c in d.contact]))
            energies.append(d.energy.sum())
        return np.array(places), np.array(depths), np.array(energies)

    def starts(self, worlds):
        """those of a batch: all a little apart; what is closed by loops alone begins at rest, as the scene does"""
        draw, q, each = np.random.default_rng(1), np.array(self.scene.q), []
        for _ in range(worlds):
            off = np.zeros(self.model.nv)
            if not (self.scene.closed or self.scene.rods):
                off = draw.uniform(-1e-3, 1e-3, self.model.nv)
            a = q.copy()
            mujoco.mj_integratePos(self.model, a, off, 1)
            each.append((a, np.zeros(self.model.nv)))
        return each


# --- the table ------------------------------------------------------------------------------------------------------------------

def failed(e):
    said = [line for line in e.stderr.splitlines() if line.strip() and not line.startswith('warning')]
    return (said or e.stderr.strip().splitlines() or ['failed'])[-1].strip()[:110]


def compare(scene, args, emit):
    referee = Referee(scene)
    programs = [Catena(scene, args.catena, args.folder, method) for method in args.method or ['collocation']]
    programs += [MuJoCo(scene, hard) for hard in (False, True)]
    first = referee.look([scene.q], [np.zeros(referee.model.nv)])[2][0]
    limits, cheapest = {}, {}
    for program in programs if args.error else ():
        dt = FINEST[program.name.split()[0]]
        q, *_ = program.states(dt, round(scene.duration / dt))
        limits[program] = referee.look(q[round(EVERY / dt) - 1::round(EVERY / dt)], np.zeros((len(q), referee.model.nv)))[0]
    for dt in (FINER if args.error else ()) + STEPS:
        steps = max(round(scene.duration * (0.1 if args.quick else 1) / dt), 2)
        spent, batch = {program: np.inf for program in programs}, {program: np.inf for program in programs}
        few = steps if scene.duration <= 10 else round(10 / dt)  # worlds of a batch make as many
        broken = {}
        for _ in range(args.rounds):
            for program in programs:
                try:
                    if program not in broken:
                        spent[program] = min(spent[program], program.time(dt, steps))
                        if args.worlds and dt in STEPS:
                            batch[program] = min(batch[program], program.many(dt, few, referee.starts(args.worlds)))
                except subprocess.CalledProcessError as e:
                    broken[program] = failed(e)
        for program in programs:
            row = [scene.name, program.name, f'{1e3 * dt:.3g}']
            try:
                q, v, iterations, stopped = program.states(dt, steps)
            except subprocess.CalledProcessError as e:
                emit(row + [failed(e)] + [''] * 5)
                continue
            if stopped or not np.isfinite(q).all():
                emit(row + [f'stopped after {len(q) * dt:.3g} s' if 'catena' in program.name else 'unstable'] + [''] * 5)
                continue
            places, depths, energies = referee.look(q, v)
            rise = max(np.diff(np.concatenate([[first], energies])).max(), 0)
            top = max(energies.max() - first, 0)
            error = ''
            if program in limits:
                there = places[round(EVERY / dt) - 1::round(EVERY / dt)]
                off = np.sqrt(((there - limits[program][:len(there)])**2).sum(2).mean())
                error = f' error {off:.1e} m'
                for level in LEVELS:
                    kind, each = program.name.split()[0], spent[program] / scene.duration
                    if off <= level and each < cheapest.get((kind, level), (np.inf,))[0]:
                        cheapest[kind, level] = each, program.name, dt
            many = f'{1e6 * batch[program] / few / args.worlds:.3g}' if np.isfinite(batch[program]) else broken.get(program, '')
            emit(row + [f'{1e6 * spent[program] / steps:.3g}', many, f'{iterations.mean():.3g} ({iterations.max():.0f})',
                        f'{1e3 * depths.max():.2g}' if scene.touch else '', '' if scene.driven else f'{rise:.1e}, {top:.1e}',
                        scene.look(scene, q, v, dt) + error])
    for level in LEVELS if args.error else ():
        ours, theirs = cheapest.get(('catena', level)), cheapest.get(('mujoco', level))
        told = f'mujoco / catena {theirs[0] / ours[0]:.2g}' if ours and theirs else 'only catena' if ours else 'only mujoco' if theirs else 'neither'
        emit([scene.name, f'within {level:g} m', '', told, '', '', '', '',
              '; '.join(f'{name} {1e3 * dt:.3g} ms: {1e3 * each:.3g} ms a s' for each, name, dt in filter(None, (ours, theirs)))])


def drift(args, emit):
    """of the four-bar, over 1000 s in steps of 50 ms"""
    scene = four_bar()
    programs = [Catena(scene, args.catena, args.folder, method) for method in ('collocation', 'alpha', 'radau')]
    for program in programs + [MuJoCo(scene, hard) for hard in (False, True)]:
        steps = 20000 if not args.quick else 200
        try:
            q, v, iterations, stopped = program.states(0.05, steps)
            bad = stopped or not np.isfinite(q).all()
            said = [f'{1e6 * program.time(0.05, steps) / steps:.3g}', '', f'{iterations.mean():.3g} ({iterations.max():.0f})', '', '',
                    ('unstable: ' if bad else '') + scene.look(scene, q, v, 0.05)]
        except subprocess.CalledProcessError as e:
            said = [failed(e)] + [''] * 5
        emit(['four-bar, 1000 s', program.name, '50'] + said)


def cpu():
    try:
        with open('/proc/cpuinfo') as f:
            return next(line.split(':')[1].strip() for line in f if line.startswith('model name'))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('--catena', default='build/catena')
    options.add_argument('--only', action='append', choices=[*SCENES, 'drift'], default=[])
    options.add_argument('--method', action='append')
    options.add_argument('--rounds', type=int, default=3)
    options.add_argument('--worlds', type=int, default=64)
    options.add_argument('--error', action='store_true')
    options.add_argument('--out')
    options.add_argument('--write', help='writes the scenes and the MJCF there, and does nothing else')
    options.add_argument('--quick', action='store_true')
    args = options.parse_args()
    if args.write:
        os.makedirs(args.write, exist_ok=True)
        for name in args.only or SCENES:
            for end, said in (('yaml', SCENES[name]().catena()), ('xml', SCENES[name]().mjcf())):
                with open(os.path.join(args.write, f'{name}.{end}'), 'w') as f:
                    f.write(said)
        return
    args.catena, out = os.path.abspath(args.catena), open(args.out, 'w') if args.out else sys.stdout

    def emit(row):
        print('| ' + ' | '.join(row) + ' |', file=out, flush=True)
    print(f'{cpu()}, one thread; MuJoCo {mujoco.__version__}; load before: {os.getloadavg()[0]:.1f}; {args.worlds} worlds.\n', file=out)
    emit(['scene', 'program', 'dt, ms', 'us a step', 'of many, us a step and world', 'iterations (most)', 'deepest, mm',
          'energy: most gained in a step, most above the start, J', 'what becomes of it'])
    emit(['---'] * 9)
    with tempfile.TemporaryDirectory() as args.folder:
        os.chdir(args.folder)  # MuJoCo writes a log where it stands
        for name in args.only or [*SCENES, 'drift']:
            drift(args, emit) if name == 'drift' else compare(SCENES[name](), args, emit)
    print(f'\nload after: {os.getloadavg()[0]:.1f}', file=out)


if __name__ == '__main__':
    main()
