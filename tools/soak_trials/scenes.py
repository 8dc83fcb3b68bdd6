"""mutated texts of scenes: checked and run without a crash or a hang; every error has its file, line and column"""
import glob, os, re

IN_A_ROUND = 4
LIMIT = 20  # s
TEXTS = 12  # a trial
WORDS = ('[', ']', '{', '}', ':', ',', '- ', '|', '>', '&a', '*a', '!!str ', '"', "'", '#', '~', 'null', '.nan', '.inf', '-.inf', '1e400', '1e-400',
         '0x10', '-1', '0', '1e308', '1e-308', '90 deg', '\t', '\r\n', '---\n', '...\n', '\ufeff', '\u202e', '\x1b[31m', '\x00', '\x85', '\udcff',
         'world', 'free', 'ball', 'fixed', 'limits: [-1, 1]', 'count: 7', 'depth: 9', 'branching: 3', 'include: [s0.yaml]', 'mass: 0', '? ', 'yes')


def corpus(root):
    found = []
    for pattern in ('scenes/*.yaml', 'tests/fuzz/corpus/*.yaml', 'tests/bad-scenes/*.yaml'):
        found += sorted(glob.glob(os.path.join(root, pattern)))
    return found


def mutated(rng, texts):
    text = rng.choice(texts)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        lines = text.split('\n')
        what = rng.choice(('word', 'word', 'char', 'number', 'line', 'splice', 'indent', 'cut', 'long', 'deep'))
        at, line = rng.randrange(len(text) + 1), rng.randrange(len(lines))
        if what == 'word':
            text = text[:at] + rng.choice(WORDS) + text[at + rng.choice((0, 0, 1, 5)):]
        elif what == 'char' and at < len(text):
            text = text[:at] + chr(rng.choice((rng.randrange(128), rng.randrange(0x300), rng.randrange(0x10000) & ~0x800))) + text[at + 1:]
        elif what == 'number':
            spots = list(re.finditer(r'-?\d+(\.\d+)?(e-?\d+)?', text))
            if spots:
                spot = rng.choice(spots)
                new = rng.choice(('0', '-1', '1e300', '1e-300', '3', '1000001', '99999999999999999999', '1e400', '007', '1_000', '1.5', '12:30'))
                text = text[:spot.start()] + new + text[spot.end():]
        elif what == 'line':
            moved = lines.pop(line)
            for _ in range(rng.choice((0, 1, 2, 3))):
                lines.insert(rng.randrange(len(lines) + 1), moved)
            text = '\n'.join(lines)
        elif what == 'splice':
            other = rng.choice(texts).split('\n')
            start = rng.randrange(len(other))
            text = '\n'.join(lines[:line] + other[start:start + rng.randint(1, 10)] + lines[line:])
        elif what == 'indent':
            lines[line] = ' ' * rng.randrange(8) + lines[line].lstrip() if rng.random() < 0.8 else '\t' + lines[line]
            text = '\n'.join(lines)
        elif what == 'cut':
            text = text[:at]
        elif what == 'long':
            text = text[:at] + rng.choice('a1 [-"#') * rng.choice((300, 5000, 100000)) + text[at:]
        elif what == 'deep':
            text = text[:at] + rng.choice(('[', '{a: ', '- ', '? ')) * rng.choice((33, 500, 5000)) + text[at:]
    return text


def trial(t):
    rng, texts = t.random, []
    for path in corpus(t.bench.root):
        with open(path, encoding='utf-8', errors='replace') as f:  # some hold an image, which is for the fuzzer
            texts.append(f.read())
    for i in range(TEXTS):
        name = t.write(f's{i}.yaml', mutated(rng, texts).encode('utf-8', 'surrogatepass'))
        r = t.catena('check', name, limit=LIMIT, ok=(0, 2))
        t.note('read' if r.status == 0 else 'refused')
        for line in r.err.splitlines():
            placed = re.match(r'(error|warning): \S*s\d+\.yaml(:\d+:\d+)?: \S', line)
            t.expect(placed or re.match(r'(error|warning): .* more|\s', line), f'an error without its place: {line[:200]!r}')
            t.expect(not placed or placed.group(1) == 'warning' or placed.group(2) or 'holds' in line or 'bytes' in line,
                     f'an error without line and column: {line[:200]!r}')
        if r.status == 0 and rng.random() < 0.3:
            t.catena('run', name, '--steps', '2', '--quiet', limit=60)
        if rng.random() < 0.1:
            t.catena('check', '--json', name, limit=LIMIT, ok=(0, 2))
