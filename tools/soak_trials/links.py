"""random chains, trees and forests along their links: as side by side, by every engine and number of threads, and at large steps"""
import json

from soak_trials import random_scenes
from soak_trials.bits import engines
from soak_trials.survive import ALLOWED, energy_of_start
from soak_trials.survive import scene_of as surviving_scene

IN_A_ROUND = 4
SIZES = (1, 2, 5, 12, 30, 60, 120)
METHODS = [('alpha', {'rho': r}) for r in (0, 0.1, 0.2)] + [('collocation', {})] * 3 + \
    [('variational', {'order': k}) for k in (2, 2, 4)] + [(k, {}) for k in ('semi-implicit', 'euler', 'rk2', 'rk3', 'rk4', 'dop853')]
EXPLICIT = 6  # the last ones


def within_limits(rng, joint):
    """A joint far beyond its limits would be shot away."""
    limits = joint.get('limits')
    if limits is None:
        return
    if joint['type'] == 'ball':
        joint['q0'] = joint.get('rest', [1, 0, 0, 0])
    elif isinstance(limits[0], list):
        joint['q0'] = [rng.uniform(*pair) for pair in limits]
    else:
        joint['q0'] = rng.uniform(*limits)


def forest(rng):
    """one chain or tree, or several beside each other"""
    scene = random_scenes.tree(rng, rng.choice(SIZES))
    beside = rng.choice((0, 0, 0.1))
    for one in scene['links'][1:]:
        if rng.random() < beside:
            one.pop('parent')
    for one in scene['links']:
        within_limits(rng, one['joint'])
    return scene


def way(rng, names, parallel):
    return ['--parallel', parallel, '--engine', rng.choice(names), '--threads', str(rng.choice((1, 2, 3)))]


def off(x, y):
    """the largest difference over the largest number"""
    return max((abs(a - b) for a, b in zip(x, y)), default=0) / max([abs(b) for b in y] + [1])


def summary_of(t, *words):
    r = t.catena('run', 's.yaml', *words, '--json', ok=(0, 1), limit=60)
    summary = json.loads(r.out)
    t.expect((r.status == 1) == bool(summary['frozen']), f'status {r.status} with {len(summary["frozen"])} frozen worlds: {t.shown(r.argv)}')
    return summary


def same_bits(t, lanes):
    """worlds that differ: of one class of lanes all ways have the same bits, and recordings know the class"""
    rng, names = t.random, engines(t)
    finals, worlds = set(), str(rng.choice((1, 2, 5)))
    for parallel in ('links', 'both'):
        said = summary_of(t, *lanes, *way(rng, names, parallel), '--worlds', worlds)
        ends = [said['energy'][k] for k in ('initial', 'final')]  # the others are summed by calls, as many as the clock has it
        finals.add(json.dumps([said['final'], ends, said['frozen'], said['serial_steps']]))
    t.expect(len(finals) == 1, f'`run` ends differently: {finals}')
    t.catena('rollout', 's.yaml', '--worlds', str(rng.randint(1, 5)), '--out', 'a.h5', '--quiet', '--hash', *lanes,
             *way(rng, names, rng.choice(('links', 'both'))), ok=(0, 1), limit=60)
    verified = t.catena('replay', 'a.h5', '--verify', '--engine', rng.choice(names), '--threads', str(rng.choice((1, 2, 3))), limit=60)
    t.expect(verified.status == 0 and 'identical' in verified.out, f'replay --verify: {verified.last()}')


def as_worlds(t, lanes):
    """Small steps end where those of worlds end: rounding has no time to grow, and equations have one solution nearby."""
    links, worlds = summary_of(t, '--parallel', 'links', *lanes), summary_of(t, '--parallel', 'worlds')
    frozen = [[(f['reason'], f['time']) for f in s['frozen']] for s in (links, worlds)]
    t.expect(frozen[0] == frozen[1], f'frozen worlds differ: {frozen}')
    if worlds['frozen']:
        t.note('frozen')
        return
    for name, bound in ('q', 1e-6), ('v', 1e-4):
        far = off(links['final'][name], worlds['final'][name])
        t.expect(far <= bound, f'{name} is off by {far:.2g} from that of worlds')
    for name in 'initial', 'final', 'work', 'dissipated', 'created':
        size = 1 + abs(worlds['energy']['initial']) + worlds['energy']['kinetic']['final']
        far = abs(links['energy'][name] - worlds['energy'][name]) / size
        t.expect(far <= 1e-5, f'energy {name}: off by {far:.2g} from that of worlds')
    t.note('serial' if links['serial_steps'] > links['steps'] / 2 else 'as worlds')


def trial_of_steps(t):
    rng, scene = t.random, forest(t.random)
    number = rng.randrange(len(METHODS))
    method, extra = METHODS[number]
    dt = 10 ** (rng.uniform(-5, -4) if number >= len(METHODS) - EXPLICIT else rng.uniform(-4, -3))
    scene['integrator'] = {'method': method, 'dt': dt, 'tolerance': 1e-12, **extra}
    if extra.get('order') == 4:
        for one in scene['links']:
            one['joint'].pop('damping', None)
            if 'limits' in one['joint']:
                one['joint']['limit_damping'] = 0
    if rng.random() < 0.5:
        random_scenes.loads(rng, scene, damped=method != 'variational')
    if method != 'variational' and rng.random() < 0.5:
        rng.choice((random_scenes.friction, random_scenes.motors))(rng, scene)
    if method in ('alpha', 'collocation') and rng.random() < 0.4:
        random_scenes.ground(rng, scene)
    scene['duration'] = 6 * dt
    scene['sample'] = {'seed': rng.randrange(1000), 'q': {'all': {'uniform': [-0.3, 0.3]}}, 'v': {'all': {'normal': [0, 0.5]}}}
    t.write('s.yaml', random_scenes.text(scene))
    lanes = rng.choice(([], ['--lanes', '8'], ['--lanes', '16'], ['--lanes', '64']))
    as_worlds(t, lanes)
    same_bits(t, lanes)


def trial_of_large_steps(t):
    """as `survive` has it of worlds"""
    rng = t.random
    scene = surviving_scene(rng, True)
    t.write('s.yaml', random_scenes.text(scene))
    method = rng.choice(('alpha', 'collocation'))
    words = ['--method', method, '--dt', f'{rng.choice((0.01, 0.02, 0.05, 0.1)):g}', '--duration', '10', '--parallel', 'links']
    said = summary_of(t, *words)
    t.expect(not said['frozen'], f'froze at {said["final"]["time"]:g} s: {said["frozen"][:1]}')
    energy = said['energy']
    allowed = ALLOWED * max(energy_of_start(scene, energy), abs(energy['potential']['final'] - energy['potential']['initial']))
    rise = energy['max'] - energy['initial']
    t.expect(rise <= allowed, f'{rise:.3g} J more than at the start, of {allowed / ALLOWED:.3g} J that it can move: {words}')
    t.note('large steps')


def trial(t):
    trial_of_large_steps(t) if t.random.random() < 0.3 else trial_of_steps(t)
