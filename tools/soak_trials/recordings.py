"""Small recordings of all sorts, and the commands that read them."""
from soak_trials import random_scenes

ENDINGS = ('q,v', 'q', 'q,v,energy', 'q,pose', 'q,v,energy,pose')


def scene(t, links=4, steps=30):
    """a random scene in `s.yaml`, which survives"""
    rng = t.random
    made = random_scenes.tree(rng, rng.randint(1, links), kinds=('revolute', 'universal', 'ball', 'planar', 'free', 'helical'))
    for one in made['links']:
        one['shapes'] = [{'type': 'sphere', 'radius': 0.05}]
    made['integrator'] = {'method': rng.choice(('collocation', 'radau', 'rk4')), 'dt': 0.01}
    made['duration'] = 0.01 * steps
    if rng.random() < 0.1:
        made['integrator'] = {'method': 'radau', 'dt': 'auto', 'interval': 0.02}
    random_scenes.sampled(rng, made)
    t.write('s.yaml', random_scenes.text(made))


def run_words(t, out='r.h5'):
    """a command line that records a run"""
    words = ['run', 's.yaml', '--out', out, '--quiet', '--worlds', str(t.random.randint(1, 3)), '--every', str(t.random.choice((1, 1, 3, 10)))]
    return words + (['--hash'] if t.random.random() < 0.5 else [])


def rollout_words(t, out='r.h5', worlds=None):
    """a command line of a rollout"""
    words = ['rollout', 's.yaml', '--out', out, '--quiet', '--worlds', str(worlds or t.random.randint(1, 8)), '--stride',
             str(t.random.choice((1, 1, 4))), '--keep', t.random.choice(ENDINGS)]
    return words + (['--hash'] if t.random.random() < 0.5 else [])


def h5py_or_none(t, what):
    """the module, or None, and then the soak says that `what` was not tried"""
    try:
        import h5py
        return h5py
    except ImportError:
        t.leave_out(f'{what}: no h5py in {__import__("sys").executable}')
        return None
