#!/usr/bin/env python3
"""Every URDF of a folder as catena reads it, beside Pinocchio: poses, mass matrix and bias at states drawn by chance.

usage: urdf_models.py [--catena FILE] [--out FILE.md] [--seed N] [--packages NAME,...] [FOLDER ...]

Without folders: the robots of PACKAGES that are installed beside Pinocchio (`pip install pin example-robot-data armar ...`).
A file with <mimic> is read by a scene with `mimic: free`; Pinocchio lets such joints move on their own, too. Robots that move are run for STEPS steps. Prints tables in Markdown: what each package has, and of each file what differs at
most, as a share of the largest entry, or why it is not read. Exit status 1 if anything differs by more than 1e-9, or a run ends
early.
"""
import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET

import numpy as np
import pinocchio

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
PACKAGES = {  # of PyPI: folder below site-packages
    'example-robot-data': 'cmeel.prefix/share/example-robot-data/robots',
    'hello-robot-stretch-urdf': 'stretch_urdf',
    'dexmate-urdf': 'dexmate_urdf/robots',
    'rtb-data': 'rtbdata',
    'airo-models': 'airo_models',
    'armar': 'armar/description',
    'jvrc-description': 'jvrc_description',
}
BOUND = 1e-9
STATES = 5
STEPS = 100


def installed(names):
    """(package, folder) of those that are installed"""
    for name in names:
        found = [os.path.join(path, PACKAGES[name]) for path in sys.path if os.path.isdir(os.path.join(path, PACKAGES[name]))]
        if found:
            yield name, found[0]
        else:
            print(f'urdf_models: {name} is not installed', file=sys.stderr)


def files(folder, ending):
    return sorted(glob.glob(os.path.join(folder, '**/*' + ending), recursive=True))


def catena(program, *args, text=None):
    run = subprocess.run([program, *args], input=text, capture_output=True, text=True)
    return run.returncode, run.stdout, run.stderr


def errors_of(stderr, path):
    """the errors, with line and column for the file's own name"""
    return [line[len('error: '):].replace(path + ':', '') for line in stderr.splitlines() if line.startswith('error: ')]


def far(ours, theirs):
    largest = np.abs(theirs).max(initial=0)
    return np.abs(ours - theirs).max(initial=0) / (largest if largest > 0 else 1)


def evaluate(program, path, states):
    status, out, err = catena(program, 'eval', path, '-q', text=json.dumps(states))
    assert not status, err
    return json.loads(out)


def parse(path):
    """the <robot> of a file, in which a mass without <inertia>, which Pinocchio would pass over, is a point"""
    with open(path) as file:
        text = file.read()
    text = re.sub(r'(</?|\s(?!xmlns))\w+:(?=\w+[\s=/>])', r'\1', text)  # prefixes of extensions, some of which nobody declares
    root = ET.fromstring(text.encode())
    for inertial in root.iter('inertial'):
        if inertial.find('inertia') is None:
            ET.SubElement(inertial, 'inertia', dict.fromkeys(('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'), '0'))
    return root


def compare(program, scene, path, nv, rng):
    """links, what differs at most"""
    states = [{'q': list(rng.uniform(-1, 1, nv)), 'v': list(rng.uniform(-1, 1, nv))} for _ in range(STATES)]
    found = evaluate(program, scene, states)
    robot = parse(path)
    joint_of = {j.find('child').get('link'): j for j in robot.findall('joint')}
    model = pinocchio.buildModelFromXML(ET.tostring(robot, encoding='unicode'))
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
    return found['nlinks'], worst


def try_file(program, path, folder, seed):
    """a row of the table: links, degrees of freedom, what differs at most, how it is read or why not; whether that is good"""
    scene, how = path, 'yes'
    status, out, err = catena(program, 'check', scene)
    with open(path, encoding='utf-8', errors='replace') as file:
        followers = file.read().count('<mimic')
    if followers:
        scene, how = os.path.join(folder, 'free.yaml'), f'with `mimic: free`; followers: {followers}'
        with open(scene, 'w') as file:
            json.dump({'catena': 1, 'urdf': {'file': path, 'mimic': 'free'}}, file)
        status, out, err = catena(program, 'check', scene)
    if status:
        errors = errors_of(err, path)
        return '', '', '', 'no: line ' + errors[0] + (f' (and {len(errors) - 1} more)' if len(errors) > 1 else ''), True
    nv = int(re.search(r'(\d+) degrees? of freedom', out)[1])
    links, worst = compare(program, scene, path, nv, np.random.default_rng(seed))
    status, _, err = catena(program, 'run', scene, '--steps', str(STEPS), '--quiet') if nv else (0, '', '')
    if status:
        how += f'; {STEPS} steps: {errors_of(err, path)[0]}'
    return links, nv, f'{worst:.0e}', how, worst <= BOUND and not status


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('folders', nargs='*')
    parser.add_argument('--catena', default=os.path.join(ROOT, 'build/catena'))
    parser.add_argument('--out')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--packages', default=','.join(PACKAGES), help='those of PACKAGES that are taken without folders')
    args = parser.parse_args()
    folders = [(os.path.basename(os.path.normpath(folder)), folder) for folder in args.folders]
    packages, rows, wrong = [], [], 0
    for package, folder in folders or installed(args.packages.split(',')):
        kinds = {'yes': 0, 'with': 0, 'no:': 0}
        for path in files(folder, '.urdf'):
            with tempfile.TemporaryDirectory() as scratch:
                *cells, how, good = try_file(args.catena, path, scratch, args.seed)
            name = os.path.relpath(path, folder)[:-len('.urdf')]
            kinds[re.match(r'[a-z:]+', how)[0]] += 1
            wrong += not good
            rows.append((package, name, *cells, re.sub('[|]', '/', how)))
        packages.append((package, sum(kinds.values()), *kinds.values(), len(files(folder, '.xacro'))))
    text = f'{wrong} differ from Pinocchio by more than {BOUND:g}, or end within {STEPS} steps.\n\n'
    text += '| package | URDF files | read | read with `mimic: free` | not read | xacro files |\n|---|---|---|---|---|---|\n'
    text += ''.join('| ' + ' | '.join(map(str, row)) + ' |\n' for row in packages)
    text += '\n| package | file | links | degrees of freedom | differs by at most | read |\n|---|---|---|---|---|---|\n'
    text += ''.join('| ' + ' | '.join(map(str, row)) + ' |\n' for row in rows)
    with open(args.out, 'w') if args.out else sys.stdout as file:
        file.write(text)
    return wrong > 0


if __name__ == '__main__':
    sys.exit(main())
