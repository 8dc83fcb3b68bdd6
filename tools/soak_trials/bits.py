"""random models with all joints, springs, limits, dampers and loads on links: the same bits by every engine, number of threads, worlds and schedule"""
import json

from soak_trials import random_scenes, recordings

IN_A_ROUND = 4


def engines(t):
    r = t.catena('info', 's.yaml', '--json', ok=(0,))
    return [e['name'] for e in json.loads(r.out)['engines']]


def way(rng, names):
    """how worlds may be stepped, which must not matter"""
    words = ['--engine', rng.choice(names), '--threads', str(rng.choice((1, 2, 3)))]
    return words + (['--schedule', rng.choice(('iteration', 'step'))] if rng.random() < 0.7 else [])


def worlds_of(h5py, path):
    """numbers of each world, as bytes"""
    with h5py.File(path, 'r') as f:
        names = [n for n in ('q', 'v', 'hash', 'status', 'steps', 'iterations', 'frozen_time', 'energy_after') if n in f]
        count = len(f['status'])
        return [{n: f[n][w].tobytes() for n in names} for w in range(count)]


def trial(t):
    rng = t.random
    scene = random_scenes.tree(rng, rng.randint(1, 10))
    scene['integrator'] = random_scenes.integrator(rng, rng.choice((0.001, 0.005, 0.02, 0.05)))
    if scene['integrator']['method'] in ('radau', 'dop853') and rng.random() < 0.2:
        scene['integrator'] = {'method': scene['integrator']['method'], 'dt': 'auto', 'interval': 0.02}
    if scene['integrator'].get('order') == 4 and scene['integrator']['method'] == 'variational':
        for one in scene['links']:
            one['joint'].pop('damping', None)
            if 'limits' in one['joint']:
                one['joint']['limit_damping'] = 0
    if rng.random() < 0.4 and random_scenes.takes_loads(scene['integrator']):
        random_scenes.loads(rng, scene, damped=scene['integrator']['method'] != 'variational')
    scene['duration'] = 20 * (scene['integrator']['dt'] if scene['integrator']['dt'] != 'auto' else 0.02)
    t.write('s.yaml', random_scenes.text(random_scenes.sampled(rng, scene)))
    names = engines(t)
    count = rng.randint(1, 12)
    kept = ['--hash'] if rng.random() < 0.5 else []
    first = t.catena('rollout', 's.yaml', '--worlds', str(count), '--out', 'a.h5', '--quiet', *kept, *way(rng, names), ok=(0, 1))
    verified = t.catena('replay', 'a.h5', '--verify', '--engine', rng.choice(names), '--threads', str(rng.choice((1, 2))))
    t.expect(verified.status == 0 and 'identical' in verified.out, f'replay --verify: {verified.last()}')
    if h5py := recordings.h5py_or_none(t, 'bits: rollouts of other numbers of worlds (replay --verify compared the engines)'):
        other = rng.randint(1, 12)
        t.catena('rollout', 's.yaml', '--worlds', str(other), '--out', 'b.h5', '--quiet', *kept, *way(rng, names), ok=(0, 1))
        for w, (a, b) in enumerate(zip(worlds_of(h5py, t.path('a.h5')), worlds_of(h5py, t.path('b.h5')))):
            for name in a:
                t.expect(a[name] == b[name], f'{name} of world {w} differs between two ways (see commands)')
    finals = set()
    for _ in range(2):
        r = t.catena('run', 's.yaml', '--json', '--worlds', str(rng.choice((1, 3, 9))), *way(rng, names), ok=(0, 1))
        finals.add(json.dumps(json.loads(r.out)['final']))
    t.expect(len(finals) == 1, f'`run` ends differently: {finals}')
    t.note('frozen' if first.status else 'went on')
