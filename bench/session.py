"""What work_precision, survives and figures share: workers that are asked in turn, the methods that they know, tables, pictures."""
import argparse
import csv
import datetime
import os
import subprocess
import sys

import build
import motions
from run import Refused, Worker, machine, progress, text

# Every method of catena that there is or may be; what the library under test refuses is left out with a note.
METHODS = ('euler', 'semi-implicit', 'rk2', 'rk3', 'rk4', 'dop853',
           *(f'collocation,order={k}' for k in range(2, 7)), 'alpha', 'alpha,rho=0', *(f'radau,stages={k}' for k in range(1, 5)),
           *(f'variational,order={k}' for k in (2, 4)))


# one hue a family, in pictures
COLOURS = {
    'euler': '#9edae5', 'semi-implicit': '#17becf', 'rk2': '#6baed6', 'rk3': '#2171b5', 'rk4': '#08306b',
    'dop853': '#756bb1', 'dop853,dt=auto': '#3f007d',
    'collocation,order=2': '#fcae91', 'collocation,order=3': '#fb6a4a', 'collocation,order=4': '#de2d26', 'collocation,order=5': '#a50f15',
    'collocation,order=6': '#67000d',
    'alpha': '#8c510a', 'alpha,rho=0': '#dfc27d', 'alpha,dt=auto': '#543005',
    'radau,stages=1': '#a1d99b', 'radau,stages=2': '#74c476', 'radau,stages=3': '#31a354', 'radau,stages=4': '#006d2c',
    'radau,stages=2,dt=auto': '#b3de69', 'radau,stages=3,dt=auto': '#4d9221',
    'variational,order=2': '#fdae6b', 'variational,order=4': '#e6550d'}


def label(method):
    """collocation,order=2 -> collocation 2"""
    name, *keys = method.split(',')
    return ' '.join([name] + [value if key in ('order', 'stages') else f'{key} {value}' for key, value in
                              (k.split('=') for k in keys)])


def parser(program, what):
    p = argparse.ArgumentParser(prog=f'bench/{program}', description=what)
    p.add_argument('--quick', action='store_true', help='less of everything: to see that it works; its figures are noise')
    p.add_argument('--only', action='append', metavar='NAME', default=[], help='one case; may be repeated')
    p.add_argument('--out', metavar='DIR', help='folder of all files, default bench/results/<machine> and docs/figures (of partial '
                   'runs: build-bench/results)')
    p.add_argument('--core', type=int, help='the core to run on, default the last one')
    return p


def method_option(p):
    p.add_argument('--method', action='append', metavar='METHOD', default=[], help="one of catena's methods, as alpha,rho=0.1; may be repeated")


class Session:
    """workers, models and tables of one run"""

    def __init__(self, args, peers=('mujoco',)):
        self.args, self.notes, self.tables, self.models, self.known = args, [], {}, {}, {}
        self.folder = os.path.join(build.BUILD, 'motions')
        os.makedirs(self.folder, exist_ok=True)
        cores = sorted(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else [0]
        core = cores[-1] if args.core is None else args.core
        try:
            built = {'catena': build.catena(build.ROOT, 'catena')}
        except build.Missing as e:
            sys.exit(str(e))
        for peer in peers:
            try:
                built[peer] = getattr(build, peer)()
            except build.Missing as e:
                self.note(f'{peer} is left out: {e}')
        self.workers = {name: Worker(name, path, self.folder, core) for name, path in built.items()}
        load = os.getloadavg()[0]
        self.facts = {key: value for key, value in build.facts().items() if key != 'pinocchio'} | {
            'date': datetime.date.today().isoformat(), 'core': core, 'load at the start': '%.2f' % load}
        for key, value in self.facts.items():
            print(f'{key}: {value}')
        if load > 0.5:
            self.note('this machine is busy; take the figures on an idle one')
        whole = not (args.quick or args.only or getattr(args, 'method', None))
        partly = os.path.join(build.BUILD, 'results')
        self.out = args.out or (os.path.join(build.HERE, 'results', machine(self.facts)) if whole else partly)
        self.pictures = args.out or (os.path.join(build.ROOT, 'docs', 'figures') if whole else partly)
        for folder in (self.out, self.pictures):
            os.makedirs(folder, exist_ok=True)

    def note(self, words):
        if words not in self.notes:
            self.notes.append(words)
            progress('')
            print('note: ' + words, flush=True)

    def wanted(self, cases):
        """those of the names that --only asks for, all without it"""
        unknown = [name for name in self.args.only if name not in cases]
        if unknown:
            sys.exit(f'--only: unknown {", ".join(unknown)}; there are {", ".join(cases)}')
        return [name for name in cases if not self.args.only or name in self.args.only]

    def load(self, model):
        self.models[model.name] = motions.write(model, self.folder)
        return model.name

    def ask(self, worker, *words):
        """the answer as a dictionary, its numbers as numbers; None, with a note, if there is no such worker or it refuses"""
        if worker not in self.workers:
            return None
        progress(f'{worker}: ' + ' '.join(str(w) for w in words[:4]))
        try:
            return {key: number(value) for key, value in self.workers[worker].ask(*words).items()}
        except Refused as e:
            self.note(f'{words[1]}: {e}')
            return None

    def takes(self, program, model, method):
        """whether the program is there, has that method, and takes that model; said once if not"""
        if program != 'catena':
            return program in self.workers and self.models[model][program]
        if (model, method) not in self.known:
            try:
                self.known[model, method] = bool(self.workers[program].ask('knows', model, method))
            except Refused as e:
                self.known[model, method] = False
                reason = str(e).partition('integrator.')[2]
                self.note(f'{label(method)} is left out: {reason}' if reason else f'{label(method)} does not take {model}: {e}')
        return self.known[model, method]

    def table(self, name, title, columns):
        self.tables[name] = Table(title, columns)
        return self.tables[name]

    def keep(self):
        """what is known so far: a run that is killed leaves it"""
        for name, table in self.tables.items():
            table.save(os.path.join(self.out, name), self.facts)

    def save(self):
        self.keep()
        for worker in self.workers.values():
            worker.close()
        print(f'\nfigures in {os.path.relpath(self.out)}, pictures in {os.path.relpath(self.pictures)}')


def number(word):
    try:
        return float(word)
    except ValueError:
        return word


class Table:
    """Markdown, printed as it comes and kept beside the CSV file; records of the latter may have more columns"""

    def __init__(self, title, columns):
        self.lines, self.records = [f'**{title}**', '', '| ' + ' | '.join(columns) + ' |', '|' + '---|' * len(columns)], []
        print()
        print('\n'.join(self.lines), flush=True)

    def row(self, cells, *records):
        progress('')
        self.lines.append('| ' + ' | '.join(text(c, 3) for c in cells) + ' |')
        print(self.lines[-1], flush=True)
        self.records += records

    def save(self, path, facts):
        write_csv(path + '.csv', self.records, facts)
        with open(path + '.md', 'w') as f:
            f.write('\n'.join(self.lines) + '\n')


def write_csv(path, records, facts):
    keys = list(dict.fromkeys(key for record in records for key in record))
    with open(path, 'w', newline='') as f:
        for key, value in facts.items():
            f.write(f'# {key}: {value}\n')
        out = csv.DictWriter(f, keys, lineterminator='\n')
        out.writeheader()
        out.writerows({key: text(value, 8) for key, value in record.items()} for record in records)


def draw(path, script, blocks, size='1400,900'):
    """a picture by gnuplot; `blocks`: {name: rows of numbers}, $name in the script"""
    data = ''.join(f'${name} << EOD\n' + ''.join(' '.join(f'{x:.9g}' for x in row) + '\n' for row in rows or [(0, float('nan'))])
                   + 'EOD\n' for name, rows in blocks.items())
    try:
        subprocess.run(['gnuplot'], input=f'{data}set terminal pngcairo size {size} noenhanced\nset output "{path}"\n{script}\n',
                       text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as e:
        print(f'note: {os.path.basename(path)} is not drawn: {e}')
