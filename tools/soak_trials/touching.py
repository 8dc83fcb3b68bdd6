"""heaps of random shapes, ragdolls and nets that touch, at steps of 4 to 100 ms: nothing freezes, no energy comes from nowhere, nothing falls through"""
import json, math, os

from soak_trials import random_scenes

IN_A_ROUND = 3
STEPS = (1 / 240, 1 / 120, 1 / 60, 1 / 30, 0.1)
MADE = ('two-ragdolls', 'net', 'stack-of-ten', 'dominoes', 'card-house')
SHARE = 1e-6  # of the energy at the start above the ground: rounding, and what solves leave
DEEP = 0.5    # of what is smallest: the middle of a body stays that far above the ground


def shape(rng):
    """a shape, how large it is, and its smallest half"""
    kind = rng.choice(('sphere', 'capsule', 'box', 'box', 'cylinder', 'ellipsoid'))
    a, b, c = (rng.uniform(0.05, 0.2) for _ in range(3))
    if kind == 'sphere':
        return {'type': kind, 'radius': a}, a, a
    if kind in ('capsule', 'cylinder'):
        return {'type': kind, 'radius': a, 'from': [0, 0, -b], 'to': [0, 0, b]}, a + b, min(a, b)
    if kind == 'box':
        return {'type': kind, 'size': [2 * a, 2 * b, 2 * c]}, math.hypot(a, b, c), min(a, b, c)
    return {'type': kind, 'radii': [a, b, c]}, max(a, b, c), min(a, b, c)


def heap(rng):
    """bodies above each other, turned at random, apart; and the smallest half of one"""
    links, q, v, top, least = [], [], [], 0.1, 1.0
    for k in range(rng.randint(2, 9)):
        one, size, half = shape(rng)
        links.append({'name': f'b{k}', 'joint': {'type': 'free'}, 'mass': 10 ** rng.uniform(-1, 1), 'shapes': [one]})
        q += [rng.uniform(-0.15, 0.15), rng.uniform(-0.15, 0.15), top + size, *random_scenes.quaternion(rng)]
        v += [rng.uniform(-1, 1), rng.uniform(-1, 1), rng.uniform(-2, 1), *(rng.uniform(-3, 3) for _ in range(3))]
        top += 2 * size + rng.uniform(0.01, 0.1)
        least = min(least, half)
    return {'catena': 1, 'ground': True, 'contact': {'between': 'all', 'friction': rng.choice((0, 0.2, 0.5, 1))},
            'integrator': {'method': 'collocation', 'order': 2}, 'links': links, 'state': {'q': q, 'v': v}}, least


def trial(t):
    rng = t.random
    made, dt = rng.choice((None, None, None) + MADE), rng.choice(STEPS)
    scene, least = heap(rng) if not made else (None, 0)
    path = 's.yaml' if not made else os.path.join(t.bench.root, 'scenes', made + '.yaml')
    if scene:
        t.write('s.yaml', random_scenes.text(scene))
    words = ['--dt', f'{dt:.9g}', '--steps', str(min(400, round(6 / dt))), '--json']
    if rng.random() < 0.2:
        words += ['--method', rng.choice(('radau', 'alpha'))]
    r = t.catena('run', path, *words, limit=120)
    said = t.shown(r.argv)
    t.note(made or 'heap')
    t.expect(r.status != 2, f'refused: {r.last()}')
    summary = json.loads(r.out)
    t.expect(not summary['frozen'], f'froze at {summary["final"]["time"]:g} s: {summary["frozen"][:1]}: {said}')
    energy = summary['energy']
    rise = energy['max'] - energy['initial']
    t.expect(rise <= SHARE * abs(energy['initial']), f'{rise:.3g} J more than {energy["initial"]:.6g} J at the start: {said}')
    if scene:
        heights = summary['final']['q'][2::7]
        t.expect(min(heights) > DEEP * least, f'a body fell through the ground, to {min(heights):.3g} m: {said}')
