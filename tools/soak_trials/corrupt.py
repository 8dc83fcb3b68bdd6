"""recordings, tables and states with damaged bytes or absurd counts: commands end within 10 s, with a result or saying why not"""
import os, shutil

from soak_trials import random_scenes, recordings

IN_A_ROUND = 3
LIMIT = 10  # s
MARKS = (b'OHDR', b'OCHK', b'TREE', b'SNOD', b'HEAP', b'FRHP', b'FHDB', b'BTHD', b'BTLF', b'EAHD', b'EAIB', b'EADB', b'EASB', b'FAHD',
         b'FADB', b'GCOL', b'\x89HDF')
ABSURD = (0, 1, -1, 2, 255, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 7 * 10**18, 2**63 - 1)


def place(rng, data):
    """anywhere, or in HDF5's own structures"""
    if rng.random() < 0.5:
        mark, at, found = rng.choice(MARKS), 0, []
        while (at := data.find(mark, at)) >= 0:
            found.append(at)
            at += 4
        if found:
            return min(rng.choice(found) + rng.randrange(200), len(data) - 1)
    return rng.randrange(min(len(data), 4096)) if rng.random() < 0.3 else rng.randrange(len(data))


def damage(rng, data):
    at, length = place(rng, data), int(2 ** rng.uniform(0, 12))
    what = rng.choice(('bits', 'bits', 'zeros', 'ones', 'noise', 'splice', 'insert', 'delete', 'cut', 'number'))
    if what == 'bits':
        for _ in range(rng.choice((1, 1, 3, 20))):
            data[place(rng, data)] ^= 1 << rng.randrange(8)
    elif what in ('zeros', 'ones', 'noise'):
        length = min(length, len(data) - at)
        data[at:at + length] = {'zeros': bytes(length), 'ones': b'\xff' * length, 'noise': rng.randbytes(length)}[what]
    elif what == 'splice':
        other = place(rng, data)
        piece = data[other:other + length]
        data[at:at + len(piece)] = piece
    elif what == 'insert':
        data[at:at] = rng.randbytes(length)
    elif what == 'delete':
        del data[at:at + length]
    elif what == 'cut':
        del data[at:]
    else:
        size = rng.choice((4, 8))
        data[at:at + size] = (rng.choice(ABSURD) % 2 ** (8 * size)).to_bytes(size, 'little')
    if not data:
        data += b'\0'


def spoil(t, h5py, path):
    """what only a program would do: attributes, sizes and texts that are absurd, datasets that are missing or others"""
    rng = t.random
    with h5py.File(path, 'r+') as f:
        for _ in range(rng.choice((1, 1, 2, 5))):
            names = []
            f.visititems(lambda name, node: names.append(name) if isinstance(node, h5py.Dataset) else None)
            what = rng.choice(('attribute', 'attribute', 'size', 'numbers', 'text', 'delete', 'swap'))
            name = rng.choice(names)
            if what == 'attribute':
                holder = f if rng.random() < 0.8 else f[name]
                if len(holder.attrs):
                    key = rng.choice(sorted(holder.attrs))
                    value = rng.choice(ABSURD + (float('nan'), 1e308, -1e-308, 'x' * 300, '\x1b[31m', [1, 2, 3, 4], b''))
                    if isinstance(value, int) and not -2**63 <= value < 2**63:
                        value = 2**63 - 1
                    holder.attrs[key] = value
            elif what == 'size' and f[name].chunks and f[name].ndim:
                axis = rng.randrange(f[name].ndim)
                if f[name].maxshape[axis] is None:
                    f[name].resize(rng.choice([n for n in ABSURD if n >= 0]), axis=axis)
            elif what == 'numbers' and f[name].size and f[name].dtype.kind in 'iuf' and f[name].size < 10**7:
                index = tuple(rng.randrange(n) for n in f[name].shape)
                kind = f[name].dtype
                value = rng.choice((float('nan'), 1e308, -1.0, float('inf'))) if kind.kind == 'f' else rng.choice(ABSURD)
                f[name][index] = value if kind.kind == 'f' else value % 2 ** (8 * kind.itemsize - 1)
            elif what == 'text' and f[name].dtype.kind == 'S' and f[name].size:
                old = f[name][()]
                new = b''.join(rng.choice((bytes([b]), bytes([b]), rng.randbytes(1))) for b in (old if isinstance(old, bytes) else b'x' * 5))
                f[name][...] = new
            elif what == 'delete':
                del f[name]
            elif what == 'swap':
                other, spare = rng.choice(names), 'spare'
                f.move(name, spare)
                if other != name:
                    f.move(other, name)
                f.move(spare, other if other != name else name)


def texts(t):
    """tables of starts and forces, and states for `eval`, with the same damage"""
    rng, scene = t.random, random_scenes.tree(t.random, 2, kinds=('revolute',))
    scene['duration'] = 0.2
    t.write('s.yaml', random_scenes.text(scene))
    rows = [[rng.uniform(-1, 1) for _ in range(2)] for _ in range(20)]
    for name, columns in ('starts.csv', 'q.l0,q.l1'), ('forces.csv', 'tau.l0,tau.l1'):
        data = bytearray('\n'.join([columns] + [','.join(map(str, row)) for row in rows] + ['']).encode())
        damage(rng, data)
        t.write(name, bytes(data))
    data = bytearray(('{"states": [' + ', '.join(f'{{"q": {row}, "v": {row}}}' for row in rows) + ']}').encode())
    damage(rng, data)
    t.write('states.json', bytes(data))
    for words in (['rollout', 's.yaml', '--starts', 'starts.csv', '--out', 'o.h5', '--quiet'],
                  ['rollout', 's.yaml', '--controls', 'forces.csv', '--out', 'o.h5', '--quiet'],
                  ['eval', 's.yaml', '--in', 'states.json', '--out', 'o.json']):
        t.note('read' if t.catena(*words, limit=LIMIT).status == 0 else 'refused')


def trial(t):
    rng = t.random
    if rng.random() < 0.1:
        texts(t)
        return
    recordings.scene(t)
    rollout = rng.random() < 0.5
    words = recordings.rollout_words(t) if rollout else recordings.run_words(t)
    t.catena(*words)
    t.expect(os.path.exists(t.path('r.h5')), 'nothing was recorded')
    h5py = recordings.h5py_or_none(t, 'corrupt: counts, sizes and texts that are well-formed but absurd')
    if h5py and rng.random() < 0.3:
        spoil(t, h5py, t.path('r.h5'))
        t.note('spoilt')
    else:
        with open(t.path('r.h5'), 'rb') as f:
            data = bytearray(f.read())
        for _ in range(rng.choice((1, 1, 2, 4))):
            damage(rng, data)
        t.write('r.h5', bytes(data))
    shutil.copy(t.path('r.h5'), t.path('resumed.h5'))
    again = [w if w != 'r.h5' else 'resumed.h5' for w in words]
    quantities = ('energy', 'q', 'v', 'p', 'energy,q', 'com', 'iterations,residual', 'momentum_linear')
    commands = [
        ['replay', 'r.h5', '--verify'],
        ['replay', 'r.h5', '--quiet'],
        ['plot', 'r.h5', '--y', rng.choice(quantities), '--out', 'p.svg'],
        again + ['--resume'] if rollout else ['rollout', 's.yaml', '--controls', 'r.h5', '--out', 'o.h5', '--quiet'],
        ['rollout', 's.yaml', '--starts', 'r.h5', '--out', 'o.h5', '--quiet'],
        ['render', 'r.h5', '--out', 'p.png', '--size', '64x48'],
    ]
    del commands[rng.randrange(2)]  # one of the replays is enough
    for command in commands:
        status = t.catena(*command, limit=LIMIT).status
        t.note('read' if status == 0 else 'refused')
