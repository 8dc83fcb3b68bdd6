#!/usr/bin/env python3
"""Loads MJCF models with catena and with MuJoCo, and compares them at random states.

usage: mjcf_models.py [--catena build/catena] [--out FILE.md] [--seed 1] [--states 3] [--all] [FOLDER ...]

Without folders: every .xml model of those of PACKAGES that are installed. Compared are the joint-space inertia, the bias force,
and the places and centres of mass of all bodies, each relative to the largest entry, or 1e-5. Prints a row for each package, and
one for each model that is not read or differs; with --all for every one. Of models in which nothing moves it is told whether
they are read. What MuJoCo itself does not load, as parts that others include, is counted.
"""
import argparse
import importlib.util
import json
import os
import subprocess
import sys

import mujoco
import numpy as np

PACKAGES = ('mujoco', 'dm_control', 'gymnasium', 'gymnasium_robotics', 'robosuite', 'brax', 'mujoco_warp')
BOUND = 1e-9
FIELDS = ('inertia', 'bias', 'places', 'centres')
FREE, BALL, SLIDE, HINGE = range(4)  # mjtJoint


def models(folder):
    """path of every .xml file that begins a MuJoCo model"""
    for place, _, files in sorted(os.walk(folder)):
        for file in sorted(files):
            path = os.path.join(place, file)
            if file.endswith('.xml') and '<mujoco' in open(path, errors='replace').read():
                yield path


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
    return float(np.max(np.abs(a - b), initial=0) / max(np.max(np.abs(b), initial=0), 1e-5))


def run(catena, command, path, text=None):
    """what catena prints, and the first error, without the folder"""
    done = subprocess.run([catena, command, path], input=text, capture_output=True, text=True)
    if not done.returncode:
        return done.stdout, None
    lines = [line for line in done.stderr.splitlines() if line.startswith('error: ')]
    return None, (lines or [f'error: status {done.returncode}'])[0].replace(os.path.dirname(path) + '/', '')


def compare(catena, path, m, seed, count):
    """links, dofs, largest difference of each field; or the reason why there are none"""
    rng = np.random.default_rng(seed)
    given = [random_state(m, rng) for _ in range(count)]
    text = json.dumps({'nq': m.nq, 'nv': m.nv, 'states': [{'q': list(q), 'v': list(v)} for q, v in given]})
    told, reason = run(catena, 'eval', path, text)
    if reason:
        return None, reason
    found = json.loads(told)
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


def try_package(catena, name, folder, args):
    """numbers of models: that move, are read, agree, stand still, of those read, not MuJoCo's; largest difference; rows"""
    moving = read = same = still = still_read = parts = 0
    most, rows = 0.0, []
    for path in models(folder):
        model = os.path.join(name, os.path.relpath(path, folder))[:-len('.xml')]
        try:
            m = mujoco.MjModel.from_xml_path(path)
        except ValueError as error:
            parts += 1
            print(f'{model}: {str(error).splitlines()[0]}', file=sys.stderr)
            continue
        if not m.nv:
            _, reason = run(catena, 'check', path)
            still, still_read = still + 1, still_read + (not reason)
            if reason:
                rows.append(f'| {model} | | 0 | {reason} |')
            continue
        moving += 1
        found, reason = compare(catena, path, m, args.seed, args.states)
        if reason:
            rows.append(f'| {model} | | {m.nv} | {reason} |')
            continue
        links, dofs, worst = found
        field = max(worst, key=worst.get)
        good = worst[field] < BOUND
        read, same = read + 1, same + good
        if good:
            most = max(most, worst[field])
        if args.all or not good:
            rows.append(f'| {model} | {links} | {dofs} | {worst[field]:.1e} ({field}) |')
    return f'| {name} | {moving} | {read} | {same} | {most:.0e} | {still_read} of {still} | {parts} |', rows


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument('--catena', default='build/catena')
    args.add_argument('--out')
    args.add_argument('--seed', type=int, default=1)
    args.add_argument('--states', type=int, default=3)
    args.add_argument('--all', action='store_true')
    args.add_argument('folders', nargs='*')
    args = args.parse_args()
    folders = [(os.path.basename(os.path.normpath(f)), f) for f in args.folders]
    for package in () if folders else PACKAGES:
        spec = importlib.util.find_spec(package)
        if spec:
            folders.append((package, os.path.dirname(spec.origin)))
        else:
            print(f'{package} is not installed', file=sys.stderr)
    packages, rows = [], []
    for name, folder in folders:
        package, found = try_package(args.catena, name, folder, args)
        packages.append(package)
        rows += found
    text = '\n'.join([f'Beside MuJoCo {mujoco.__version__} at {args.states} random states (seed {args.seed}).', '',
                      f'| package | models that move | read | agree to {BOUND:g} | these differ by | still ones read | '
                      'not loaded by MuJoCo |', '|---|---|---|---|---|---|---|'] + packages +
                     ['', '| model | links | dofs | largest difference, or why not |', '|---|---|---|---|'] + rows) + '\n'
    open(args.out, 'w').write(text) if args.out else print(text, end='')


if __name__ == '__main__':
    main()
