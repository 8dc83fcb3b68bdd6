#!/usr/bin/env python3
"""Error against cost: every method of catena beside MuJoCo's, on the same motions from the same numbers; called by bench/work_precision.

The error is how far the tip of a chain (elsewhere the origin of any link) ends from the reference; the cost is time (wall clock) a simulated second
and world. Steps become smaller by a factor of 1.5 from run to run until the smallest error asked for is met, or a run takes too long.
"""
import json
import math
import os
from dataclasses import dataclass

import numpy as np

import motions
import referee
import session
import states

LEVELS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)  # m
MUJOCO = ('euler', 'implicitfast', 'rk4')
AUTO = ('dop853,dt=auto', 'alpha,dt=auto', 'radau,stages=2,dt=auto', 'radau,stages=3,dt=auto')  # swept over their tolerance
LARGE = ('collocation,order=2', 'alpha,rho=0', 'alpha,rho=0.1', 'alpha', 'radau,stages=2', 'radau,stages=3')  # --dt compares these
PEERS = {'euler': '#b0b0b0', 'implicitfast': '#707070', 'rk4': 'black', 'DOP853': '#e7298a'}  # colours
REFERENCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'references.json')


@dataclass
class Case:
    model: object
    duration: float  # s
    goal: float      # times MuJoCo's best: one world
    batch: float     # a world in a batch of 64; None: no goal


# 100 links are so sensitive that rounding alone moves the tip by centimetres after 1 s; after 0.6 s by less than 1e-8 m
CASES = {'swing10': Case(lambda: motions.swing(10), 1.0, 2.5, 10), 'swing20': Case(lambda: motions.swing(20), 1.0, 2.5, 10),
         'swing100': Case(lambda: motions.swing(100), 0.6, 10, 10), 'flying-tree5': Case(motions.flying_tree, 1.0, None, None),
         'iiwa-falling': Case(motions.falling_arm, 1.0, None, None), 'iiwa-stiff': Case(motions.stiff_arm, 0.5, 10, None),
         'rope200': Case(lambda: motions.rope(200), 1.0, 10, None)}
QUICK = ('swing10', 'flying-tree5', 'iiwa-stiff')


@dataclass
class Point:
    program: str
    method: str
    worlds: int
    dt: float         # s; of a sweep over tolerances: the interval, and the tolerance
    tolerance: float
    error: float      # m
    cost: float       # s a simulated second and world; the referee's: its accelerations by catena's ABA alone


def finish(s, program, name, method, worlds, dt, steps, seconds):
    """points [links + 1][3] at the end, and s of the run; (None, None) if it is refused"""
    path = os.path.join(s.folder, 'end')
    tip = s.models[name]['tip'] or (0.0, 0.0, 0.0)
    reply = s.ask(program, 'finish', name, method, worlds, dt, steps, seconds, *map(float, tip), path)
    if not reply:
        return None, None
    points = np.fromfile(path).reshape(-1, 3)
    return (points * np.nan if reply['frozen'] else points), reply['cpu']


def measured(s, name, points):
    """the tip of a chain; the origins of all links of anything else"""
    return points[-1:] if s.models[name]['tip'] else points[:-1]


def distance(a, b):
    """largest distance of corresponding points, infinite where there are none"""
    d = float(np.max(np.linalg.norm(a - b, axis=1)))
    return d if math.isfinite(d) else math.inf


# The references

def make_reference(s, name, case, limit):
    """catena at steps so small that halving them changes nothing that is asked for, then MuJoCo's RK4 against it"""
    method = 'dop853' if s.takes('catena', name, 'dop853') else 'rk4'
    end, change, steps = None, math.inf, 500
    while True:
        points, cpu = finish(s, 'catena', name, method, 1, case.duration / steps, steps, 0.0)
        points = measured(s, name, points)
        before, change = change, distance(points, end) if end is not None else math.inf
        end = points
        if (change < 1e-11) or (change < 1e-8 and change > before / 4) or cpu > limit:  # rounding stops it falling
            break
        steps *= 2
    found = {'duration': case.duration, 'catena': {'method': method, 'dt': case.duration / steps, 'change': change}}
    n, best = 1000, math.inf
    while 'mujoco' in s.workers and case.duration / n >= 0.99e-5:
        other, cpu = finish(s, 'mujoco', name, 'rk4', 1, case.duration / n, n, 0.0)
        apart = distance(measured(s, name, other), end)
        if apart < best:
            best, found['mujoco'] = apart, {'method': 'rk4', 'dt': case.duration / n, 'distance': apart}
        if apart < 1e-9 or cpu > limit:
            break
        n *= 10 ** 0.5 if n * 10 ** 0.5 > 99000 else 2
        n = round(n)
    print(f'{name}: {found}', flush=True)
    return found | {'points': [[float(f'{x:.12g}') for x in p] for p in end]}


def make_references(s, names, limit):
    known = {}
    if os.path.exists(REFERENCES):
        with open(REFERENCES) as f:
            known = json.load(f)
    for name in names:
        s.load(CASES[name].model())
        known[name] = make_reference(s, name, CASES[name], limit)
        with open(REFERENCES, 'w') as f:
            f.write('{\n' + ',\n'.join(f'{json.dumps(key)}: {json.dumps(value)}' for key, value in known.items()) + '\n}\n')


# The sweeps

def adaptive(method):
    return 'dt=auto' in method


def settings(method, duration):
    """(method, dt, steps, tolerance) from coarse to fine"""
    if adaptive(method):
        for k in range(2, 27):
            tolerance = 10 ** (-k / 2)
            yield f'{method},tolerance={tolerance:.3g}', duration, 1, tolerance
        return
    steps = math.ceil(duration / 0.2)
    while steps < 10 ** 8:
        yield method, duration / steps, steps, None
        steps = math.ceil(1.5 * steps)


def sweep(s, name, case, end, program, method, worlds, args):
    """points of one method, from coarse to fine"""
    points, fine = [], 0
    limit = args.limit * (4 if program == 'mujoco' else 2 if worlds > 1 else 1)
    for spec, dt, steps, tolerance in settings(method, case.duration):
        result, cpu = finish(s, program, name, spec, worlds, dt, steps, args.seconds)
        if result is None:
            break
        error = distance(measured(s, name, result), end)
        points.append(Point(program, method, worlds, dt, tolerance, error, cpu / worlds / case.duration))
        fine = fine + 1 if error < LEVELS[-1] / 2 else 0
        if fine == 2 or 1.5 * cpu > limit:
            break
    return points


def again(s, name, case, points, args):
    """measures the cost of points that can count once more, and keeps the least"""
    for p in points:
        run = p.cost * p.worlds * case.duration
        if p.program == 'scipy' or p.error > LEVELS[0] * 3 or run > 2:  # a run of seconds has its noise averaged
            continue
        spec = p.method if p.tolerance is None else f'{p.method},tolerance={p.tolerance:.3g}'
        _, cpu = finish(s, p.program, name, spec, p.worlds, p.dt, round(case.duration / p.dt), args.seconds)
        p.cost = min(p.cost, cpu / p.worlds / case.duration)


def judge(s, name, case, end):
    """points of scipy's DOP853"""
    q, v, _, _ = states.load(os.path.join(s.folder, name + '.states'))
    tip = s.models[name]['tip'] or (0.0, 0.0, 0.0)
    one = s.ask('catena', 'dynamics', name, 'aba', 1, 0.05)
    points = []
    try:
        field = referee.Accelerations(os.path.join(s.folder, name + '.yaml'), s.models[name]['joints'])
        for k in range(3, 12, 2 if s.args.quick else 1):
            result, count = referee.dop853(field, q[0], v[0], case.duration, 10.0 ** -k, tip)
            points.append(Point('scipy', 'DOP853', 1, case.duration, 10.0 ** -k, distance(measured(s, name, result), end),
                                count * one['min'] * 1e-9 / case.duration))
        field.close()
    except ImportError as e:
        s.note(f'the referee is left out: {e}')
    return points


# What they say

def cheapest(points, level):
    """least cost at an error, between the runs on both sides of it; a run counts if all finer ones meet the error too; or None"""
    first = len(points)
    while first and points[first - 1].error <= level:
        first -= 1
    if first == len(points):
        return None
    p = points[first]
    if first and points[first - 1].error < 100 * level and p.error > 0 and points[first - 1].cost < p.cost:
        coarse = points[first - 1]
        share = math.log(level / p.error) / math.log(coarse.error / p.error)
        return p.cost * (coarse.cost / p.cost) ** share
    return p.cost


def best(curves, level, program, worlds):
    """(cost, method) of the cheapest method of a program; (None, '-') if none gets there"""
    found = [(cost, method) for (p, method, w), points in curves.items() if p == program and w == worlds
             for cost in [cheapest(points, level)] if cost is not None]
    return min(found) if found else (None, '-')


def goal(value, least):
    if value is None or least is None:
        return value
    return f'{value:.3g} (>= {least:g}) ' + ('ok' if value >= least else 'MISSED')


def report(table, name, case, curves):
    micro = lambda cost: None if cost is None else f'{1e6 * cost:.3g}'
    ratio = lambda ours, peer: peer / ours if ours and peer else None
    for level in LEVELS:
        one, many, peer = (best(curves, level, *who) for who in (('catena', 1), ('catena', motions.WORLDS), ('mujoco', 1)))
        x, y = ratio(one[0], peer[0]), ratio(many[0], peer[0])
        table.row((name, f'{level:.0e}', session.label(one[1]), micro(one[0]), session.label(many[1]), micro(many[0]), peer[1], micro(peer[0]),
                   goal(x, case.goal), goal(y, case.batch)),
                  {'case': name, 'error': level, 'catena': one[1], 'catena_cost': one[0], 'catena_64': many[1], 'catena_64_cost': many[0],
                   'mujoco': peer[1], 'mujoco_cost': peer[0], 'ratio': x, 'ratio_64': y, 'goal': case.goal, 'goal_64': case.batch})


def picture(s, every):
    """a panel a case: error over cost, one world"""
    methods = list(dict.fromkeys(key[:2] for curves in every.values() for key in curves if key[2] == 1))
    blocks, script = {}, [f'set multiplot layout {math.ceil((len(every) + 1) / 3)},{min(3, len(every) + 1)}',
                          'set logscale xy; set grid; set format "10^{%L}"; set termoption enhanced', 'unset key',
                          'set xlabel "s a simulated second"; set ylabel "error (m)"']

    def style(k):
        program, method = methods[k]
        colour = (session.COLOURS if program == 'catena' else PEERS).get(method, 'gold')
        look = f'lw 2 lc rgb "{colour}"' if program == 'catena' else f'lw 1.5 dt 2 lc rgb "{colour}"'
        return f'with linespoints ps 0.5 pt {4 + k % 10} {look}'

    for at, (name, curves) in enumerate(every.items()):
        plots = []
        for k, (program, method) in enumerate(methods):
            rows = [(p.cost, p.error) for p in curves.get((program, method, 1), ()) if 0 < p.error < 10]
            if rows:
                blocks[f'd{at}_{k}'] = rows
                plots.append(f'$d{at}_{k} {style(k)}')
        script += [f'set title "{name}" noenhanced', 'plot [*:*] [1e-7:10] ' + ', '.join(plots)]
    keys = ', '.join(f'1/0 {style(k)} title "{program} {session.label(method)}"' for k, (program, method) in enumerate(methods))
    script += ['unset title; unset xlabel; unset ylabel; unset tics; unset border; unset logscale; unset grid',
               'set key center left noenhanced samplen 2', f'plot [0:1] [0:1] {keys}', 'unset multiplot']
    session.draw(os.path.join(s.pictures, 'work-precision.png'), '\n'.join(script), blocks)


# One step size

def equal_steps(s, names, references):
    """errors of large steps of one size, and what they take of the solver; nothing is timed"""
    methods = s.args.method or LARGE
    table = s.table('work_precision_steps', 'Error (m) and iterations a step', ('motion', 'dt (ms)', *map(session.label, methods)))
    for name in names:
        case, end = CASES[name], np.array(references[name]['points'])
        s.load(case.model())
        for dt in s.args.dt:
            steps, cells, found = math.ceil(case.duration / dt - 1e-9), [], []
            for method in methods:
                if not s.takes('catena', name, method):
                    cells.append('-')
                    continue
                points, _ = finish(s, 'catena', name, method, 1, case.duration / steps, steps, 0.0)
                record = {'case': name, 'dt': case.duration / steps, 'method': method, 'error': distance(measured(s, name, points), end)}
                record |= s.ask('catena', 'work', name, method, 1, record['dt'], steps)
                cells.append(f'{record["error"]:.2g}, {record["iterations"]:.1f}')
                found.append(record)
            table.row((name, f'{1000 * case.duration / steps:.3g}', *cells), *found)
        s.keep()


def main():
    p = session.parser('work_precision', __doc__.split('\n')[0])
    p.add_argument('--references', action='store_true', help='compute bench/references.json anew (an hour), measure nothing')
    session.method_option(p)
    p.add_argument('--dt', action='append', type=float, metavar='S', help='only errors at this step, of methods for large steps; may be repeated')
    p.add_argument('--rounds', type=int, help='how often every cost is measured, default 3 (quick: 1)')
    p.add_argument('--seconds', type=float, help='repeat a run for so long, default 0.05 (quick: 0)')
    p.add_argument('--limit', type=float, help='s that one run may take, default 10 (quick: 0.2; references: 600); '
                   'a batch twice, MuJoCo four times as long')
    args = p.parse_args()
    s = session.Session(args, peers=() if args.dt else ('mujoco',))
    names = [name for name in s.wanted(CASES) if args.only or not args.quick or name in QUICK]
    if args.references:
        make_references(s, names, args.limit or 600)
        return
    args.rounds = args.rounds or (1 if args.quick else 3)
    args.seconds = 0.0 if args.seconds is None and args.quick else 0.05 if args.seconds is None else args.seconds
    args.limit = args.limit or (0.2 if args.quick else 10)
    with open(REFERENCES) as f:
        references = json.load(f)
    if args.dt:
        equal_steps(s, names, references)
        s.save()
        return
    table = s.table('work_precision', 'Cheapest run that ends within an error, us a simulated second and world; x: MuJoCo / catena', (
        'motion', 'error (m)', 'catena', 'us', f'in {motions.WORLDS} worlds', 'us', 'mujoco', 'us', 'x', f'x in {motions.WORLDS} worlds'))
    every, records = {}, []
    for name in names:
        case, end = CASES[name], np.array(references[name]['points'])
        s.load(case.model())
        who = [('catena', m, w) for m in args.method or (*session.METHODS, *AUTO) for w in (1, motions.WORLDS)] + [('mujoco', m, 1) for m in MUJOCO]
        curves = {key: sweep(s, name, case, end, *key, args) for key in who
                  if s.takes(key[0], name, f'{key[1]},tolerance=0.001' if adaptive(key[1]) else key[1])}
        for _ in range(args.rounds - 1):
            for points in curves.values():
                again(s, name, case, points, args)
        curves['scipy', 'DOP853', 1] = judge(s, name, case, end)
        report(table, name, case, curves)
        every[name] = curves
        records += [{'case': name} | vars(point) for points in curves.values() for point in points]
        session.write_csv(os.path.join(s.out, 'work_precision_runs.csv'), records, s.facts)
        s.keep()
    picture(s, every)
    s.save()


if __name__ == '__main__':
    main()
