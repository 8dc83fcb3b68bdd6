"""random forests, springs of 1 to 1e8, masses 1e4 apart, steps of 1 to 200 ms: nothing freezes, no energy comes from nowhere"""
import json

from soak_trials import random_scenes

IN_A_ROUND = 4
ALLOWED = 0.1  # of what the start can turn into motion, as in bench/survives
KINDS = ('revolute', 'revolute', 'revolute', 'universal', 'ball', 'helical', 'prismatic', 'free')
METHODS = ('alpha', 'alpha', 'alpha', 'collocation', 'radau', 'radau')


def scene_of(rng):
    """One to three trees beside each other. What slides or screws is held, or it would fall for ever; free trees do."""
    scene = random_scenes.tree(rng, rng.choice((1, 2, 3, 5, 8, 12, 20, 40)), kinds=KINDS)
    for one in scene['links'][1:]:
        if rng.random() < 0.05:
            one.pop('parent')
    spread = rng.choice((0, 0, 1, 2, 4))
    for one in scene['links']:
        scale = 10 ** rng.uniform(-spread, 0)
        one['mass'] *= scale
        one['inertia'] = [scale * x for x in one['inertia']]
        joint = one['joint']
        kind = joint['type']
        if 'stiffness' in joint or (kind in ('prismatic', 'helical') and 'limits' not in joint):
            joint['stiffness'] = 10 ** rng.uniform(0, 8)
            joint['q0'] = joint.get('rest', [1, 0, 0, 0] if kind == 'ball' else 0)  # or it would hold the energy of a bomb
        if kind == 'ball' and 'limits' in joint:
            joint['q0'] = joint.get('rest', [1, 0, 0, 0])
        if kind in ('revolute', 'prismatic', 'helical') and 'limits' in joint:
            low, high = joint['limits']
            joint['q0'] = joint['rest'] = rng.uniform(low, high)
        if kind == 'universal' and 'limits' in joint:
            joint['q0'] = [rng.uniform(*pair) for pair in joint['limits']]
        if kind == 'universal' and 'stiffness' in joint:
            joint['q0'] = [joint.get('rest', 0)] * 2
            if 'limits' in joint:
                joint['limits'] = [[x - 0.5, x + 0.5] for x in joint['q0']]
    return scene


def trial(t):
    rng = t.random
    scene = scene_of(rng)
    method, dt = rng.choice(METHODS), 10 ** rng.uniform(-3, -0.7)
    extra = {'alpha': ['--rho', f'{rng.choice((0, 0.1, 0.2)):g}'], 'radau': ['--stages', str(rng.randint(1, 3))]}.get(method, [])
    steps = min(round(30 / dt), 2000)
    t.write('s.yaml', random_scenes.text(scene))
    r = t.catena('run', 's.yaml', '--method', method, *extra, '--dt', f'{dt:.3g}', '--steps', str(steps), '--json', limit=120)
    said = t.shown(r.argv)
    t.note(method)
    t.expect(r.status != 2, f'refused: {r.last()}')
    summary = json.loads(r.out)
    t.expect(not summary['frozen'], f'froze at {summary["final"]["time"]:g} s: {summary["frozen"][:1]}: {said}')
    energy = summary['energy']
    fallen = abs(energy['potential']['final'] - energy['potential']['initial'])  # free bodies
    can = max(random_scenes.reach(scene) + energy['kinetic']['initial'] + energy['spring']['initial'], fallen)
    rise = energy['max'] - energy['initial']
    t.expect(rise <= ALLOWED * can, f'{rise:.3g} J more than at the start, of {can:.3g} J that it can move: {said}')
