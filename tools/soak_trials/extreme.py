"""scenes and options with extreme numbers: every run ends within 20 s with finite states; a world that cannot go on is said to be frozen"""
import json, math, re

from soak_trials import random_scenes

IN_A_ROUND = 12
LIMIT = 20  # s
LARGE = (1e150, 1e300, 1e308, 1.7e308, 1e30, 1e12, 1e9, 1e6)
SMALL = (1e-300, 5e-324, 1e-150, 1e-30, 1e-12, 1e-9, 0)
# what only positive numbers may stand for
POSITIVE = {'damping', 'stiffness', 'armature', 'limit_stiffness', 'limit_damping', 'mass', 'inertia', 'dt', 'density', 'radius'}


def extreme(rng, key):
    x = rng.choice(LARGE if rng.random() < 0.7 else SMALL)
    return x if key in POSITIVE or rng.random() < 0.5 else -x


def numbers(node, key=None):
    """(holder, index, key) of all numbers below"""
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for index, value in items:
        name = index if isinstance(node, dict) else key
        if isinstance(value, (dict, list)):
            yield from numbers(value, name)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield node, index, name


def strained(rng):
    """a scene with one to four numbers, or all of one sort, that are extreme"""
    scene = random_scenes.tree(rng, rng.randint(1, 6))
    if rng.random() < 0.15:  # massless joints in a row before a mass
        balls = rng.random() < 0.5
        for one in scene['links'][:-1]:
            one['mass'], one['inertia'] = 0, [0] * 6
            if balls:
                one['joint'] = {'type': 'ball'}
        if rng.random() < 0.5:
            return scene
    if rng.random() < 0.3:
        random_scenes.loads(rng, scene)
    if rng.random() < 0.3:
        scene['gravity'] = [0, 0, extreme(rng, 'gravity')]
    places = list(numbers([scene['links'], scene.get('springs', []), scene.get('forces', [])]))
    if rng.random() < 0.5:
        chosen = rng.sample(places, min(len(places), rng.randint(1, 4)))
    else:
        key = rng.choice(sorted({p[2] for p in places}))
        chosen = [p for p in places if p[2] == key]
    value = extreme(rng, chosen[0][2])
    for holder, index, key in chosen:
        holder[index] = abs(value) if key in POSITIVE else value if rng.random() < 0.5 else extreme(rng, key)
    for one in scene['links']:
        i = one['inertia']  # possible: alike about all axes where one was changed
        if max(i[:3]) > sum(i[:3]) - max(i[:3]):
            one['inertia'] = [max(i[:3])] * 3 + [0, 0, 0]
        limits = one['joint'].get('limits')
        for pair in [] if not isinstance(limits, list) else [limits] if not isinstance(limits[0], list) else limits:
            pair.sort()
    return scene


def options(rng):
    words, (method, extra) = [], rng.choice(random_scenes.METHODS)
    words += ['--method', method]
    for key, value in extra.items():
        words += [f'--{key}', str(value)]
    auto = method in ('dop853', 'radau') and rng.random() < 0.4
    if auto:
        words += ['--dt', 'auto', '--interval', rng.choice(('0.01', '0.1', '1e-6', '1e-300'))]
        if rng.random() < 0.3:
            words += ['--tolerance', rng.choice(('1e-15', '1e-12', '1e-3', '1', '1e300'))]
    else:
        words += ['--dt', rng.choice(('0.01', '0.01', '0.1', '10', '1e300', '1e150', '1e-300', '5e-324', '1e308', '1e-12'))]
    if method in ('collocation', 'radau', 'variational', 'alpha'):
        if not auto and rng.random() < 0.4:
            words += ['--tolerance', rng.choice(('1e-300', '1e-16', '1e-3', '1e300', '5e-324'))]
        if rng.random() < 0.4:
            words += ['--max-iterations', rng.choice(('1', '2', '60', '1000'))]
        if rng.random() < 0.4:
            words += ['--max-halvings', rng.choice(('0', '1', '10', '30'))]
        if method not in ('variational', 'alpha') and rng.random() < 0.4:
            words += ['--solver', rng.choice(('newton', 'lm', 'lbfgs'))]
    words += ['--steps', str(rng.choice((1, 1, 3, 10)))]
    if rng.random() < 0.3:
        words += ['--worlds', str(rng.randint(2, 9)), '--engine', rng.choice(('auto', 'scalar'))]
    return words


def no_constant(text):
    raise ValueError(f'{text} is no JSON')


def trial(t):
    rng = t.random
    t.write('s.yaml', random_scenes.text(strained(rng)))
    if rng.random() < 0.1:  # what looks at the scene without stepping it, or draws it
        words = rng.choice((['check', 's.yaml'], ['info', 's.yaml', '--json'], ['info', 's.yaml', '--all'],
                            ['render', 's.yaml', '--from', '0.01', '--size', '64x48', '--out', 'p.png'],
                            ['rollout', 's.yaml', '--worlds', '9', '--steps', '2', '--hash', '--keep', 'q,v,energy,pose', '--out', 'r.h5', '--quiet']))
        t.catena(*words, limit=LIMIT)
        return
    r = t.catena('run', 's.yaml', '--json', *options(rng), limit=LIMIT)
    if r.status == 2:
        t.note('refused')
        t.expect(re.search(r'error: \S', r.err), 'refused without a reason')
        return
    said = t.shown(r.argv)
    try:
        summary = json.loads(r.out, parse_constant=no_constant)
    except ValueError as wrong:
        t.expect(False, f'--json: {wrong}: {said}')
    worlds = summary.get('each_world', [summary])
    for world in worlds:
        final = world['final']
        t.expect(all(x is not None and math.isfinite(x) for x in final['q'] + final['v']), f'a state that is not finite is left: {said}')
    t.expect(all(f['reason'] for f in summary['frozen']), f'a frozen world without a reason: {said}')
    made = min(world.get('steps', summary['steps']) for world in worlds)
    t.expect(summary['frozen'] or made == summary['steps_asked'] or summary['steps_asked'] is None,
             f'{made} of {summary["steps_asked"]} steps, but nothing is frozen: {said}')
    t.expect((r.status == 1) == bool(summary['frozen']), f'status {r.status} with {len(summary["frozen"])} frozen worlds: {said}')
    t.note('frozen' if summary['frozen'] else 'went on')
