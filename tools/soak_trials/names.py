"""names of files, scenes, links and in recordings that would run programs or command a terminal, through all that plots and prints"""
import json, os, shutil, xml.etree.ElementTree

from soak_trials import random_scenes, recordings

IN_A_ROUND = 3
CANARY = 'pwned'
PIECES = ("\n!touch pwned\n", "\n! touch pwned #", "'\nsystem('touch pwned')\n'", '`touch pwned`', '$(touch pwned)', "'; system('touch pwned'); '",
          '"\n!touch pwned\n"', "' | touch pwned #", '|touch pwned', "\\n!touch pwned\\n", "\r!touch pwned\r", "@{touch pwned}", "%s%n%n%n",
          "\x1b]0;touch pwned\x07",
          "\x1b[2J", '\x9b31m', '\u202epwn\u202c', '\u2066x\u2069', '\u200b', '\ufeff', '\x7f', '\x00', "'", '"', '\\', '{/=20 x}', '_{x}', '^', '&', '<b>',
          '#', 'e\u0301', '\u00e9', '中', '-', '--out', ' ', '  x', '\t', '*', '?', '~', ';touch pwned;', '&& touch pwned', '\u0085', '\u2028', '\udcff')


def name(rng, file=False):
    made = ''.join(rng.choice(PIECES) if rng.random() < 0.7 else rng.choice('abc') for _ in range(rng.randint(1, 4)))
    if file:
        made = made.replace('/', '|').replace('\x00', '').encode('utf-8', 'surrogateescape')[:200].decode('utf-8', 'surrogateescape')
        return './' + (made or 'x')
    return made


def quoted(text):
    """in YAML's double quotes, controls by their escapes"""
    return '"' + ''.join(c if c not in '"\\' and (c.isprintable() or c == '\udcff') else f'\\u{ord(c):04x}' if c not in '"\\' else '\\' + c
                         for c in text) + '"'


def scene(t, path, title, links):
    """a chain with these names, if the reader takes them"""
    made = random_scenes.tree(t.random, len(links), kinds=('revolute',), chain=True, passive=False)
    for one, called in zip(made['links'], links):
        one['name'] = called
    for below, above in zip(made['links'][1:], links):
        below['parent'] = above
    made['duration'] = 0.1
    text = f'catena: 1\n{"name: " + quoted(title) if title is not None else ""}\nduration: 0.1\nlinks:\n'
    for one in made['links']:
        shown = ', '.join(f'{key}: {quoted(value) if isinstance(value, str) else json.dumps(value)}' for key, value in one.items())
        text += f'  - {{{shown}}}\n'
    t.write(os.fsencode(path), text)


def forge(t, h5py, path):
    """other names in a recording, as a stranger may have written them"""
    rng = t.random
    with h5py.File(path, 'r+') as f:
        for key in ('scene', 'scene_file', 'method', 'engine', 'command', 'started', 'catena_version', 'solver', 'format'):
            if key in f.attrs and rng.random() < (0.1 if key == 'format' else 0.4):
                f.attrs[key] = name(rng).replace('\0', '').encode('utf-8', 'surrogateescape')
        for dataset in ('model/link_name', 'model/q_name', 'model/v_name', 'model/q_unit', 'model/v_unit'):
            if dataset in f and rng.random() < 0.5:
                old = f[dataset]
                values = [name(rng).replace('\0', '').encode('utf-8', 'surrogateescape')[:200] for _ in range(len(old))]
                attributes = dict(old.attrs)
                del f[dataset]
                new = f.create_dataset(dataset, data=values, dtype=f'S{max(1, *map(len, values))}')
                for key, value in attributes.items():
                    new.attrs[key] = value
        for dataset in ('q', 'v', 'stats/residual', 'energy/kinetic', 'scene/0'):
            if dataset in f:
                for key in ('unit', 'about', 'path'):
                    if key in f[dataset].attrs and rng.random() < 0.5:
                        f[dataset].attrs[key] = name(rng).replace('\0', '').encode('utf-8', 'surrogateescape')


def harmless(t):
    for folder, folders, files in os.walk(t.folder):
        for one in folders + files:
            if one == CANARY:
                t.expect(False, 'a name has run a program: there is a file pwned')


def drawn(t):
    """pictures are well-formed, and scripts that were kept may be drawn"""
    for one in os.listdir(t.work):
        path = t.path(one)
        if one.endswith('.svg') and os.path.isfile(path) and os.path.getsize(path):
            try:
                xml.etree.ElementTree.parse(path)
            except xml.etree.ElementTree.ParseError as wrong:
                t.expect(False, f'a picture is no XML: {wrong}')
        if one.endswith('.gnuplot') and shutil.which('gnuplot'):
            with t.started(['gnuplot', './' + one]) as process:
                process.wait(60)
    harmless(t)


def within(t, name):
    return os.path.join(os.fsencode(t.work), os.fsencode(name))


def without_gnuplot(t):
    """an environment in which scripts are kept"""
    os.makedirs(t.path('empty'), exist_ok=True)
    return {'PATH': t.path('empty')}


def trial(t):
    rng = t.random
    file = name(rng, file=True) + '.yaml'
    links = [f'l{i}' if rng.random() < 0.6 else name(rng) for i in range(3)]
    scene(t, file, name(rng) if rng.random() < 0.4 else None, links)
    picture = name(rng, file=True) + rng.choice(('.png', '.svg', '.pdf'))
    recording = name(rng, file=True) + '.h5'
    env = without_gnuplot(t) if rng.random() < 0.2 else {}
    refused = t.catena('check', file, limit=30).status
    t.note('refused' if refused else 'read')
    t.catena('info', file)
    t.catena('run', file, '--steps', '9', '--plot', picture, env=env)
    harmless(t)
    if refused:  # by its name, or those in it: on with others
        file = 'plain.yaml'
        scene(t, file, None, ['a', 'b'])
    t.catena('run', file, '--out', recording)
    if not os.path.exists(within(t, recording)):
        recording = 'r.h5'
        t.catena('run', file, '--out', recording)
    if os.path.exists(within(t, recording)):
        h5py = recordings.h5py_or_none(t, 'names: recordings with forged names')
        if h5py and rng.random() < 0.7:
            forge(t, h5py, within(t, recording))
            t.note('forged')
        drawn_names = rng.choice(('energy', 'q', 'p', 'v,energy', 'q.' + name(rng).replace('\0', '')))
        t.catena('plot', recording, '--y', drawn_names, '--out', picture, env=env)
        t.catena('plot', recording, recording, '--out', 'two.svg', env=env)
        t.catena('replay', recording, '--verify')
        if rng.random() < 0.3:
            t.catena('render', recording, '--size', '64x48', '--show', 'names,text', '--out', 'r.png', limit=60)
    if rng.random() < 0.15:
        t.catena('check', file, '--dt-sweep', '--duration', '0.2', '--plot', picture, limit=120, env=env)
    drawn(t)
