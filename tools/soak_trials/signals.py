"""Ctrl-C at any time into run, rollout, render and others: the end within seconds, and what was written can be read"""
import os, re, shutil, signal, time

from soak_trials import extreme, random_scenes, recordings

IN_A_ROUND = 2
LIMIT = 5  # s from the signal to the end
BEGINNING = 1  # s


def long_scene(t, spent=10000):
    rng = t.random
    if rng.random() < 0.3:
        scene = extreme.strained(rng)
    else:
        scene = random_scenes.tree(rng, rng.choice((2, 10, 40)), kinds=('revolute', 'universal', 'ball'))
        random_scenes.sampled(rng, scene)
    scene['integrator'] = random_scenes.integrator(rng, rng.choice((0.01, 0.1)), random_scenes.METHODS[4:-2])
    if rng.random() < 0.2:
        scene['integrator'] = {'method': rng.choice(('radau', 'dop853')), 'dt': 'auto', 'interval': rng.choice((0.01, 1.0))}
    scene['duration'] = spent
    t.write('s.yaml', random_scenes.text(scene))
    if t.catena('check', 's.yaml').status:  # an extreme one that is refused
        scene = random_scenes.tree(rng, 3, kinds=('revolute',))
        scene['duration'] = spent
        t.write('s.yaml', random_scenes.text(scene))


def command(t):
    """(words, recording or movie that they write, or None)"""
    choices = [(['run', 's.yaml', '--out', 'r.h5', '--every', '10'], 'r.h5'), (['run', 's.yaml', '--out', 'r.csv', '--every', '50'], 'r.csv'),
               (['run', 's.yaml', '--json'], None), (['run', 's.yaml', '--worlds', '20', '--plot', 'p.png'], None),
               (['rollout', 's.yaml', '--worlds', '5000', '--duration', '2', '--out', 'r.h5', '--hash'], 'r.h5'),
               (['check', 's.yaml', '--dt-sweep', '--duration', '5'], None)]
    if shutil.which('ffmpeg'):
        choices.append((['render', 's.yaml', '--to', '1000', '--size', '64x48', '--out', 'm.mp4'], 'm.mp4'))
    else:
        t.leave_out('signals: movies: no ffmpeg')
    choices.append((['render', 's.yaml', '--to', '1000', '--size', '64x48', '--out', 'p%05d.png'], None))
    return t.random.choice(choices)


def readable(t, name, pictures):
    if name.endswith('.h5'):
        r = t.catena('plot', name, '--y', 'q', '--out', 'q.svg', limit=30)
        t.expect(r.status == 0 or re.search('no world is done|no record|h5clear|make it again|more than 32 panels', r.err), f'plot of what was interrupted: {r.last()}')
        r = t.catena('replay', name, '--verify', limit=60)
        t.expect(r.status == 0 or re.search('no world is done|no record|h5clear|make it again', r.err), f'replay of what was interrupted: {r.last()}')
    elif name.endswith('.mp4') and pictures:
        r = t.run('ffmpeg', '-v', 'error', '-i', name, '-f', 'null', '-', limit=60)
        t.expect(r.status == 0, f'the movie that was interrupted cannot be read: {r.last()}')
    elif name.endswith('.csv'):
        with open(t.path(name), encoding='utf-8') as f:
            text = f.read()
        lines = [line for line in text.splitlines() if not line.startswith('#')]
        t.expect(not text or text.endswith('\n') and len({line.count(',') for line in lines}) <= 1, 'the last line of the CSV file has no end')


def trial(t):
    rng = t.random
    long_scene(t)
    words, written = command(t)
    which = rng.choice((signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    with t.started([t.bench.catena, *words]) as process:
        time.sleep(2 ** rng.uniform(-7, 1.5))
        before = process.poll()
        if before is None:
            process.send_signal(which)
        # before the command has begun to write, and in a sweep, which writes nothing, the signal ends it as it ends any program
        early = 'check' in words or time.monotonic() - process.begun < BEGINNING
        r = t.outcome(process, LIMIT, sent=which if early else 0)
        t.expect(before is not None or r.status == 1 or r.status == -which, f'status {r.status} after {which.name}: {t.shown(r.argv)}')
    t.note('interrupted' if before is None else 'had ended')
    if written and os.path.exists(t.path(written)):
        readable(t, written, ' after 0 of ' not in r.err)
