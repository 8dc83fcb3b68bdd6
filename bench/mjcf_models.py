#!/usr/bin/env python3
"""Loads MJCF models with catena and with MuJoCo, and compares them at random states.

usage: mjcf_models.py [--catena build/catena] [--out FILE.md] [--seed 1] [--states 3] [FOLDER ...]

Without folders: every .xml model of the installed packages mujoco, dm_control and gymnasium. Compared are the joint-space
inertia, the bias force, and the places and centres of mass of all bodies, each relative to the largest entry. A model that
MuJoCo itself does not load, or in which nothing moves, as parts that others include, is left out of the table and counted.
"""
import argparse
import importlib.util
import json
import os
import subprocess
import sys

import mujoco
import numpy as np

PACKAGES = ('mujoco', 'dm_control', 'gymnasium')
FIELDS = ('inertia', 'bias', 'places', 'centres')
FREE, BALL, SLIDE, HINGE = range(4)  # mjtJoint


def models(folders):
    """(name, path) of every .xml file that begins a MuJoCo model"""
    for name, folder in folders:
        for place, _, files in sorted(os.walk(folder)):
            for file in sorted(files):
                path = os.path.join(place, file)
                if file.endswith('.xml') and '<mujoco' in open(path, errors='replace').read():
                    yield os.path.join(name, os.path.relpath(path, folder)), path


def random_state(m, rng):
    """q and v: turns of about a radian, unit quaternions"""
    q, v = m.qpos0.copy(), rng.normal(size=m.nv)
    for j in range(m.njnt):
        at, kind = m.jnt_qposadr[j], m.jnt_type[j]
        if kind == FREE:
            q[at:at + 3] = rng.normal(size=3)
        if kind in (FREE, BALL):
            turn = rng.normal(size=4)
            at += 3 * (kind == FREE)
            q[at:at + 4] = turn / np.linalg.norm(turn)
        else:
            q[at] += rng.uniform(-1, 1)
    return q, v


def link_origin(m, body):
    """of the link's frame in the body's: the place of its last joint, where that turns"""
    last = m.body_jntadr[body] + m.body_jntnum[body] - 1
    turns = m.body_jntnum[body] and m.jnt_type[last] in (HINGE, BALL)
    return m.jnt_pos[last] if turns else np.zeros(3)


def by_mujoco(m, q, v):
    d = mujoco.MjData(m)
    d.qpos, d.qvel = q, v
    mujoco.mj_fwdPosition(m, d)
    mujoco.mj_fwdVelocity(m, d)
    inertia = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, d, inertia)
    places = [d.xpos[b] + d.xmat[b].reshape(3, 3) @ link_origin(m, b) for b in range(1, m.nbody)]
    return inertia, d.qfrc_bias.copy(), np.concatenate([np.array(places), d.xmat[1:].reshape(-1, 9)], axis=1), d.xipos[1:].copy()


def by_catena(found, state, names):
    links = {name: i for i, name in enumerate(found['links'])}
    at = [links[name] for name in names]
    places = np.concatenate([np.array(state['p'])[at], np.array(state['R']).reshape(-1, 9)[at]], axis=1)
    return np.array(state['M']), np.array(state['bias']), places, np.array(state['link_com'])[at]


def difference(a, b):
    return float(np.max(np.abs(a - b), initial=0) / max(np.max(np.abs(b), initial=0), 1e-12))


def compare(catena, path, m, seed, count):
    """links, dofs, largest difference of each field; or the reason why there are none"""
    rng = np.random.default_rng(seed)
    given = [random_state(m, rng) for _ in range(count)]
    text = json.dumps({'nq': m.nq, 'nv': m.nv, 'states': [{'q': list(q), 'v': list(v)} for q, v in given]})
    run = subprocess.run([catena, 'eval', path], input=text, capture_output=True, text=True)
    if run.returncode:
        lines = [line for line in run.stderr.splitlines() if not line.startswith('warning')]
        return None, (lines or ['no message'])[0].replace(os.path.dirname(path) + '/', '')
    found = json.loads(run.stdout)
    names = [mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_BODY, b) or f'body.{b}' for b in range(1, m.nbody)]
    worst = dict.fromkeys(FIELDS, 0.0)
    weighs = m.body_mass[1:] > 0
    for (q, v), state in zip(given, found['states']):
        ours, theirs = by_catena(found, state, names), by_mujoco(m, q, v)
        for field, a, b in zip(FIELDS, ours, theirs):
            if field == 'centres':
                a, b = a[weighs], b[weighs]
            worst[field] = max(worst[field], difference(a, b))
    return (found['nlinks'], found['nv'], worst), None


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument('--catena', default='build/catena')
    args.add_argument('--out')
    args.add_argument('--seed', type=int, default=1)
    args.add_argument('--states', type=int, default=3)
    args.add_argument('folders', nargs='*')
    args = args.parse_args()
    folders = [(os.path.basename(os.path.normpath(f)), f) for f in args.folders]
    for package in () if folders else PACKAGES:
        spec = importlib.util.find_spec(package)
        if spec:
            folders.append((package, os.path.dirname(spec.origin)))
        else:
            print(f'{package} is not installed', file=sys.stderr)
    lines, skipped, same, total, still = [], [], 0, 0, 0
    for name, path in models(folders):
        try:
            m = mujoco.MjModel.from_xml_path(path)
        except ValueError as error:
            skipped.append(f'{name}: {str(error).splitlines()[0]}')
            continue
        if not m.nv:
            still += 1
            continue
        total += 1
        found, reason = compare(args.catena, path, m, args.seed, args.states)
        if found:
            links, dofs, worst = found
            largest = max(worst, key=worst.get)
            same += worst[largest] < 1e-9
            lines.append(f'| {name} | {links} | {dofs} | {worst[largest]:.1e} ({largest}) |')
        else:
            lines.append(f'| {name} | | {m.nv} | {reason} |')
    text = '\n'.join([f'{same} of {total} models agree with MuJoCo {mujoco.__version__} to 1e-9, at {args.states} random states '
                      f'(seed {args.seed}). In {still} others nothing moves, and {len(skipped)} MuJoCo itself does not load.', '',
                      '| model | links | dofs | largest difference, or why not |', '|---|---|---|---|'] + lines) + '\n'
    open(args.out, 'w').write(text) if args.out else print(text, end='')
    for line in skipped:
        print(line, file=sys.stderr)


if __name__ == '__main__':
    main()
