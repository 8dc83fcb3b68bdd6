"""disks that are full: the exit status is not 0, the file's name is said, and what stood there before is as it was, or was replaced by whole records"""
import hashlib, os, shutil, subprocess

from soak_trials import random_scenes, recordings

IN_A_ROUND = 2
TINY = '''mount -t tmpfs -o size="$1" tmpfs disk && shift && cp old/* disk/ 2>/dev/null
"$@"
status=$?
cp disk/"$KEPT" after 2>/dev/null
exit $status
'''


def mounts(t):
    """how a command gets a tiny disk of its own, or None"""
    for way in (['unshare', '-m'], ['unshare', '-rm']):
        probe = subprocess.run(way + ['sh', '-c', 'mount -t tmpfs tmpfs /tmp'], capture_output=True, check=False) if shutil.which(way[0]) else None
        if probe and probe.returncode == 0:
            return way
    t.leave_out('full_disk: tiny disks: mounting one is not permitted (limits of file size did instead)')
    return None


def scene(t):
    made = random_scenes.tree(t.random, 6, kinds=('revolute',), passive=False)
    made['duration'] = 2
    made['integrator'] = {'method': 'rk4', 'dt': 0.002}
    t.write('s.yaml', random_scenes.text(random_scenes.sampled(t.random, made)))


def printed_to_full(t):
    """standard output is full"""
    t.write('states.json', '[{"q": [' + ', '.join('0.1' for _ in range(6)) + ']}]')
    words = t.random.choice((['run', 's.yaml', '--steps', '3'], ['run', 's.yaml', '--steps', '3', '--json'], ['info', 's.yaml'],
                             ['info', 's.yaml', '--json'], ['check', 's.yaml'], ['check', 's.yaml', '--json'], ['--help'], ['run', '--help'],
                             ['--version'], ['eval', 's.yaml', '--in', 'states.json'], ['rollout', 's.yaml', '--worlds', '2', '--out', 'r.h5'],
                             ['check', 's.yaml', '--dt-sweep', '--duration', '0.02']))
    with open('/dev/full', 'wb') as full:
        r = t.catena(*words, stdout=full, limit=60)
    t.expect(r.status == 1, f'status {r.status} where standard output is full: {t.shown(r.argv)}')


def writer(t):
    """(words after the command's name, the file that they write in the folder disk)"""
    return t.random.choice(((['run', 's.yaml', '--out', 'disk/r.h5'], 'r.h5'), (['run', 's.yaml', '--out', 'disk/r.csv'], 'r.csv'),
                            (['run', 's.yaml', '--plot', 'disk/p.png'], 'p.png'), (['run', 's.yaml', '--plot', 'disk/p.svg'], 'p.svg'),
                            (['rollout', 's.yaml', '--worlds', '50', '--out', 'disk/r.h5'], 'r.h5'),
                            (['plot', 'old.h5', '--y', 'q', '--out', 'disk/p.svg'], 'p.svg'),
                            (['plot', 'old.h5', '--y', 'q', '--out', 'disk/p.pdf'], 'p.pdf'),
                            (['eval', 's.yaml', '--in', 'states.json', '--out', 'disk/e.json'], 'e.json'),
                            (['render', 's.yaml', '--from', '0.5', '--out', 'disk/p.png', '--size', '640x480'], 'p.png'),
                            (['render', 's.yaml', '--to', '0.5', '--out', 'disk/m.mp4', '--size', '320x240'], 'm.mp4')))


def written_to_full(t):
    rng = t.random
    t.write('states.json', '[' + ', '.join('{"q": [' + ', '.join('0.1' for _ in range(6)) + ']}' for _ in range(2000)) + ']')
    t.catena('run', 's.yaml', '--steps', '20', '--out', 'old.h5', '--quiet', ok=(0,))
    words, name = writer(t)
    for folder in ('disk', 'old'):
        os.makedirs(t.path(folder))
    room = int(2 ** rng.uniform(13, 18))  # bytes
    old = rng.random() < 0.7
    if old:  # what stands there: a recording, a picture or a table of before, of some bytes
        if name.endswith('.h5'):
            shutil.copy(t.path('old.h5'), t.path('old/' + name))
        else:
            t.write('old/' + name, rng.randbytes(rng.randrange(1, 3000)))
    way = mounts(t)
    if way and rng.random() < 0.7:
        if old:
            room += 2 * os.path.getsize(t.path('old/' + name))
        t.write('tiny.sh', TINY)
        room = -(-room // 4096) * 4096
        r = t.run(*way, 'sh', 'tiny.sh', str(room), t.bench.catena, *words, env={'KEPT': name}, limit=60)
        after = t.path('after')
    else:
        if old:
            shutil.copy(t.path('old/' + name), t.path('disk/' + name))
        r = t.catena(*words, largest=room, full_by_error=True, limit=60)
        after = t.path('disk/' + name)
    t.note('failed' if r.status else 'fitted')
    if r.status == 0:
        t.expect(os.path.exists(after) and os.path.getsize(after) > 0, f'status 0, and no {name}: {t.shown(r.argv)}')
        if old:
            t.expect(digest(after) != digest(t.path('old/' + name)), f'status 0, and {name} is the old one: {t.shown(r.argv)}')
        if name.endswith('.png'):
            with open(after, 'rb') as f:
                t.expect(f.read()[-8:-4] == b'IEND', f'status 0, and half a picture: {t.shown(r.argv)}')
        if name.endswith('.svg'):
            with open(after, 'rb') as f:
                t.expect(f.read().rstrip().endswith(b'</svg>'), f'status 0, and half a picture: {t.shown(r.argv)}')
        if name.endswith('.pdf'):
            with open(after, 'rb') as f:
                t.expect(f.read().rstrip().endswith(b'%%EOF'), f'status 0, and half a picture: {t.shown(r.argv)}')
    elif old:
        t.expect(os.path.exists(after), f'the old {name} is gone: {t.shown(r.argv)}')
        same = digest(after) == digest(t.path('old/' + name))
        if name.startswith('r.') and not same:  # a recording takes its place with the first record
            read_to_the_end(t, after, name)
            t.note('replaced')
        else:
            t.expect(same, f'the old {name} is destroyed: {t.shown(r.argv)}')


def read_to_the_end(t, path, name):
    """a recording whose disk was full has whole records"""
    shutil.copy(path, t.path('left-' + name))
    if name.endswith('.h5'):
        r = t.catena('replay', 'left-' + name, '--verify', limit=60)
        t.expect(r.status == 0 or 'no world is done' in r.err, f'what was recorded until the disk was full: {r.last()}')
        return
    with open(path, encoding='utf-8') as f:
        text = f.read()
    rows = [line for line in text.splitlines() if not line.startswith('#')]
    t.expect(text.endswith('\n') and len(rows) > 1 and len({row.count(',') for row in rows}) == 1, 'what was recorded has no whole records')


def digest(path):
    with open(path, 'rb') as f:
        return hashlib.sha256(f.read()).digest()


def trial(t):
    scene(t)
    if t.random.random() < 0.3:
        printed_to_full(t)
    else:
        written_to_full(t)
