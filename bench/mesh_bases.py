#!/usr/bin/env python3
"""Times robots whose fixed base is a mesh that links may touch: with and without that base, by catena and by MuJoCo.

usage: mesh_bases.py [--catena build/catena] [--seconds 50] FOLDER ...

FOLDER: one that has robot.xml, as those in models/assets/robots of robosuite, or a path of an .xml model. Each falls from its own
start without motors, in steps of 10 ms, single thread, best of three. Without the base: geoms before the first joint touch
nothing. MuJoCo collides links with each other, too, which catena does not. Prints us a step.
"""
import argparse
import os
import re
import shutil
import subprocess
import tempfile
import time

import mujoco

DT, TIMES = 0.01, 3
FILTERS = re.compile(r'\b(contype|conaffinity)="[^"]*"')


def without_base(text):
    """the model with fixed geoms that touch nothing"""
    body = text.index('<worldbody>')
    joint = re.compile(r'<(free)?joint\b').search(text, body).start()
    fixed = FILTERS.sub('', text[body:joint]).replace('<geom ', '<geom contype="0" conaffinity="0" ')
    return text[:body] + fixed + text[joint:]


def by_catena(catena, path, method, steps):
    best = float('inf')
    for _ in range(TIMES):
        told = subprocess.run([catena, 'run', path, '--method', method, '--dt', str(DT), '--steps', str(steps)],
                              capture_output=True, text=True, check=True).stdout
        best = min(best, float(re.search(r'simulated in ([0-9.e+-]+) s', told).group(1)))
    return best / steps * 1e6


def by_mujoco(path, steps):
    m = mujoco.MjModel.from_xml_path(path)
    m.opt.timestep, m.opt.integrator = DT, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    best = float('inf')
    for _ in range(TIMES):
        d = mujoco.MjData(m)
        start = time.perf_counter()
        mujoco.mj_step(m, d, nstep=steps)
        best = min(best, time.perf_counter() - start)
    return best / steps * 1e6


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('--catena', default='build/catena')
    options.add_argument('--seconds', type=float, default=50)
    options.add_argument('folders', nargs='+')
    args = options.parse_args()
    steps = round(args.seconds / DT)
    print('| robot | radau 2: with, without | alpha: with, without | MuJoCo: with, without |\n|---|---|---|---|')
    for folder in args.folders:
        folder, file = (folder, 'robot.xml') if os.path.isdir(folder) else os.path.split(folder)
        with tempfile.TemporaryDirectory() as room:
            # what a model includes or shows may lie beside its folder
            there = shutil.copytree(os.path.dirname(os.path.abspath(folder)), os.path.join(room, 'models'))
            whole = os.path.join(there, os.path.basename(os.path.abspath(folder)), file)
            bare = os.path.join(os.path.dirname(whole), 'bare.xml')
            with open(whole) as f, open(bare, 'w') as g:
                g.write(without_base(f.read()))
            row = [f'{time_of(whole):.3g}, {time_of(bare):.3g}' for time_of in (
                lambda path: by_catena(args.catena, path, 'radau', steps),
                lambda path: by_catena(args.catena, path, 'alpha', steps),
                lambda path: by_mujoco(path, steps))]
        print(f'| {os.path.basename(os.path.abspath(folder))} | ' + ' | '.join(row) + ' |', flush=True)


if __name__ == '__main__':
    main()
