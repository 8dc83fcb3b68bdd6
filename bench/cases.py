"""The cases of the benchmark, by family: what is asked of which program, and what catena has to reach.

Ratios are peer over catena, of the least times of all rounds: above 1 catena is faster. The goals are those of AVX2.
"""
import math
import os

import numpy as np

import states

# agreement of the programs on the same states, relative to the largest entry of the result; found: 1e-14, but for ABA the condition
# of the joint-space inertia magnifies rounding, to 4e-9 between MuJoCo and the others for 400 links in a chain
TOLERANCE = {'aba': 1e-8, 'rnea': 1e-12, 'crba': 1e-12}
CHAINS = ('chain7', 'chain10', 'chain20', 'chain40', 'chain100', 'chain400')
MODELS = CHAINS + ('tree127', 'iiwa14', 'humanoid', 'talos', 'g1', 'go2', 'anymal')

# of a batch: times Pinocchio, times Pinocchio over lanes; of a single state: times Pinocchio
GOALS = {'aba': (8, 2.5, 1.8), 'rnea': (8, 2, 1), 'crba': (6, 2, 1)}


def least(cells, prefix):
    """the fastest of the cells whose label starts with `prefix`"""
    found = [c for label, c in cells.items() if label.startswith(prefix)]
    return min(found, key=lambda c: c.min) if found else None


def ratio(peer, ours):
    return peer.min / ours.min if peer and ours else None


def ns(cell):
    return cell.min if cell else None


# Dynamics

def results(bench, worker, model, algorithm, frames, count):
    """[count][nv] or [count][nv][nv] of the first states of a model, in catena's conventions; None if refused"""
    path = os.path.join(bench.folder, 'result')
    if bench.ask(worker, 'eval', model, algorithm, *frames, count, path) is None:
        return None
    about = bench.models[model]
    out = np.fromfile(path).reshape((count, about['nv'], -1) if algorithm == 'crba' else (count, about['nv']))
    if frames:
        q, v, _, _ = states.load(os.path.join(bench.folder, model + '.states'))
        out = states.from_pinocchio(about['joints'], algorithm, q[:count], v[:count], out)
    return out


def agreement(bench, worker, model, algorithm, *frames):
    """largest difference from catena, relative to the largest entry of a state; None if there is nothing to compare"""
    count = 8 if bench.models[model]['nv'] <= 127 else 4  # a lane block
    ours, theirs = (results(bench, w, model, algorithm, f, count) for w, f in (('catena', ()), (worker, frames)))
    if ours is None or theirs is None:
        return None
    ours, theirs = ours.reshape(count, -1), theirs.reshape(count, -1)
    return float(np.max(np.max(abs(ours - theirs), axis=1) / np.max(abs(theirs), axis=1)))


def dynamics(bench):
    """ABA, RNEA and CRBA of a batch and of a single state"""
    models = [m for m in MODELS if m in bench.models and bench.wants('dynamics', m)]
    if bench.quick and not bench.only:
        models = [m for m in models if m in ('chain7', 'chain40', 'tree127', 'iiwa14', 'humanoid')]
    if not models:
        return
    batches = bench.table('dynamics', 'Dynamics, ns a state: a batch of catena, the fastest build and frames of each peer', (
        ('model', 9), ('nv', 4), ('algorithm', 9), ('batch', 5), ('catena', 8), ('a joint', 7), ('pinocchio', 9), ('simd', 8),
        ('mujoco', 8), ('x pinocchio', 20), ('x simd', 20), ('x mujoco', 8)))
    rows = [(m, a) for m in models for a in GOALS]
    singles = [dynamics_row(bench, batches, m, a) for m, a in rows]
    table = bench.table('single', 'Dynamics, ns a state: a single state a call', (
        ('model', 9), ('nv', 4), ('algorithm', 9), ('catena', 8), ('pinocchio', 9), ('mujoco', 8), ('x pinocchio', 20),
        ('x mujoco', 8)))
    for (model, algorithm), cells in zip(rows, singles):
        if not cells or 'single' not in cells:
            continue
        ours, pin, mj = cells['single'], least(cells, 'pinocchio'), cells.get('mujoco')
        name = f'single {algorithm} of {model}'
        table.row((model, bench.models[model]['nv'], algorithm, ns(ours), ns(pin), ns(mj),
                   bench.goal(name + ' / pinocchio', ratio(pin, ours), GOALS[algorithm][2]),
                   bench.goal(name, ratio(mj, ours), None)),
                  {'model': model, 'nv': bench.models[model]['nv'], 'algorithm': algorithm}
                  | record(catena=ours, pinocchio=pin, mujoco=mj)
                  | {'ratio_pinocchio': ratio(pin, ours), 'ratio_mujoco': ratio(mj, ours), 'goal_pinocchio': GOALS[algorithm][2]})


def record(**cells):
    """columns of the CSV file: the least and the median ns, the least on the wall, and which build and frames gave the least"""
    out = {}
    for name, c in cells.items():
        out |= {f'{name}_ns': c and c.min, f'{name}_median_ns': c and c.median, f'{name}_wall_ns': c and c.wall_min}
        if c and '/' in c.label:
            out[f'{name}_variant'] = c.label
    return out


def dynamics_row(bench, table, model, algorithm):
    about, name = bench.models[model], f'{algorithm} of {model}'
    nv, joints = about['nv'], len(about['joints'])
    # results of a batch stay within 2 MB, as a peer overwrites those of one state over and over
    size = 8 * nv * (nv if algorithm == 'crba' else 4)
    count = max(8, min(about['states'], 2 ** 21 // size) // 8 * 8)

    requests = {'batch': ('catena', ('dynamics', model, algorithm, count)),
                'single': ('catena', ('dynamics', model, algorithm, 1))}
    errors = []
    for worker in bench.workers:
        if worker == 'catena':
            continue
        both = worker.startswith(('pinocchio', 'simd'))  # frames that it can work in
        for frames in (('local',), ('world',))[:1 if algorithm == 'rnea' else 2] if both else ((),):
            error = agreement(bench, worker, model, algorithm, *frames)
            if error is None:
                continue
            errors.append(error)
            label = '/'.join((worker, *frames))
            if not error <= TOLERANCE[algorithm]:
                bench.note(f'{name}: {label} and catena differ by {error:.1e}: not timed')
                bench.goal(f'{name}, difference of catena from {label}', error, TOLERANCE[algorithm], most=True)
            elif worker != 'before':
                requests[label] = (worker, ('dynamics', model, algorithm, *(frames or '-')))
    cells = bench.measure(name, requests)
    ours, pin, simd, mj = cells.get('batch'), least(cells, 'pinocchio'), least(cells, 'simd'), cells.get('mujoco')
    if ours:
        goal = GOALS[algorithm]
        table.row((model, nv, algorithm, count, ours.min, ours.min / joints, ns(pin), ns(simd), ns(mj),
                   bench.goal(f'batch {name} / pinocchio', ratio(pin, ours), goal[0]),
                   bench.goal(f'batch {name} / simd', ratio(simd, ours), goal[1]), bench.goal(name, ratio(mj, ours), None)),
                  {'model': model, 'joints': joints, 'nv': nv, 'algorithm': algorithm, 'batch': count}
                  | record(catena=ours, pinocchio=pin, simd=simd, mujoco=mj)
                  | {'ratio_pinocchio': ratio(pin, ours), 'ratio_simd': ratio(simd, ours), 'ratio_mujoco': ratio(mj, ours),
                     'goal_pinocchio': goal[0], 'goal_simd': goal[1],
                     'difference': max(errors, default=None)})
    return cells


# One step

def step(bench):
    """a position-based step of a short chain, in a batch and alone"""
    model, dt, steps = 'hinges10', 0.05, 100
    if not bench.wants('step', model):
        return
    table = bench.table('step', f'A chain of 10 hinges from bent poses, us a step and world, mean of {steps} steps', (
        ('program', 8), ('method', 14), ('worlds', 6), ('dt', 6), ('us', 8), ('ns a link', 9), ('goal', 22), ('iterations', 10),
        ('evaluations', 11), ('residual', 8), ('fallbacks', 9)))
    plan = [('catena', 'collocation', 64, dt), ('catena', 'collocation', 1, dt), ('catena', 'semi-implicit', 64, 1e-4),
            ('catena', 'semi-implicit', 1, 1e-4), ('catena', 'rk4', 64, 1e-4), ('mujoco', 'euler', 1, 1e-4),
            ('mujoco', 'rk4', 1, 1e-4)]
    cells = bench.measure(model, {case: (case[0], ('steps', model, *case[1:], steps)) for case in plan})
    for case, cell in cells.items():
        program, method, worlds, h = case
        work = bench.ask('catena', 'work', model, method, worlds, h, steps) if method == 'collocation' else {}
        us = cell.min / 1000
        goal = bench.goal('collocation step of 10 hinges, us', us, 1.15, most=True) if case == plan[0] else '-'
        table.row((program, method, worlds, h, us, cell.min / 10, goal, work.get('iterations'), work.get('evaluations'),
                   work.get('residual'), work.get('fallbacks')),
                  {'program': program, 'method': method, 'worlds': worlds, 'dt': h, 'step_us': us,
                   'step_median_us': cell.median / 1000} | work)


# Ten seconds of a falling chain

def tip_errors(path):
    """distance of the tip from where it is at 0.5 s and at 1 s"""
    # MuJoCo's RK4 at 1e-5 s; RK4 on Pinocchio's accelerations agrees within 5e-10 m
    exact = ((-0.335714438009, 1.243463523087, -1.228616812127), (0.490961740456, -1.681668144256, -0.951413421307))
    return [math.dist([path[f'{x}{k}'] for x in 'xyz'], exact[k]) for k in (0, 1)]


def largest_step(bench, program, method, tip, duration, limit, good):
    """The largest step of a ladder (10 % apart, then 2 %) whose path is `good`; smaller ones may fail again. None: none in it.

    Steps divide half a second. A failed path ends soon, so that going down from large steps is cheap.
    """
    def path(n):
        got = bench.ask(program, 'path', 'swing10', method, 0.5 / n, duration, limit, *tip)
        return got if got and good(got) else None

    n, before = 10, 9
    while n <= 50000:
        if path(n):
            for k in range(1, 5):
                between = round(before * (n / before) ** (k / 5))
                if before < between < n and path(between):
                    return between
            return n
        before, n = n, max(n + 1, round(n * (1.4 if bench.quick else 1.1)))
    return None


def swing(bench):
    """10 s of 10 rods that fall from a horizontal arc"""
    model, duration = 'swing10', 10.0
    if not bench.wants('swing', model):
        return
    tip = bench.models[model]['tip']
    ours = bench.ask('catena', 'path', model, 'collocation', 0.05, duration, 1.0, *tip)
    if not ours:
        return
    errors = tip_errors(ours)
    criteria = (('energy', 'stays finite, energy never above +100 % of its range', duration, 1.0, lambda p: p['survived']),
                ('finite', 'stays finite', duration, 1e300, lambda p: p['survived']),
                ('error', 'tip as near at 0.5 s and at 1 s as collocation at 0.05 s', 1.0, 1e300,
                 lambda p: p['survived'] and all(a <= b for a, b in zip(tip_errors(p), errors))))
    methods = (('catena', 'semi-implicit', 25), ('mujoco', 'euler', 50), ('catena', 'rk4', None), ('mujoco', 'rk4', None))
    table = bench.table('swing', '10 rods released from rest in a horizontal arc; one world. Largest steps that ...', (
        ('program', 8), ('method', 14), ('criterion', 9), ('dt', 9), ('us a step', 9), ('ms for 10 s', 11), ('x collocation', 20),
        ('energy least', 12), ('most', 9), ('end', 9), ('tip off at 0.5 s', 16), ('at 1 s', 9)))
    for name, words, *_ in criteria:
        print(f'  {name}: {words}')

    found = {}
    for name, _, seconds, limit, good in criteria:
        for program, method, goal in methods:
            n = largest_step(bench, program, method, tip, seconds, limit, good) if program in bench.workers else None
            if n:
                found[program, method, name] = n
            elif program in bench.workers:
                bench.note(f'{program} {method}, {name}: no step down to 1e-5 s')
    collocation = ('catena', 'collocation', '-')
    # an explicit step costs the same anywhere: the first ones are enough, and are not beyond the point where a path ends
    requests = {key: (key[0], ('steps', model, key[1], 1, 0.5 / n, min(2 * n, 1000))) for key, n in found.items()}
    cells = bench.measure(model, {collocation: ('catena', ('steps', model, 'collocation', 1, 0.05, 200))} | requests)
    swing_row(bench, table, collocation, 10, cells[collocation], ours)
    for key, n in found.items():
        if key not in cells:
            continue
        goal = next(g for p, m, g in methods if (p, m) == key[:2]) if key[2] == 'energy' else None
        path = bench.ask(key[0], 'path', model, key[1], 0.5 / n, 1.0 if key[2] == 'error' else duration, 1e300, *tip)
        swing_row(bench, table, key, n, cells[key], path, cells[collocation], goal)


def swing_row(bench, table, key, n, cell, path, against=None, goal=None):
    program, method, name = key
    dt, total = 0.5 / n, cell.min * 20 * n / 1e6
    times = total / (against.min * 200 / 1e6) if against else None
    span = path['start'] - path['zero']
    least, most, end = ((path[k] - path['start']) / span for k in ('least', 'most', 'end'))
    shown = bench.goal(f'10 s of swing10, {program} {method} / collocation', times, goal)
    table.row((program, method, name, dt, cell.min / 1000, total, shown, least, most, end, *tip_errors(path)),
              {'program': program, 'method': method, 'criterion': name, 'dt': dt, 'step_us': cell.min / 1000,
               'ms_for_10_s': total, 'ratio': times, 'goal': goal, 'energy_least': least, 'energy_most': most, 'energy_end': end}
              | dict(zip(('tip_error_0.5', 'tip_error_1'), tip_errors(path))))


# Growth with the number of links

def exponent(points):
    """b of the fit y = a x^b"""
    return float(np.polyfit(*np.log(np.array(points).T), 1)[0])


def growth(bench):
    """a collocation step of ropes of 10 to 10000 links"""
    dt, steps = 1 / 60, 60
    ropes = [m for m in bench.models if m.startswith('rope')]
    ropes = [m for m in ropes if bench.wants('growth', m)]
    if bench.quick:
        ropes = ropes[::3]
    if not ropes:
        return
    table = bench.table('growth', f'Ropes of universal joints that swing gently, one world, dt = 1/60 s, mean of {steps} steps', (
        ('rope', 14), ('links', 6), ('us a step', 9), ('ns a link', 9), ('evaluations', 11), ('ns a link and evaluation', 24),
        ('times real time', 15), ('mujoco euler us', 15)))
    sizes = {m: len(bench.models[m]['joints']) for m in ropes}
    requests = {m: ('catena', ('steps', m, 'collocation', 1, dt, steps)) for m in ropes}
    requests |= {f'{m}/mujoco': ('mujoco', ('steps', m, 'euler', 1, 1e-6, 10)) for m in ropes if bench.models[m]['mujoco']}
    cells = bench.measure('ropes', requests)
    time, per_evaluation = [], []
    for m in ropes:
        row, links = growth_row(bench, table, m, m, sizes[m], cells, dt, steps), sizes[m]
        time.append((links, row['step_us']))
        per_evaluation.append((links, row['step_us'] / row['evaluations']))
    if len(ropes) > 2:
        b = exponent(time)
        shown = bench.goal('time a step ~ links^(1 + x), |x|', abs(b - 1), 0.1, most=True)
        print(f'time a step ~ links^{b:.3f}, off 1 by {shown}; time an evaluation ~ links^{exponent(per_evaluation):.3f}')

    # a rope of 1000 links at 1/60 s: gently, turned by 0.2 rad, and released from the horizontal (its first steps, the hardest)
    ropes = (('rope1000', 60, 1), ('swinging1000', 60, 1), ('falling1000', 20, None))
    ropes = [r for r in ropes if not bench.quick or r[0] != 'falling1000']
    table = bench.table('rope', 'A rope of 1000 links, one world, dt = 1/60 s', (
        ('rope', 14), ('links', 6), ('us a step', 9), ('ns a link', 9), ('evaluations', 11), ('ns a link and evaluation', 24),
        ('times real time', 15), ('mujoco euler us', 15)))
    cells = bench.measure('ropes of 1000 links', {m: ('catena', ('steps', m, 'collocation', 1, dt, n)) for m, n, _ in ropes})
    for m, n, goal in ropes:
        growth_row(bench, table, m, m, 1000, cells, dt, n, goal)


def growth_row(bench, table, name, model, links, cells, dt, steps, goal=None):
    work = bench.ask('catena', 'work', model, 'collocation', 1, dt, steps)
    us, mj = cells[name].min / 1000, cells.get(f'{name}/mujoco')
    real_time, each = dt * 1e6 / us, us * 1000 / links
    shown = bench.goal(f'{name}, times real time', real_time, goal)
    row = {'rope': name, 'links': links, 'step_us': us, 'step_median_us': cells[name].median / 1000,
           'evaluations': work['evaluations'], 'iterations_max': work['iterations_max'], 'residual': work['residual'],
           'fallbacks': work['fallbacks'], 'real_time_factor': real_time, 'mujoco_euler_us': mj and mj.min / 1000}
    table.row((name, links, us, each, work['evaluations'], each / work['evaluations'], shown, mj and mj.min / 1000), row)
    return row


# Explicit steps

def explicit(bench):
    """steps of explicit methods, catena's and MuJoCo's; their cost does not depend on the step size"""
    models = [m for m in CHAINS[:-1] + ('tree127', 'humanoid', 'talos', 'g1') if m in bench.models and bench.wants('explicit', m)]
    if bench.quick and not bench.only:
        models = models[:2]
    if not models:
        return
    table = bench.table('explicit', 'Explicit steps, us a step and world; catena: one world, then a batch of 64', (
        ('model', 9), ('nv', 4), ('semi-implicit', 13), ('batch', 8), ('mujoco euler', 12), ('implicitfast', 12), ('x euler', 8),
        ('batch', 8), ('rk4', 8), ('batch', 8), ('mujoco rk4', 10), ('x rk4', 8), ('batch', 8)))
    dt, steps = 1e-4, 50
    for model in models:
        plan = [('catena', m, w) for m in ('semi-implicit', 'rk4') for w in (1, 64)]
        plan += [('mujoco', m, 1) for m in ('euler', 'implicitfast', 'rk4')]
        cells = bench.measure(model, {case: (case[0], ('steps', model, *case[1:], dt, steps)) for case in plan})
        us = [cells[case].min / 1000 if case in cells else None for case in plan]
        one, many, rk4, rk4_many, euler, fast, mj_rk4 = us
        times = [a / b if a and b else None for a, b in ((euler, one), (euler, many), (mj_rk4, rk4), (mj_rk4, rk4_many))]
        table.row((model, bench.models[model]['nv'], one, many, euler, fast, *times[:2], rk4, rk4_many, mj_rk4, *times[2:]),
                  {'model': model, 'nv': bench.models[model]['nv']} | {f'{p}_{m}_{w}_us': x for (p, m, w), x in zip(plan, us)})


FAMILIES = {'dynamics': dynamics, 'step': step, 'swing': swing, 'growth': growth, 'explicit': explicit}
