#!/usr/bin/env python3
"""Writes what MuJoCo makes of the models in tests/golden/mjcf: NAME.json beside each NAME.xml.

usage: mjcf_golden.py [--seed 1] [--states 4]

Each state has q, v and inertia, bias, passive; and places, the world frame of every body but the world: its origin, moved to
its last joint if that turns, and its axes row by row. Of models with sensors, sensordata: what these say where the model starts.
tests/mjcf.c reads them.
"""
import argparse
import glob
import json
import os

import mujoco
import numpy as np

import mjcf_models

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tests', 'golden', 'mjcf')


def state(m, rng):
    q, v = mjcf_models.random_state(m, rng)
    inertia, bias, places, _ = mjcf_models.by_mujoco(m, q, v)
    d = mujoco.MjData(m)
    d.qpos, d.qvel = q, v
    mujoco.mj_fwdPosition(m, d)
    mujoco.mj_fwdVelocity(m, d)
    numbers = {'q': q, 'v': v, 'inertia': inertia, 'bias': bias, 'passive': d.qfrc_passive, 'places': places}
    return {name: np.ravel(x).tolist() for name, x in numbers.items()}


def sensors(m):
    d = mujoco.MjData(m)
    mujoco.mj_resetDataKeyframe(m, d, 0)
    mujoco.mj_forward(m, d)
    return d.sensordata.tolist()


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument('--seed', type=int, default=1)
    args.add_argument('--states', type=int, default=4)
    args = args.parse_args()
    for path in sorted(glob.glob(os.path.join(FOLDER, '*.xml'))):
        if '<mujoco ' not in open(path).read():
            continue  # a part
        m = mujoco.MjModel.from_xml_path(path)
        rng = np.random.default_rng(args.seed)
        names = [m.body(b).name or f'body.{b}' for b in range(1, m.nbody)]
        golden = {'mujoco': mujoco.__version__, 'seed': args.seed, 'nq': m.nq, 'nv': m.nv, 'bodies': names,
                  'states': [state(m, rng) for _ in range(args.states)]}
        if m.nsensor:
            golden['sensordata'] = sensors(m)
        with open(path[:-4] + '.json', 'w') as out:
            json.dump(golden, out, indent=1)
            out.write('\n')


if __name__ == '__main__':
    main()
