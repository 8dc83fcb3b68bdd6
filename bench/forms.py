#!/usr/bin/env python3
"""Times the forms of papers on this CPU and draws their figures with them: 1 to 3 of Yang, Wu and Pan 2017, 11 to 16 of Lynghus 2026.

Each picture forms-NAME.png has its numbers in a CSV file beside it; forms.md has what the papers print beside what was measured. Their
figures compare a GPU with a CPU; here both curves are of this CPU, on one thread and on all.
"""
import os
import subprocess
import sys

import build
import session
from run import progress

THREADS = len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()
SCANS = ('serial', 'blelloch', 'blocked', 'simulated', 'paths')
HUES = {'serial': '#636363', 'blelloch': '#756bb1', 'blocked': '#2171b5', 'simulated': '#de2d26', 'paths': '#31a354', 'jsiia': '#756bb1',
        'hybrid': '#2171b5', 'star': '#de2d26', 'engine': '#000000'}
BRANCHINGS = (1, 1.01, 1.5, 2, 8, 0)


def ladder(lo, hi, *steps):
    """lo .. hi, of each power of ten those multiples"""
    every = [m * 10**p for p in range(8) for m in steps]
    return [n for n in every if lo <= n <= hi]


def program():
    """on the library that the session has built"""
    tree = build.ROOT
    folder = os.path.join(build.BUILD, 'catena')
    command = ['cc', '-std=gnu11', '-O2', '-DNDEBUG', '-I' + os.path.join(tree, 'include'), os.path.join(build.HERE, 'forms.c'),
               '-L' + folder, '-lcatena', '-Wl,-rpath,' + folder, '-lm']
    return build.compile_once('forms_bench', command, [os.path.join(build.HERE, 'forms.c'),
                                                       os.path.join(tree, 'include', 'catena', 'forms.h')])


class Forms(session.Session):
    def __init__(self, args):
        super().__init__(args, peers=())
        self.quick = args.quick
        self.bench = subprocess.Popen([program()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.printed = []  # rows of forms.md: figure, what the paper prints, what was measured

    def time(self, form, n, branching=1, count=1, threads=1):
        """a record; its seconds are None, with a note, where that is refused"""
        progress(f'{form} {n} branching {branching:g} x {count}, threads {threads}')
        self.bench.stdin.write(f'{form} {n} {branching} {count} {threads} {0.02 if self.quick else 0.2}\n')
        self.bench.stdin.flush()
        words = self.bench.stdout.readline().split(maxsplit=1)
        record = {'form': form, 'n': n, 'branching': branching, 'count': count, 'threads': threads}
        if not words or words[0] == 'refused:':
            self.note(f'{form}, {n} links: {words[1].strip() if words else "the program has ended"}')
            return record | {'s': None}
        median, repeats, tree, work = words[1].split()
        return record | {'s': float(words[0]), 'median_s': float(median), 'repeats': int(repeats), 'tree_bytes': int(tree), 'work_bytes': int(work)}

    def sizes(self, lo, hi, *steps):
        return [n for n in ladder(lo, hi, *steps) if n <= (hi if not self.quick else max(lo, min(hi, 10000)))]

    def print_beside(self, figure, paper, here):
        self.printed.append((figure, paper, here))

    def curves(self, name, records, x, key, title, xlabel, scale=1e3, unit='ms'):
        """a picture of seconds over `x`, a curve for each value of `key`; and the numbers"""
        blocks, plots = {}, []
        for k, label in enumerate(dict.fromkeys(key(r) for r in records)):
            blocks[f'c{k}'] = [(r[x], scale * r['s']) for r in records if key(r) == label and r['s']]
            hue = HUES.get(label.split(' ')[0].split(',')[0], '#8c510a')
            dash = 1 if 'thread' not in label or ' 1 thread' in label else 2
            plots.append(f'$c{k} with linespoints lw 2 pt 7 dt {dash} lc rgb "{hue}" title "{label}"')
        path = os.path.join(self.pictures, f'forms-{name}')
        session.write_csv(path + '.csv', records, self.facts)
        session.draw(path + '.png', f'set grid\nset logscale xy\nset title "{title}"\nset xlabel "{xlabel}"\nset ylabel "{unit}"\n'
                     'set key top left\nplot ' + ', '.join(plots), blocks)

    def bars(self, name, records, rows, columns, title):
        """a heat map: the change of time against the first column, per cent"""
        path = os.path.join(self.pictures, f'forms-{name}')
        session.write_csv(path + '.csv', records, self.facts)
        cells = []
        for i, row in enumerate(rows):
            base = next((r['s'] for r in records if r['n'] == row and r['branching'] == columns[0]), None)
            for j, column in enumerate(columns):
                s = next((r['s'] for r in records if r['n'] == row and r['branching'] == column), None)
                if base and s:
                    cells.append((j, i, 100 * (s / base - 1)))
        if not cells:
            return
        ticks = ', '.join(f'"{"chance" if c == 0 else format(c, "g")}" {j}' for j, c in enumerate(columns))
        lines = ', '.join(f'"{r}" {i}' for i, r in enumerate(rows))
        session.draw(path + '.png', f'set title "{title}"\nset xtics ({ticks})\nset ytics ({lines})\nset xlabel "branching"\nset ylabel "links"\n'
                     'set cblabel "time against branching 1, %"\nset cbrange [-100:100]\nset palette defined (-100 "#2166ac", 0 "#f7f7f7", 100 "#b2182b")\nunset key\n'
                     'plot $cells using 1:2:3 with image, $cells using 1:2:(sprintf("%+.0f", $3)) with labels', {'cells': cells})

    # Yang, Wu and Pan 2017

    def links(self):
        """figure 1: one call over the links"""
        records = []
        for n in self.sizes(10, 10000, 1, 2, 5):
            records.append(self.time('engine:rnea', n) | {'curve': 'engine'})
            for scan in ('serial', 'simulated', 'paths'):
                for threads in {1, THREADS if scan != 'serial' else 1}:
                    records.append(self.time(f'rnea:{scan}', n, threads=threads) | {'curve': f'{scan}, {threads} thread{"s" * (threads > 1)}'})
        self.curves('1a', records, 'n', lambda r: r['curve'], 'inverse dynamics of one chain', 'links')
        records = []
        for n in self.sizes(10, 10000, 1, 2, 5):
            records.append(self.time('engine:aba', n) | {'curve': 'engine'})
            for form in ('serial', 'jsiia', 'hybrid', 'star'):
                for threads in sorted({1, THREADS if form != 'serial' else 1}):
                    if form != 'jsiia' or n <= 2000:
                        records.append(self.time(f'forward:{form}', n, threads=threads) | {'curve': f'{form}, {threads} thread{"s" * (threads > 1)}'})
        self.curves('1b', records, 'n', lambda r: r['curve'], 'forward dynamics of one chain', 'links')
        ahead = [n for n in sorted({r['n'] for r in records}) if self.faster(records, n, 'jsiia', 'hybrid')]
        self.print_beside('2017, 1b', 'JSIIA fastest up to 100 links (hybrid) or 190 links (serial)',
                          f'JSIIA below the hybrid up to {max(ahead)} links' if ahead else 'JSIIA nowhere below the hybrid')

    def faster(self, records, n, one, other):
        best = {f: min((r['s'] for r in records if r['n'] == n and r['form'] == f'forward:{f}' and r['s']), default=None) for f in (one, other)}
        return best[one] and best[other] and best[one] < best[other]

    def groups(self):
        """figures 2 and 3: many states of a chain at once"""
        counts = self.sizes(1, 10000, 1, 2, 5)
        for name, n in (('2a', 10), ('2b', 100)):
            records = []
            for count in counts:
                for form in ('engine:rnea', 'rnea:serial', 'rnea:simulated', 'rnea:paths'):
                    for threads in sorted({1, 1 if form == 'engine:rnea' else THREADS}):
                        label = f'{form.split(":")[form[0] == "r"]}, {threads} thread{"s" * (threads > 1)}'
                        records.append(self.time(form, n, count=count, threads=threads) | {'curve': label})
            self.curves(name, records, 'count', lambda r: r['curve'], f'inverse dynamics of many chains of {n} links', 'states')
        self.print_beside('2017, 2', 'GPU some 100 times a CPU thread a group at 1000 groups; at most 500 (ID), 100 (FD)', 'see forms-2a.csv, 2b')
        for name, n in (('3a', 10), ('3b', 200)):
            records = []
            for count in counts:
                for form in ('engine:aba', 'forward:serial', 'forward:jsiia', 'forward:hybrid', 'forward:star'):
                    for threads in sorted({1, 1 if form == 'engine:aba' else THREADS}):
                        if n > 100 and form == 'forward:jsiia' and count > 1000:
                            continue
                        label = f'{form.split(":")[form[0] == "f"]}, {threads} thread{"s" * (threads > 1)}'
                        records.append(self.time(form, n, count=count, threads=threads) | {'curve': label})
            self.curves(name, records, 'count', lambda r: r['curve'], f'forward dynamics of many chains of {n} links', 'states')
        self.print_beside('2017, 3', '10 links: JSIIA fastest; 200 links: hybrid ABIA fastest', 'see forms-3a.csv, 3b')

    # Lynghus 2026

    def scans(self):
        """figures 11 and 12: rootfix by each scan, and of recurrences against sums"""
        records = []
        for n in self.sizes(100, 4000000, 1, 4):
            for scan in SCANS:
                records.append(self.time(f'twists:{scan}', n, 2, threads=THREADS) | {'curve': scan})
        self.curves('11', records, 'n', lambda r: r['curve'], f'velocities by rootfix, branching 2, {THREADS} threads', 'links')
        self.ratio('thesis, 11', records, 'blocked 2.5 times the native scan, simulated close to 3 times, at large N', 'twists:blelloch', 'twists:blocked',
                   'twists:simulated')
        records = []
        for n in self.sizes(100, 4000000, 1, 4):
            records.append(self.time('twists:blocked', n, 2, threads=THREADS) | {'curve': 'blocked, of recurrences'})
            records.append(self.time('rootfix:blocked', n, 2, threads=THREADS) | {'curve': 'simulated, sums of vectors'})
        self.curves('12', records, 'n', lambda r: r['curve'], f'rootfix of recurrences and of sums, branching 2, {THREADS} threads', 'links')
        self.ratio('thesis, 12', records, 'sums 6 to 16 times faster than recurrences', 'twists:blocked', 'rootfix:blocked')

    def ratio(self, figure, records, paper, first, *others):
        n = max(r['n'] for r in records)
        s = {r['form']: r['s'] for r in records if r['n'] == n}
        if s.get(first):
            here = ', '.join(f'{o} {s[first] / s[o]:.2g} times {first}' for o in others if s.get(o))
            self.print_beside(figure, paper, f'{here} at {n} links')

    def rnea(self):
        """figures 13 and 14"""
        rows, records = self.sizes(1000, 4000000, 1, 4), []
        for n in rows:
            records += [self.time('rnea:simulated', n, b, threads=THREADS) for b in BRANCHINGS]
        self.bars('13', records, rows, BRANCHINGS, f'scan RNEA by branching, {THREADS} threads')
        self.print_beside('thesis, 13', 'branching 1.5 and 2 some 28 to 35 % slower above 1 million links, else little difference', 'see forms-13.csv')
        records = []
        for n in self.sizes(100, 4000000, 1, 4):
            for form, threads in (('rnea:serial', 1), ('rnea:simulated', 1), ('rnea:simulated', THREADS), ('rnea:paths', THREADS)):
                label = f'{form.split(":")[1]}, {threads} thread{"s" * (threads > 1)}'
                records.append(self.time(form, n, threads=threads) | {'curve': label})
        self.curves('14', records, 'n', lambda r: r['curve'], 'inverse dynamics of a chain', 'links')
        n = max(r['n'] for r in records)
        serial, best = (next((r['s'] for r in records if r['n'] == n and r['form'] == f and r['threads'] == t), None)
                        for f, t in (('rnea:serial', 1), ('rnea:simulated', THREADS)))
        self.print_beside('thesis, 14', 'GPU 16 to 18 times its serial CPU code at 1 to 4 million links',
                          f'{serial / best:.2g} times the serial form at {n} links, {THREADS} threads' if serial and best else '-')

    def crba(self):
        """figures 15 and 16"""
        rows, records = self.sizes(1000, 40000, 1, 2, 4, 5), []
        for n in rows:
            records += [self.time('crba:simulated', n, b, threads=THREADS) for b in BRANCHINGS]
        self.bars('15', records, rows, BRANCHINGS, f'CRBA by branching, rows in blocks, {THREADS} threads')
        self.print_beside('thesis, 15', 'branching 2 more than 20 times faster than 1 at 40 000 links', self.against(records, 2, max(rows)))
        records = []
        for b in (1, 1.01, 1.5, 2):
            for n in self.sizes(100, 40000, 1, 2, 4):
                for scan, threads in (('serial', 1), ('simulated', 1), ('simulated', THREADS)):
                    records.append(self.time(f'crba:{scan}', n, b, threads=threads) | {'curve': f'{scan}, branching {b:g}, {threads} thread{"s" * (threads > 1)}'})
        self.curves('16', records, 'n', lambda r: r['curve'], 'joint-space inertia by rows in blocks', 'links')
        self.print_beside('thesis, 16', 'GPU 16.5 times its serial CPU code at 1000 links, 163 times at 40 000 (branching 1), 160 (1.01)', 'see forms-16.csv')

    def against(self, records, b, n):
        s = {r['branching']: r['s'] for r in records if r['n'] == n}
        return f'{s[1] / s[b]:.3g} times at {n} links' if s.get(1) and s.get(b) else '-'

    def save(self):
        with open(os.path.join(self.out, 'forms.md'), 'w') as f:
            f.write('| figure | printed | measured |\n|---|---|---|\n' + ''.join('| ' + ' | '.join(row) + ' |\n' for row in self.printed))
        self.bench.stdin.close()
        self.bench.wait()
        super().save()


def main():
    f = Forms(session.parser('forms', __doc__.split('\n')[0]).parse_args())
    parts = {'links': f.links, 'groups': f.groups, 'scans': f.scans, 'rnea': f.rnea, 'crba': f.crba}
    for name in f.wanted(parts):
        parts[name]()
    f.save()


if __name__ == '__main__':
    sys.exit(main())
