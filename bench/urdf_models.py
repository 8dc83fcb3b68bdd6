#!/usr/bin/env python3
"""Every URDF of a folder as catena reads it, beside Pinocchio: poses, mass matrix and bias at states drawn by chance.

usage: urdf_models.py [--catena FILE] [--out FILE.md] [--seed N] [FOLDER ...]

Without folders: the robots of PACKAGES from PyPI that are installed beside Pinocchio (`pip install pin example-robot-data`).
Prints a table in Markdown: what differs at most, as a share of the largest entry, or why a file is not
read. Exit status 1 if anything differs by more than 1e-9.
"""
import argparse
import glob
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pinocchio

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
PACKAGES = ('cmeel.prefix/share/example-robot-data/robots',)  # folders below site-packages
BOUND = 1e-9
STATES = 5


def robots(folders):
    """(name, path) of every .urdf file of the folders, by default of the packages that are installed"""
    for package in () if folders else PACKAGES:
        found = [os.path.join(path, package) for path in sys.path if os.path.isdir(os.path.join(path, package))]
        folders = folders + found[:1]
        if not found:
            print(f'urdf_models: {package} is not installed', file=sys.stderr)
    for folder in folders:
        for path in sorted(glob.glob(os.path.join(folder, '**/*.urdf'), recursive=True)):
            name = os.path.relpath(path, folder)
            yield name if len(folders) == 1 else os.path.join(os.path.basename(os.path.normpath(folder)), name), path


def catena(program, *args, text=None):
    run = subprocess.run([program, *args], input=text, capture_output=True, text=True)
    return run.returncode, run.stdout, run.stderr


def first_error(stderr, path):
    """the first error without the file's own name, and how many more there are"""
    errors = [line[len('error: '):].replace(path + ':', '') for line in stderr.splitlines() if line.startswith('error: ')]
    return errors[0] + (f' (and {len(errors) - 1} more)' if len(errors) > 1 else '')


def far(ours, theirs):
    largest = np.abs(theirs).max(initial=0)
    return np.abs(ours - theirs).max(initial=0) / (largest if largest > 0 else 1)


def evaluate(program, path, states):
    status, out, err = catena(program, 'eval', path, '-q', text=json.dumps(states))
    assert not status, err
    return json.loads(out)


def compare(program, path, nv, rng):
    """links, degrees of freedom, what differs at most"""
    states = [{'q': list(rng.uniform(-1, 1, nv)), 'v': list(rng.uniform(-1, 1, nv))} for _ in range(STATES)]
    found = evaluate(program, path, states)
    joint_of = {j.find('child').get('link'): j for j in ET.parse(path).getroot().findall('joint')}
    model = pinocchio.buildModelFromUrdf(path)
    data = model.createData()
    assert nv == model.nv, f'{nv} degrees of freedom, Pinocchio has {model.nv}'
    # catena's coordinates stand link by link; Pinocchio's joints stand where it put them
    order, turning = [], []
    for link in found['links']:
        joint = joint_of.get(link)
        if joint is not None and joint.get('type') not in ('fixed', None):
            assert joint.get('type') in ('revolute', 'continuous', 'prismatic'), joint.get('type')
            k = model.getJointId(joint.get('name'))
            order.append(k), turning.append(model.joints[k].nq == 2)
    at_v = [model.joints[k].idx_v for k in order]
    worst = 0
    for state in found['states']:
        q, v = np.zeros(model.nq), np.zeros(nv)
        for i, k in enumerate(order):
            j, x = model.joints[k].idx_q, state['q'][i]
            q[j:j + 1 + turning[i]] = [np.cos(x), np.sin(x)] if turning[i] else [x]
            v[at_v[i]] = state['v'][i]
        H = pinocchio.crba(model, data, q)
        H = np.triu(H) + np.triu(H, 1).T
        bias = pinocchio.nonLinearEffects(model, data, q, v)
        pinocchio.framesForwardKinematics(model, data, q)
        R = np.array([data.oMf[model.getFrameId(name, pinocchio.BODY)].rotation for name in found['links']])
        p = np.array([data.oMf[model.getFrameId(name, pinocchio.BODY)].translation for name in found['links']])
        worst = max(worst, far(np.array(state['M']).reshape(nv, nv), H[np.ix_(at_v, at_v)]), far(np.array(state['bias']), bias[at_v]),
                    far(np.array(state['R']), R), far(np.array(state['p']), p))
    return found['nlinks'], nv, worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('folders', nargs='*')
    parser.add_argument('--catena', default=os.path.join(ROOT, 'build/catena'))
    parser.add_argument('--out')
    parser.add_argument('--seed', type=int, default=1)
    args = parser.parse_args()
    rows, wrong = [], 0
    for name, path in robots(args.folders):
        status, out, err = catena(args.catena, 'check', path)
        if status:
            rows.append((name, '', '', first_error(err, path)))
            continue
        nv = int(re.search(r'(\d+) degrees? of freedom', out)[1])
        links, nv, worst = compare(args.catena, path, nv, np.random.default_rng(args.seed))
        wrong += not worst <= BOUND
        rows.append((name, links, nv, f'{worst:.0e}'))
    loaded = sum(row[1] != '' for row in rows)
    text = f'{loaded} of {len(rows)} files are read; {wrong} of them differ from Pinocchio by more than {BOUND:g}.\n\n'
    text += '| file | links | degrees of freedom | differs by at most |\n|---|---|---|---|\n'
    text += ''.join(f'| {name} | {links} | {nv} | {re.sub("[|]", "/", what)} |\n' for name, links, nv, what in rows)
    with open(args.out, 'w') if args.out else sys.stdout as file:
        file.write(text)
    return wrong > 0


if __name__ == '__main__':
    sys.exit(main())
