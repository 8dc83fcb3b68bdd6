"""heaps of random shapes, ragdolls and nets that touch, at steps of 4 to 100 ms: nothing freezes, no energy comes from nowhere, nothing falls through

Counted: steps, and those that gain more than a billionth to a thousandth of the energy at the start, those with
cylinders and ellipsoids apart."""
import csv, json, math, os

from soak_trials import random_scenes

IN_A_ROUND = 3
STEPS = (1 / 240, 1 / 120, 1 / 60, 1 / 30, 0.1)
MADE = ('two-ragdolls', 'net', 'stack-of-ten', 'dominoes', 'card-house')
SHARE = 1e-6          # of the energy at the start above the ground, by which the energy may be above that: rounding, and what solves leave
GAIN = 0.02           # likewise, by which one step may gain: docs/performance.md says what gains
SEEN = (1e-9, 1e-6, 1e-5, 1e-4, 1e-3)  # gains that are counted
DEEP = 0.5            # of what is smallest: the middle of a body stays that far above the ground


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
    return {**things(rng), 'links': links, 'state': {'q': q, 'v': v}}, least


def things(rng):
    return {'catena': 1, 'ground': True, 'contact': {'between': 'all', 'friction': rng.choice((0, 0.2, 0.5, 1))},
            'integrator': {'method': 'collocation', 'order': 2}}


def ragdolls(rng, root):
    """one to four, each turned, above the one before"""
    file, scene = os.path.join(root, 'scenes', 'ragdoll.yaml'), things(rng)
    scene['include'] = [{'file': file, 'as': f'r{k}', 'position': [rng.uniform(-0.4, 0.4), rng.uniform(-0.4, 0.4), 2.2 * k + rng.uniform(0, 1)],
                         'euler': [rng.uniform(-0.4, 0.4), rng.uniform(-0.4, 0.4), rng.uniform(-3, 3)]} for k in range(rng.randint(1, 4))]
    return scene


def net(rng):
    """ropes of ball joints beside each other, with ties between their knots, over a ball or a box"""
    scene, links, loops = things(rng), [], []
    ropes, knots, cell, radius = rng.randint(2, 6), rng.randint(2, 5), rng.uniform(0.06, 0.15), rng.uniform(0.005, 0.02)
    one = {'type': 'capsule', 'from': [0, 0, 0], 'to': [cell, 0, 0], 'radius': radius}
    wide = rng.uniform(0.05, 0.2)
    below = {'type': 'sphere', 'radius': wide} if rng.random() < 0.5 else {'type': 'box', 'size': [2 * wide, 2 * wide, 2 * wide]}
    links.append({'name': 'below', 'position': [0, 0, wide + rng.uniform(0, 0.3)], 'joint': 'fixed', 'shapes': [below]})
    top, damping = 2.2 * wide + 0.35 + radius, rng.choice((0, 1e-4, 1e-3))
    for r in range(ropes):
        for k in range(knots):
            name = f'k{r}.{k}'
            place = [cell, 0, 0] if k else [-cell * knots / 2, (r - ropes / 2) * cell, top]
            link = {'name': name, 'position': place, 'joint': {'type': 'free'} if k == 0 else {'type': 'ball', 'damping': damping},
                    'density': 900, 'shapes': [one]}
            links.append(link if k == 0 else {**link, 'parent': f'k{r}.{k - 1}'})
            if r:
                loops.append({'type': 'distance', 'a': name, 'b': f'k{r - 1}.{k}', 'at_a': [0, 0, 0], 'at_b': [0, 0, 0]})
    speed = [rng.uniform(-1, 1) for _ in range(3)]
    v = (speed + [0, 0, 0] + [0] * (3 * (knots - 1))) * ropes
    return {**scene, 'links': links, 'loops': loops, 'state': {'v': v}}


def gains(path):
    """J, what each step gains"""
    with open(path, newline='') as f:
        rows = csv.DictReader(line for line in f if not line.startswith('#'))
        energy = [float(row['energy.energy']) for row in rows]
    return [b - a for a, b in zip(energy, energy[1:])]


def trial(t):
    rng = t.random
    made, dt = rng.choice(('heap', 'heap', 'heap', 'ragdolls', 'ragdolls', 'a net', 'a net') + MADE), rng.choice(STEPS)
    path, least, scene = 's.yaml', 0, None
    if made == 'heap':
        scene, least = heap(rng)
    elif made == 'ragdolls':
        scene = ragdolls(rng, t.bench.root)
    elif made == 'a net':
        scene = net(rng)
    else:
        path = os.path.join(t.bench.root, 'scenes', made + '.yaml')
    if scene:
        t.write('s.yaml', random_scenes.text(scene))
    steps = min(400, round(6 / dt))
    words = ['--dt', f'{dt:.9g}', '--steps', str(steps), '--json', '--out', 'out.csv']
    if rng.random() < 0.2:
        words += ['--method', rng.choice(('radau', 'alpha'))]
    r = t.catena('run', path, *words, limit=240)
    said = t.shown(r.argv)
    t.note(made)
    t.expect(r.status != 2, f'refused: {r.last()}')
    summary = json.loads(r.out)
    t.expect(not summary['frozen'], f'froze at {summary["final"]["time"]:g} s: {summary["frozen"][:1]}: {said}')
    energy, gained = abs(summary['energy']['initial']), gains(t.path('out.csv'))
    t.expect(len(gained) == steps and all(map(math.isfinite, gained + summary['final']['q'] + summary['final']['v'])),
             f'{len(gained)} steps of {steps}, or not a number: {said}')
    of = 'rounds' if scene and any(one['shapes'][0]['type'] in ('cylinder', 'ellipsoid') for one in scene.get('links', ())) else 'steps'
    t.note(of, steps)
    for share in SEEN:
        t.note(f'{of} above {share:g}', sum(x > share * energy for x in gained))
    most, above = max(gained), summary['energy']['max'] - summary['energy']['initial']
    t.expect(above <= SHARE * energy, f'{above:.3g} J more than {energy:.6g} J at the start: {said}')
    t.expect(most <= GAIN * energy, f'step {gained.index(most) + 1} gains {most:.3g} J, of {energy:.6g} J at the start: {said}')
    if made == 'heap':
        heights = summary['final']['q'][2::7]
        t.expect(min(heights) > DEEP * least, f'a body fell through the ground, to {min(heights):.3g} m: {said}')
