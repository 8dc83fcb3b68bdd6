"""random chains and trees by the default method, collocation, radau and alpha at large steps: nothing freezes, no energy comes from nowhere"""
import json

from soak_trials import random_scenes

IN_A_ROUND = 4
ALLOWED = 0.1  # of what the start can turn into motion, as in bench/survives
KINDS = ('revolute', 'revolute', 'universal', 'ball', 'helical', 'prismatic', 'planar', 'free')


def scene_of(rng, stops):
    """`stops`: a slider hangs on a spring or ends at a limit; without, it falls for ever"""
    scene = random_scenes.tree(rng, rng.randint(1, 12), kinds=KINDS)
    for one in scene['links']:
        joint = one['joint']
        if rng.random() < 0.2 and joint['type'] == 'revolute':
            joint['limits'] = [-1, 1]
        if joint['type'] == 'ball' and 'limits' in joint:  # from far beyond its cone it would be shot away
            joint['q0'] = joint.get('rest', [1, 0, 0, 0])
        if stops and joint['type'] in ('prismatic', 'planar', 'helical') and 'limits' not in joint:
            joint.setdefault('stiffness', rng.uniform(5, 20))
        if rng.random() < 0.1 and joint.get('stiffness'):
            joint['stiffness'] *= 100
    if rng.random() < 0.3:
        random_scenes.loads(rng, scene, forces=False)
    return scene


def energy_of_start(scene, energy):
    """J: what the start can turn into motion, or a spring can hold"""
    return random_scenes.reach(scene) + energy['kinetic']['initial'] + energy['spring']['initial']


def trial(t):
    rng = t.random
    stops = rng.random() < 0.8
    scene = scene_of(rng, stops)
    how = rng.choice(('default', 'default', 'collocation', 'radau', 'radau', 'alpha', 'alpha'))
    words = []
    if how != 'default':
        words = ['--method', how, '--dt', f'{rng.choice((0.01, 0.02, 0.05, 0.1)):g}']
        if how == 'radau':
            words += ['--stages', str(rng.randint(1, 3))]
    t.write('s.yaml', random_scenes.text(scene))
    r = t.catena('run', 's.yaml', '--duration', '10' if stops else '60', '--json', *words, limit=60)
    said = t.shown(r.argv)
    t.note(how if stops else how + ' without stops')
    t.expect(r.status != 2, f'refused: {r.last()}')
    summary = json.loads(r.out)
    t.expect(not summary['frozen'], f'froze at {summary["final"]["time"]:g} s: {summary["frozen"][:1]}: {said}')
    energy = summary['energy']
    fallen = abs(energy['potential']['final'] - energy['potential']['initial'])  # free bodies
    allowed = ALLOWED * max(energy_of_start(scene, energy), fallen)
    rise = energy['max'] - energy['initial']
    t.expect(rise <= allowed, f'{rise:.3g} J more than at the start, of {allowed / ALLOWED:.3g} J that it can move: {said}')
