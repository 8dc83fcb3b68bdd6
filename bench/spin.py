#!/usr/bin/env python3
"""What spins or rolls: error against step of catena's methods beside MuJoCo's, in one run; called by bench/spin.

Every method goes through a case in steps of 1 to 50 ms. The error is the largest, over the numbers that the case looks at in the end, of what
they are off, as a share of what they are to be compared with (a rate's right value, a radian): 0.01 is one per cent, or 0.01 rad.
"""
import datetime
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time

import mujoco
import numpy as np
import yaml

import build
import session
import spin_cases
from run import machine, progress
from spin_cases import CASES, QUICK

OURS = ('default', 'collocation,order=2', 'alpha', 'radau,stages=2', 'radau,stages=3', 'variational', 'rk4')
THEIRS = ('euler', 'implicitfast', 'rk4')
STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05)
SHOWN = (0.005, 0.01, 0.02, 0.05)  # in the table
ASKED = 0.01  # what an error is to stay below at all of these
TINY = 1e-4
REFERENCES = os.path.join(build.HERE, 'spin_references.json')
COLOURS = session.COLOURS | {'default': '#e7298a', 'variational': session.COLOURS['variational,order=2']}
PEERS = {'euler': '#b0b0b0', 'implicitfast': '#707070', 'rk4': 'black'}


class Stopped(Exception):
    """a word on why there is no end of a run"""


class Programs:
    """both, of one case"""

    def __init__(self, catena, folder, name):
        self.case, self.name, self.catena = CASES[name](), name, catena
        self.path = os.path.join(folder, name + '.yaml')
        with open(self.path, 'w') as f:
            yaml.safe_dump(json.loads(json.dumps(spin_cases.scene(self.case))), f, sort_keys=False, default_flow_style=None)
        self.model = mujoco.MjModel.from_xml_string(spin_cases.mjcf(self.case))

    def run(self, program, method, dt):
        """what there is to know of the end of a run: numbers looked at, s of CPU, of catena iterations and share of energy lost"""
        return self.ours(method, dt) if program == 'catena' else self.theirs(method, dt)

    def ours(self, method, dt):
        name, *keys = method.split(',')
        call = [self.catena, 'run', self.path, '--dt', repr(dt), '--duration', repr(self.case.duration), '--json', '--threads', '1']
        call += [] if name == 'default' else ['--method', name]
        for key in keys:
            call += ['--' + key.split('=')[0], key.split('=')[1]]
        done = subprocess.run(call, capture_output=True, text=True)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if 'error' in line or 'integrator' in line] or done.stderr.splitlines()[-1:]
            raise Stopped('frozen' if 'frozen' in done.stderr else 'refused', lines[0] if lines else '')
        said = json.loads(done.stdout)
        energy = said['energy']
        moving = max(energy['kinetic']['initial'], energy['kinetic']['final'], 1e-300)
        return self.seen(said['final']['q'], said['final']['v']) | {
            'cpu': said['wall_seconds'], 'iterations': said['iterations']['mean'], 'created': energy['created'] / moving,
            'fallbacks': said['fallbacks'], 'ran': said['method'] + (f',stages={said["stages"]}' if 'stages' in said else '')}

    def theirs(self, method, dt):
        self.model.opt.integrator = getattr(mujoco.mjtIntegrator, f'mjINT_{method.upper()}')
        self.model.opt.timestep = dt
        data = mujoco.MjData(self.model)
        mujoco.mj_resetDataKeyframe(self.model, data, 0)
        start = time.perf_counter()
        mujoco.mj_step(self.model, data, round(self.case.duration / dt))
        spent = time.perf_counter() - start
        if data.warning.number.any() or not np.isfinite(data.qvel).all():  # it begins anew where numbers are too large
            raise Stopped('unstable', '')
        return self.seen(data.qpos.copy(), data.qvel.copy()) | {'cpu': spent}

    def seen(self, q, v):
        return {'look': np.array(self.case.look(np.array(q), np.array(v)), float)}

    def off(self, look, right):
        return float(np.max(np.abs(look - right) / np.array(self.case.scales, float)))


# The references

def make_reference(p):
    """where a case ends: a closed form, else catena in tiny steps; how far both programs, in tiny steps, are from that"""
    touches = p.case.slope is not None
    ours, theirs = ('radau,stages=2', 'implicitfast') if touches else ('dop853', 'rk4')
    fine, half = (p.run('catena', ours, dt)['look'] for dt in (TINY, 2 * TINY))
    if p.case.right:
        right, how = np.array(p.case.right(), float), 'closed form'
    else:
        right, how = fine, f'catena {ours}, steps of {TINY:g} s'
    return {'how': how, 'catena': {'method': ours, 'dt': TINY, 'off': p.off(fine, right), 'change': p.off(fine, half)},
            'mujoco': {'method': theirs, 'dt': TINY, 'version': mujoco.__version__, 'off': p.off(p.run('mujoco', theirs, TINY)['look'], right)},
            'right': [float(f'{x:.13g}') for x in right]}


def make_references(programs):
    known = read_references() if os.path.exists(REFERENCES) else {}
    for p in programs:
        known[p.name] = make_reference(p)
        print(f'{p.name}: {known[p.name]}', flush=True)
        with open(REFERENCES, 'w') as f:
            f.write('{\n' + ',\n'.join(f'{json.dumps(name)}: {json.dumps(known[name])}' for name in CASES if name in known) + '\n}\n')


def read_references():
    with open(REFERENCES) as f:
        return json.load(f)


# The measurement

def measure(p, right, methods, steps):
    """records of all runs of a case"""
    records = []
    for program, method in methods:
        for dt in steps:
            progress(f'{p.name}: {program} {method} {dt:g}')
            record = {'case': p.name, 'program': program, 'method': method, 'dt': dt}
            try:
                found = p.run(program, method, dt)
                look = found.pop('look')
                records.append(record | {'error': p.off(look, right), 'value': float(look[0])} | found)
            except Stopped as e:
                records.append(record | {'error': None, 'stopped': e.args[0], 'why': e.args[1]})
    progress('')
    return records


def cell(record):
    if record['error'] is None:
        return record['stopped']
    return re.sub('e([+-])0', r'e\1', f'{record["error"]:.1e}').replace('e+', 'e') if record['error'] else '0'


def shortened(record):
    return {key: float(f'{value:.7g}') if isinstance(value, float) else value for key, value in record.items()}


def table(programs, references, records, methods, steps):
    lines = ['| case | what moves | s | right | error is of | reference | catena, MuJoCo at 0.1 ms off |', '|---|---|---|---|---|---|---|']
    for p in programs:
        r = references[p.name]
        lines.append(f'| {p.name} | {p.case.what} | {p.case.duration:g} | {r["right"][0]:.6g} {p.case.unit} | {p.case.looks} | {r["how"]} | '
                     f'{r["catena"]["off"]:.0e}, {r["mujoco"]["off"]:.0e} |')
    by = {(r['case'], r['program'], r['method'], r['dt']): r for r in records}
    head = [session.label(m) if program == 'catena' else f'MuJoCo {m}' for program, m in methods]
    ran = {session.label(r['ran']) for r in records if r['method'] == 'default' and 'ran' in r}
    lines += ['', f'Cases within {100 * ASKED:g} %, of {len(programs)}' + (f'; the default is {", ".join(sorted(ran))}' if ran else '') + ':', '',
              '| ms | ' + ' | '.join(head) + ' |', '|' + '---|' * (len(head) + 1)]
    for dt in steps:
        found = [[r for r in records if (r['program'], r['method'], r['dt']) == (*m, dt) and r['error'] is not None] for m in methods]
        lines.append(f'| {1000 * dt:g} | ' + ' | '.join(str(sum(r['error'] <= ASKED for r in f)) for f in found) + ' |')
    lines += ['', 'Errors: shares of what is right, or rad.', '', '| case | ms | ' + ' | '.join(head) + ' |', '|' + '---|' * (len(head) + 2)]
    for p in programs:
        for dt in steps:
            cells = []
            for program, method in methods:
                cells.append(cell(by[p.name, program, method, dt]))
            lines.append(f'| {p.name} | {1000 * dt:g} | ' + ' | '.join(cells) + ' |')
    return lines


def picture(path, programs, records, methods):
    """a panel a case: error over step"""
    columns, blocks = 5, {}
    script = [f'set multiplot layout {math.ceil((len(programs) + 1) / columns)},{columns}', 'set logscale xy', 'set grid', 'set format y "10^{%L}"',
              'set termoption enhanced', 'unset key', 'set xlabel "step (ms)"', 'set ylabel "error"', 'set xtics (1, 2, 5, 10, 20, 50)']

    def style(k):
        program, method = methods[k]
        colour = (COLOURS if program == 'catena' else PEERS)[method]
        look = f'lw 2 lc rgb "{colour}"' if program == 'catena' else f'lw 1.5 dt 2 lc rgb "{colour}"'
        return f'with linespoints ps {1.2 if method == "default" else 0.6} pt {4 + k % 10} {look}'
    for at, p in enumerate(programs):
        plots = []
        for k, (program, method) in enumerate(methods):
            rows = [(1000 * r['dt'], min(max(r['error'], 1e-12), 1e2)) for r in records
                    if (r['case'], r['program'], r['method']) == (p.name, program, method) and r['error'] is not None]
            if rows:
                blocks[f'd{at}_{k}'] = rows
                plots.append(f'$d{at}_{k} {style(k)}')
        script += [f'set title "{p.name}" noenhanced', 'plot [0.8:60] [5e-13:10] ' + ', '.join(plots)]
    keys = ', '.join(f'1/0 {style(k)} title "{program} {session.label(method)}"' for k, (program, method) in enumerate(methods))
    script += ['unset title; unset xlabel; unset ylabel; unset tics; unset border; unset logscale; unset grid',
               'set key center left noenhanced samplen 2', f'plot [0:1] [0:1] {keys}', 'unset multiplot']
    session.draw(path, '\n'.join(script), blocks, '1700,1300')


def main():
    p = session.parser('spin', __doc__.split('\n')[0])
    session.method_option(p)
    p.add_argument('--catena', metavar='FILE', help='the command; without it, this tree is built')
    p.add_argument('--dt', action='append', type=float, metavar='S', help='only this step; may be repeated')
    p.add_argument('--references', action='store_true', help='compute bench/spin_references.json anew (minutes), measure nothing')
    p.add_argument('--scenes', metavar='DIR', help="only write the cases' scenes and MuJoCo's models there")
    args = p.parse_args()
    unknown = [name for name in args.only if name not in CASES]
    if unknown:
        sys.exit(f'--only: unknown {", ".join(unknown)}; there are {", ".join(CASES)}')
    names = [name for name in CASES if (name in args.only if args.only else not args.quick or name in QUICK)]
    if args.scenes:
        os.makedirs(args.scenes, exist_ok=True)
        for name in names:
            with open(os.path.join(args.scenes, name + '.xml'), 'w') as f:
                f.write(spin_cases.mjcf(CASES[name]()))
            Programs(None, args.scenes, name)
        return
    if args.core is not None and hasattr(os, 'sched_setaffinity'):
        os.sched_setaffinity(0, {args.core})
    try:
        catena, home = os.path.abspath(args.catena or build.command(build.ROOT, 'catena')), os.getcwd()
    except build.Missing as e:
        sys.exit(str(e))
    whole = not (args.quick or args.only or args.method or args.dt)
    facts = {'device': '{}, {} cores, {}'.format(build.cpu()[0], os.cpu_count(), ' '.join(build.cpu()[1])), 'catena': build.commit(build.ROOT),
             'mujoco': mujoco.__version__, 'date': datetime.date.today().isoformat()}
    mujoco.set_mju_user_warning(lambda words: None)  # where it is unstable, the table says so
    partly = os.path.join(build.BUILD, 'results')
    out = os.path.abspath(args.out or (os.path.join(build.HERE, 'results', machine(facts)) if whole else partly))
    pictures = os.path.abspath(args.out or (os.path.join(build.ROOT, 'docs', 'figures') if whole else partly))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # MuJoCo writes a log where it stands
        programs = [Programs(catena, folder, name) for name in names]
        if args.references:
            make_references(programs)
            return
        references, records = read_references(), []
        methods = [('catena', m) for m in args.method or OURS] + [('mujoco', m) for m in THEIRS]
        for p in programs:
            records += measure(p, np.array(references[p.name]['right']), methods, args.dt or (STEPS if not args.quick else SHOWN[1:]))
        os.chdir(home)
    lines = [', '.join(f'{key}: {value}' for key, value in facts.items()), ''] + table(
        programs, references, records, methods, args.dt or (SHOWN if not args.quick else SHOWN[1:]))
    print('\n'.join(lines))
    for folder in (out, pictures):
        os.makedirs(folder, exist_ok=True)
    with open(os.path.join(out, 'spin.md'), 'w') as f:
        f.write('\n'.join(lines) + '\n')
    with open(os.path.join(out, 'spin.json'), 'w') as f:
        f.write(json.dumps({'facts': facts})[:-1] + ', "runs": [\n' + ',\n'.join(json.dumps(shortened(r)) for r in records) + '\n]}\n')
    picture(os.path.join(pictures, 'spin.png'), programs, records, methods)
    print(f'\nfigures in {os.path.relpath(out)}, picture in {os.path.relpath(pictures)}')


if __name__ == '__main__':
    main()
