"""writers that are killed, or torn in the middle of a write at any byte: what is left is read, or refused; --resume makes the same bytes"""
import os, re, shutil, signal, subprocess, time

from soak_trials import random_scenes, recordings

IN_A_ROUND = 3
LIMIT = 10  # s
ENDED = (0, 1)  # 1: worlds froze


def scene(t, rollout):
    """so much to do that a writer flushes several times"""
    rng = t.random
    made = random_scenes.tree(rng, rng.randint(1, 6), kinds=('revolute', 'universal', 'ball', 'helical'))
    made['integrator'] = {'method': rng.choice(('collocation', 'rk4')), 'dt': 0.005}
    made['duration'] = 0.005 * rng.choice((20, 200) if rollout else (400, 4000))
    t.write('s.yaml', random_scenes.text(random_scenes.sampled(rng, made)))


def tearing(t):
    """the library that kills its program in the middle of a write, or None"""
    library = os.path.join(t.folder, 'torn_write.so')
    source = os.path.join(os.path.dirname(os.path.realpath(__file__)), 'torn_write.c')
    compiler = shutil.which('cc')
    if not compiler:
        t.leave_out('kill: writes torn in the middle: no cc')
        return None
    subprocess.run([compiler, '-shared', '-fPIC', '-O1', '-o', library, source], check=True)
    return library


def kill_in_time(t, words, whole_time):
    with t.started([t.bench.catena, *words]) as process:
        time.sleep(t.random.random() * whole_time)
        process.send_signal(signal.SIGKILL)
        t.outcome(process, 10, sent=signal.SIGKILL)


def tear(t, words, library, name):
    """Lets it write a number of bytes, of all that it writes, and no more."""
    counted = t.path('written')
    environment = {'LD_PRELOAD': library, 'TORN_COUNT': counted}
    t.catena(*words, ok=ENDED, env=environment)
    with open(counted, encoding='ascii') as f:
        written = int(f.read())
    os.remove(t.path(name))
    environment['TORN_AT'] = str(t.random.randrange(written + 1))
    with t.started([t.bench.catena, *words], env=environment) as process:
        t.outcome(process, 20, sent=signal.SIGKILL)


def cut(t, name):
    """A copy that ends anywhere, or whose end is blank."""
    path = t.path(name)
    size = os.path.getsize(path)
    if t.random.random() < 0.7:
        os.truncate(path, t.random.randrange(size))
    else:
        at = t.random.randrange(size)
        with open(path, 'r+b') as f:
            f.seek(at)
            f.write(bytes(min(size - at, t.random.choice((512, 4096, 65536)))))


def whole(t, name):
    """what an uninterrupted run wrote, by name"""
    h5py = recordings.h5py_or_none(t, 'kill: the bytes of resumed rollouts beside those of uninterrupted ones (replay --verify did that)')
    if not h5py:
        return None
    with h5py.File(t.path(name), 'r') as f:
        made = {}
        f.visititems(lambda key, node: made.__setitem__(key, node[()].tobytes() if hasattr(node[()], 'tobytes') else bytes(node[()]))
                     if isinstance(node, h5py.Dataset) else None)
        return made


def left(t, name, killed):
    """What is left is read to its last whole record, or refused; if nobody cut it, with what mends it, or because there is no record yet."""
    r = t.catena('replay', name, '--verify', limit=LIMIT)
    if r.status == 0:
        t.expect('identical' in r.out, f'replay --verify of what is left says: {r.last()}')
        t.note('read')
    else:
        t.expect(not killed or 'differ' not in r.err, f'what is left has wrong numbers: {r.last()}')
        bare = 'no world is done' in r.err or 'no record' in r.err
        t.expect(not killed or bare or re.search('h5clear|make it again', r.err), f'what a killed writer left is refused without a remedy: {r.last()}')
        t.note('refused')
    t.catena('plot', name, '--y', 'q', '--out', 'p.svg', limit=LIMIT)


def trial(t):
    rng = t.random
    rollout = rng.random() < 0.5
    scene(t, rollout)
    words = recordings.rollout_words(t, worlds=rng.choice((3, 40, 200))) if rollout else recordings.run_words(t)
    how = rng.choice(('killed', 'torn', 'cut'))
    library = tearing(t) if how == 'torn' else None
    if how == 'torn' and not library:
        how = 'killed'
    begun = time.monotonic()
    t.catena(*words, ok=ENDED)
    taken = time.monotonic() - begun
    reference = whole(t, 'r.h5') if rollout else None
    if how == 'cut':
        cut(t, 'r.h5')
    else:
        os.remove(t.path('r.h5'))
        if how == 'killed':
            kill_in_time(t, words, taken)
        else:
            tear(t, words, library, 'r.h5')
    t.note(how)
    if os.path.exists(t.path('r.h5')):
        left(t, 'r.h5', how != 'cut')
    if os.path.exists(t.path('r.h5.new')):
        t.catena('replay', 'r.h5.new', '--verify', limit=LIMIT)
        t.note('.new')
    if rollout:
        r = t.catena(*words, '--resume', limit=30, ok=None if how == 'cut' else ENDED)
        if how == 'torn' and 'make it again' in r.err:  # in the middle of a block of HDF5's own
            t.note('refused')
        elif how != 'cut':  # of worlds that are done nobody looks at the numbers again
            verified = t.catena('replay', 'r.h5', '--verify', limit=30)
            t.expect(verified.status == 0, f'after --resume: {verified.last()}')
            made = whole(t, 'r.h5')
            for name in reference or ():
                t.expect(made.get(name) == reference[name], f'--resume made another {name} than an uninterrupted rollout')
            t.note('resumed')
