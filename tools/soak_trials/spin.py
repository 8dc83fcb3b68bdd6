"""wheels, fans, balls and tops of up to hundreds of rad/s, driven and free, carried and rolling: speeds are kept, no energy comes from nowhere"""
import json, math

from soak_trials import random_scenes
from soak_trials.bits import engines, way
from soak_trials.large_steps import ALLOWED

IN_A_ROUND = 4
METHODS = [('collocation', ()), ('alpha', ()), ('alpha', ('--rho', '0')), ('radau', ('--stages', '1')), ('radau', ('--stages', '2')),
           ('radau', ('--stages', '3'))]
KEPT = 1e-6  # share of the speed of a wheel that nothing acts on
# share by which a wheel that a torque drives against a damper may be off at the end, by order, where it turns it by a radian in a step
DRIVEN = {1: 0.1, 2: 0.06, 3: 6e-3}


def round_body(rng, along, ball):
    """mass and inertia alike about an axis, or about all of them; within what a body can have"""
    mass, across = rng.uniform(0.2, 2), 10 ** rng.uniform(-3, -1.5)
    about = across if ball else across * rng.uniform(0.3, 1.9)
    inertia = [across] * 3
    inertia[along] = about
    return {'mass': mass, 'inertia': inertia + [0, 0, 0]}


def unit(along, sign=1):
    return [sign * (k == along) for k in range(3)]


def wheel(rng, name, parent, fast):
    along = rng.randrange(3)
    joint = {'type': 'revolute', 'axis': unit(along, rng.choice((1, -1))), 'v0': rng.choice((-1, 1)) * rng.uniform(5, fast)}
    if rng.random() < 0.4:
        joint['damping'] = 10 ** rng.uniform(-5, -2)
    if rng.random() < 0.2:
        joint['armature'] = 10 ** rng.uniform(-4, -2)
    one = {'name': name, 'joint': joint, **round_body(rng, along, False)}
    return one if parent is None else {**one, 'parent': parent, 'position': [rng.uniform(-0.3, 0.3) for _ in range(3)]}


def ball(rng, name, parent, fast):
    joint = {'type': 'ball', 'v0': [rng.uniform(-fast, fast) for _ in range(3)]}
    if rng.random() < 0.4:
        joint['damping'] = 10 ** rng.uniform(-5, -3)
    return {'name': name, 'parent': parent, 'position': [rng.uniform(-0.3, 0.3) for _ in range(3)], 'joint': joint,
            **round_body(rng, 0, True)}


def top(rng, name, fast):
    """alone, free or pinned to the world, far from all that touches"""
    one = {'name': name, 'position': [rng.uniform(-50, 50), 100, 1000], **round_body(rng, 2, rng.random() < 0.3)}
    rates = [rng.uniform(-3, 3), rng.uniform(-3, 3), rng.choice((-1, 1)) * rng.uniform(5, fast)]
    if rng.random() < 0.5:
        return {**one, 'joint': {'type': 'free', 'v0': [0, 0, 0] + rates}}
    return {**one, 'com': [0, 0, rng.choice((0, 0.05))], 'joint': {'type': 'ball', 'v0': rates}}


def roller(rng, name, at, slope):
    """a ball, or a drum on the ball at each end, on the ground at x = at, where it is at z = -slope x; rolling or sliding"""
    r, speed = rng.uniform(0.05, 0.3), rng.uniform(-5, 5)
    shape = {'type': 'sphere', 'radius': r} if rng.random() < 0.5 else {'type': 'capsule', 'from': [0, -r, 0], 'to': [0, r, 0], 'radius': r}
    spin = speed / r * rng.choice((1, 1, 0, -1))
    return {'name': name, 'position': [at, 0, r * math.hypot(slope, 1) - slope * at], 'density': 10 ** rng.uniform(2, 3.5), 'shapes': [shape],
            'joint': {'type': 'free', 'v0': [speed, rng.choice((0, rng.uniform(-1, 1))), 0, 0, spin, 0]}}


def scene_of(rng, fast):
    """a tree of up to four links with wheels and balls on them, tops, what rolls, and two wheels that stand alone, whose speeds are known"""
    scene = random_scenes.tree(rng, rng.randint(1, 4), kinds=('revolute', 'revolute', 'universal', 'ball'), passive=False)
    links, motors = scene['links'], []
    carriers = [one['name'] for one in links]
    for one in links:
        one['position'][2] += 500 * ('parent' not in one)  # far from the ground
    for k in range(rng.randint(1, 3)):
        parent = rng.choice(carriers)
        links.append(ball(rng, f'ball{k}', parent, fast / 2) if rng.random() < 0.3 else wheel(rng, f'wheel{k}', parent, fast))
        if links[-1]['name'].startswith('wheel') and rng.random() < 0.5:
            motor = {'joint': f'wheel{k}', **rng.choice(({'type': 'torque', 'target': rng.uniform(-0.5, 0.5)},
                                                         {'type': 'velocity', 'target': rng.uniform(-fast, fast), 'kd': 10 ** rng.uniform(-4, -1)}))}
            if rng.random() < 0.5:
                motor['effort'] = 10 ** rng.uniform(-2, 0.5)
            motors.append(motor)
    if rng.random() < 0.5:
        links.append(top(rng, 'top', fast))
    if rng.random() < 0.5:
        slope = rng.choice((0, rng.uniform(-0.2, 0.2)))
        links += [roller(rng, f'roller{k}', 3 * k, slope) for k in range(rng.randint(1, 3))]
        scene['ground'] = {'normal': [slope, 0, 1]}
        scene['contact'] = {'friction': rng.choice((0, rng.uniform(0.1, 1.2)))}
    free = wheel(rng, 'free', None, fast)
    free['joint'].pop('damping', None)
    driven = wheel(rng, 'driven', None, fast)
    driven['joint'].pop('armature', None)
    driven['joint'].update({'v0': 0, 'damping': rng.uniform(0.2, 2) * max(driven['inertia'][k] * abs(driven['joint']['axis'][k]) for k in range(3))})
    motors.append({'joint': 'driven', 'type': 'torque', 'target': driven['joint']['damping'] * rng.uniform(5, fast)})
    return {**scene, 'links': links + [free, driven], 'motors': motors}


def trial(t):
    rng = t.random
    fast = rng.choice((30, 300, 800))
    scene = scene_of(rng, fast)
    method, words = rng.choice(METHODS)
    order = {'collocation': 1, 'alpha': 2, 'radau': {'1': 1}.get(words[-1] if words else '', 3)}[method]
    dt, duration = rng.choice((0.002, 0.005, 0.01, 0.02, 0.05)), 5
    t.write('s.yaml', random_scenes.text(scene))
    names = engines(t)
    r = t.catena('run', 's.yaml', '--duration', str(duration), '--method', method, *words, '--dt', f'{dt:g}', '--json', *way(rng, names), limit=60)
    said = t.shown(r.argv)
    t.note(f'{method} {words[-1]}' if words else method)
    t.expect(r.status != 2, f'refused: {r.last()}')
    summary = json.loads(r.out)
    t.expect(not summary['frozen'], f'froze at {summary["final"]["time"]:g} s: {summary["frozen"][:1]}: {said}')
    free, driven = scene['links'][-2:]
    kept, ends = summary['final']['v'][-2:]
    t.expect(abs(kept / free['joint']['v0'] - 1) < KEPT, f'a free wheel of {free["joint"]["v0"]:g} rad/s has {kept:.12g} in the end: {said}')
    inertia = max(driven['inertia'][k] * abs(driven['joint']['axis'][k]) for k in range(3))
    damping, torque = driven['joint']['damping'], scene['motors'][-1]['target']
    right = torque / damping * (1 - math.exp(-damping / inertia * summary['final']['time']))
    allowed = DRIVEN[order] * max(0.1, min(1, dt * dt * torque / inertia))
    t.expect(abs(ends / right - 1) < allowed, f'a driven wheel has {ends:g} rad/s in the end, not {right:g}: {said}')
    energy = summary['energy']
    swings = sum(9.81 * one['mass'] * 4 for one in scene['links'] if 'mass' in one)  # arms are a metre or two long
    can = swings + energy['kinetic']['initial'] + energy['kinetic']['final'] + abs(energy['work']) + energy['dissipated']
    t.expect(energy['created'] <= ALLOWED * can, f'{energy["created"]:.3g} J from nowhere, of {can:.3g} J that it can move: {said}')
    again = json.loads(t.catena('run', 's.yaml', '--duration', str(duration), '--method', method, *words, '--dt', f'{dt:g}', '--json',
                                *way(rng, names), limit=60).out)
    t.expect(again['final'] == summary['final'], f'ends differently by another engine or schedule: {said}')
