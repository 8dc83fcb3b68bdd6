#!/usr/bin/env python3
"""Loops and couplings of MJCF: does catena hold what MuJoCo's `equality` asks for?

usage: mjcf_loops.py [--catena build/catena] [--seed S]

Each model is written, stepped by catena, and its states given to MuJoCo, whose own residuals of the equations (`efc_pos`, m and rad)
must be below 1e-9 all along: the anchors, frames, polynomials and references are those that MuJoCo means. Exit status 1 if not.
"""
import argparse
import csv
import os
import random
import subprocess
import sys
import tempfile

import mujoco
import numpy as np

ALLOWED = 1e-9


def numbers(*x):
    return ' '.join(f'{v:.17g}' for v in x)


def bar(name, pos, joint, inside='', along=(0.4, 0, 0), axis='0 1 0'):
    kind = f'<joint name="{name}" type="{joint}" axis="{axis}"/>' if joint != 'ball' else f'<joint name="{name}" type="ball"/>'
    return (f'<body name="{name}" pos="{numbers(*pos)}">{kind if joint else "<freejoint/>"}'
            f'<geom type="capsule" fromto="0 0 0 {numbers(*along)}" size="0.02" density="800"/>{inside}</body>')


def model(bodies, equality, sites=''):
    return ('<mujoco><option gravity="3 2 -9.81"/><default><geom contype="0" conaffinity="0"/></default>'
            f'<worldbody>{sites}{bodies}</worldbody><equality>{equality}</equality></mujoco>')


def four_bar(rng, ends):
    """three bars on hinges; the last one's end is held where it is, by an anchor or by two sites"""
    a, b = rng.uniform(0.2, 0.4), rng.uniform(0.5, 0.8)
    site = '<site name="end" pos="0.3 0 0"/>' if ends == 'sites' else ''
    bars = bar('crank', (0, 0, 0), 'hinge', bar('rod', (0, 0, a), 'hinge', bar('rocker', (b, 0, 0), 'hinge', site, (0.3, 0, 0)),
                                                  (b, 0, 0)), (0, 0, a))
    if ends == 'sites':
        return model(bars, '<connect site1="post" site2="end"/>', f'<site name="post" pos="{numbers(b + 0.3, 0, a)}"/>')
    return model(bars, '<connect body1="rocker" anchor="0.3 0 0"/>')


def between_links(rng):
    """two pendulums of balls whose ends are one"""
    w = rng.uniform(0.2, 0.5)
    return model(bar('left', (0, 0, 0), 'ball', along=(w, 0, -0.3)) + bar('right', (2 * w, 0, 0), 'ball', along=(-w, 0, -0.3)),
                 f'<connect body1="left" body2="right" anchor="{numbers(w, 0, -0.3)}"/>')


def weld(rng, own):
    """a bar on a hinge carries a free one; `own`: turned as relpose says"""
    angle = rng.uniform(-1, 1)
    quat = [np.cos(angle / 2), 0, 0, np.sin(angle / 2)]
    pose = f' relpose="{numbers(0.5 + 0.1 * np.cos(angle), 0.1 * np.sin(angle), 0.1, *quat)}" anchor="0.1 0 0"' if own else ''
    free = (f'<body name="load" pos="0.5 0 0.1" quat="{numbers(*(quat if own else (1, 0, 0, 0)))}"><freejoint/>'
            '<geom type="box" size="0.1 0.05 0.04" density="500"/></body>')
    return model(bar('arm', (0, 0, 0), 'hinge') + free, f'<weld body1="arm" body2="load"{pose} torquescale="{rng.uniform(0.5, 2):.3g}"/>')


def gears(rng):
    """a joint that follows another by a polynomial, and one that is held; links hang beside each other"""
    c = [rng.uniform(-0.2, 0.2), rng.uniform(0.5, 1.5), rng.uniform(-0.3, 0.3), rng.uniform(-0.2, 0.2), 0]
    bars = bar('lead', (0, 0, 0), 'hinge', along=(0.3, 0, -0.1)) + bar('follow', (0, 0.5, 0), 'hinge', along=(0.2, 0, -0.2)) + bar(
        'held', (0, 1, 0), 'hinge')
    return model(bars, f'<joint joint1="follow" joint2="lead" polycoef="{numbers(*c)}"/><joint joint1="held" polycoef="0.1 0 0 0 0"/>')


def platform(rng):
    """a free plate on three legs of balls"""
    legs, equality, r = '', '', rng.uniform(0.3, 0.5)
    for k in range(3):
        x, y = r * np.cos(2.1 * k), r * np.sin(2.1 * k)
        legs += (f'<body name="leg{k}" pos="{numbers(x, y, 0)}"><joint name="leg{k}" type="ball"/>'
                 '<geom type="capsule" fromto="0 0 0 0 0 0.5" size="0.02" density="800"/></body>')
        equality += f'<connect body1="plate" body2="leg{k}" anchor="{numbers(x, y, 0)}"/>'
    plate = f'<body name="plate" pos="0 0 0.5"><freejoint/><geom type="cylinder" size="{r:.3g} 0.02" density="300"/></body>'
    return model(plate + legs, equality)


def states(catena, path, folder):
    """q of every record, in the order of the file"""
    out = os.path.join(folder, 'a.csv')
    r = subprocess.run([catena, 'run', path, '--method', 'collocation', '--dt', '0.01', '--duration', '2', '--tolerance', '1e-11', '--quiet', '--out', out],
                       capture_output=True, text=True)
    if r.returncode:
        sys.exit(f'{path}: {r.stderr}')
    with open(out) as f:
        rows = [row for row in csv.reader(line for line in f if not line.startswith('#'))]
    names = next(row for row in rows if row and row[0] == 'time')
    picked = [k for k, name in enumerate(names) if name.startswith('q.')]
    return np.array([[float(row[k]) for k in picked] for row in rows if row and row[0] not in ('time', 's')])


def main():
    p = argparse.ArgumentParser(usage=__doc__.split('usage: ')[1].split('\n')[0], description=__doc__.split('\n')[0])
    p.add_argument('--catena', default='build/catena')
    p.add_argument('--seed', type=int, default=1)
    a = p.parse_args()
    rng = random.Random(a.seed)
    models = {'connect to the world': four_bar(rng, 'anchor'), 'connect of sites': four_bar(rng, 'sites'), 'connect of links': between_links(rng),
              'weld': weld(rng, False), 'weld with relpose': weld(rng, True), 'joint': gears(rng), 'platform': platform(rng)}
    print(f'MuJoCo {mujoco.__version__}, seed {a.seed}\n\n| equations | how many | way made, rad or m | largest residual, m or rad |\n|---|---|---|---|')
    worst = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, xml in models.items():
            path = os.path.join(folder, 'm.xml')
            with open(path, 'w') as f:
                f.write(xml)
            m = mujoco.MjModel.from_xml_string(xml)
            d = mujoco.MjData(m)
            qs, most, count = states(a.catena, path, folder), 0, 0
            if qs.shape[1] != m.nq:
                sys.exit(f'{name}: {qs.shape[1]} coordinates, MuJoCo has {m.nq}')
            for q in qs:
                d.qpos[:] = q
                mujoco.mj_forward(m, d)
                rows = d.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
                count = int(np.count_nonzero(rows))
                most = max(most, float(np.max(np.abs(d.efc_pos[rows]))))
            worst = max(worst, most)
            print(f'| {name} | {count} | {np.max(np.abs(qs - qs[0])):.2g} | {most:.1e} |')
    sys.exit(0 if worst < ALLOWED else 1)


if __name__ == '__main__':
    main()
