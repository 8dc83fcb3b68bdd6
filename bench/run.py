#!/usr/bin/env python3
"""Measures catena beside its peers, all in one run on one core; called by tools/bench-peers.

Every program is a worker that stays up and is asked in turn, several rounds a case, so that noise of the machine hits all alike.
"""
import argparse
import csv
import datetime
import json
import os
import re
import statistics
import subprocess
import sys
from dataclasses import dataclass, field

import build
import cases


class Refused(Exception):
    """a worker cannot answer, and why"""


class Worker:
    """a program that answers one line for one line, pinned to one core (None: to none)"""

    def __init__(self, name, path, models, core):
        self.name, self.command, self.core, self.process = name, [path, models], core, None

    def ask(self, *words):
        if self.process is None:
            pinned = self.core is not None and hasattr(os, 'sched_setaffinity')
            pin = (lambda: os.sched_setaffinity(0, {self.core})) if pinned else None
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                            preexec_fn=pin)
        try:
            self.process.stdin.write(' '.join('%.17g' % w if isinstance(w, float) else str(w) for w in words) + '\n')
            self.process.stdin.flush()
            reply = self.process.stdout.readline().split()
        except BrokenPipeError:
            reply = []
        if not reply:
            code, self.process = self.process.wait(), None
            raise Refused(f'{self.name} ended with code {code}')
        if reply[0] != 'ok':
            raise Refused(f'{self.name}: ' + ' '.join(reply[1:]))
        return dict(zip(reply[1::2], reply[2::2]))

    def numbers(self, *words):
        return {key: float(value) for key, value in self.ask(*words).items()}

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()


@dataclass
class Cell:
    """one measurement over all rounds: ns on the clock of the thread, and on the wall"""
    label: str
    min: float
    median: float
    wall_min: float  # near min, or the machine was busy


@dataclass
class Bench:
    """what the cases work with"""
    workers: dict
    models: dict
    folder: str  # of the models
    quick: bool
    rounds: int
    seconds: float
    only: list
    before: list = field(default_factory=list)  # rows of compare
    goals: list = field(default_factory=list)  # (name, ratio or value, goal, reached)
    tables: dict = field(default_factory=dict)
    notes: list = field(default_factory=list)

    def wants(self, *names):
        """whether --only asks for a case that goes by these names"""
        return not self.only or any(o == n or n.startswith(o + '/') for o in self.only for n in names)

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)
            progress('')
            print('  note: ' + text, flush=True)

    def measure(self, name, requests, seconds=None):
        """{label: (worker, words before the seconds)} to {label: Cell}, in rounds; each round starts with another label"""
        if 'before' in self.workers:  # does whatever catena does, next to it
            asked, requests = requests, {}
            for label, (worker, words) in asked.items():
                requests[label] = (worker, words)
                if worker == 'catena':
                    requests['before', label] = ('before', words)
        labels = [label for label, (worker, _) in requests.items() if worker in self.workers]
        replies = {label: [] for label in labels}
        for k in range(self.rounds):
            progress(f'{name}, round {k + 1} of {self.rounds}')
            for label in labels[k % len(labels):] + labels[:k % len(labels)]:
                worker, words = requests[label]
                try:
                    reply = self.workers[worker].numbers(*words, seconds or self.seconds)
                    replies[label].append(reply)
                    if reply.get('lost'):
                        self.note(f'{name}: {worker}, {" ".join(map(str, words))}: numbers went wrong')
                except Refused as e:
                    self.note(f'{name}: {e}')
        progress('')
        for label, (worker, words) in requests.items():
            if ('before', label) in replies:
                self.compare(words, replies[label], replies.pop(('before', label)))
        return {label: Cell(label, min(r['min'] for r in got), statistics.median(r['median'] for r in got),
                            min(r['wall_min'] for r in got)) for label, got in replies.items() if got}

    def compare(self, words, ours, before):
        """a row of the table of --catena: least times, and the ratio in each round, in which both saw about the same machine"""
        if len(ours) != self.rounds or len(before) != self.rounds:
            return
        ratios = sorted(b['min'] / o['min'] for o, b in zip(ours, before))
        now, then = (min(r['min'] for r in got) for got in (ours, before))
        self.before.append((' '.join(text(w) for w in words), now, then, then / now, statistics.median(ratios), ratios[0], ratios[-1]))

    def ask(self, worker, *words):
        """an untimed question; None if there is no such worker or it refuses"""
        if worker not in self.workers:
            return None
        progress(f'{worker}: ' + ' '.join(str(w) for w in words[:4]))
        try:
            return self.workers[worker].numbers(*words)
        except Refused as e:
            self.note(str(e))
            return None

    def goal(self, name, value, goal, most=False):
        """text of a value beside its goal: at least it, or at most; '-' if there is no value"""
        if value is None:
            return '-'
        if goal is None:
            return text(value, 3)
        reached = value <= goal if most else value >= goal
        self.goals.append((name, value, goal, reached))
        return f'{value:.3g} ({"<=" if most else ">="} {goal:g}) ' + ('ok' if reached else 'MISSED')

    def table(self, name, title, columns):
        table = Table(title, columns)
        self.tables[name] = table
        return table


class Table:
    """prints rows as they come, and keeps them for the CSV file; a column is a heading and a width"""

    def __init__(self, title, columns):
        self.columns, self.rows, self.keys = columns, [], []
        print(f'\n{title}\n')
        print('  '.join(heading.ljust(width) if k == 0 else heading.rjust(width) for k, (heading, width) in enumerate(columns)))

    def row(self, cells, record):
        progress('')
        shown = zip(map(text, cells), self.columns)
        line = '  '.join(c.ljust(w) if k == 0 else c.rjust(w) for k, (c, (_, w)) in enumerate(shown))
        print(line.rstrip(), flush=True)
        self.rows.append(record)
        self.keys += [key for key in record if key not in self.keys]

    def save(self, path, facts):
        with open(path, 'w', newline='') as f:
            for key, value in facts.items():
                f.write(f'# {key}: {value}\n')
            out = csv.DictWriter(f, self.keys, lineterminator='\n')
            out.writeheader()
            out.writerows({key: text(value, 6) for key, value in row.items()} for row in self.rows)


def text(value, digits=4):
    if value is None:
        return '-'
    if not isinstance(value, float):
        return str(value)
    return f'{value:.0f}' if 10 ** (digits - 1) <= abs(value) < 1e15 else f'{value:.{digits}g}'


def progress(what):
    """one line on standard error that the next one overwrites"""
    if sys.stderr.isatty():
        sys.stderr.write('\r\033[K' + what)
        sys.stderr.flush()


def machine(facts):
    """name of the folder of this kind of machine"""
    return re.sub(r'[^a-z0-9]+', '-', facts['device'].lower()).strip('-')


def arguments():
    p = argparse.ArgumentParser(prog='tools/bench-peers', description='Measures catena beside its peers, in one run.')
    p.add_argument('--quick', action='store_true', help='fewer models, shorter and fewer rounds: to see that it works')
    p.add_argument('--only', action='append', metavar='NAME', default=[],
                   help='a family (' + ', '.join(cases.FAMILIES) + ') or a model; may be repeated')
    p.add_argument('--out', metavar='DIR', help='folder of the CSV files, default bench/results/<machine> (quick, only, catena: '
                   'build-bench/results)')
    p.add_argument('--catena', metavar='TREE', help='another source tree of catena, to measure beside this one')
    p.add_argument('--rounds', type=int, help='rounds that all programs take turns in, default 7 (quick: 2)')
    p.add_argument('--seconds', type=float, help='time of one measurement in one round, default 0.1 (quick: 0.03)')
    p.add_argument('--core', type=int, help='the core to run on, default the last one')
    return p.parse_args()


def before_table(bench):
    """what --catena asked for: this tree beside another"""
    table = bench.table('before', 'This catena beside the other one, ns; x: other / this, of the least times and by round', (
        ('case', 52), ('this', 9), ('before', 9), ('x', 7), ('x median', 8), ('least', 7), ('most', 7)))
    for row in bench.before:
        table.row(row, dict(zip(('case', 'catena_ns', 'before_ns', 'ratio', 'ratio_median', 'ratio_least', 'ratio_most'), row)))


def main():
    args = arguments()
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else [0]
    core = cores[-1] if args.core is None else args.core
    folder = os.path.join(build.BUILD, 'models')
    os.makedirs(folder, exist_ok=True)
    built, missing = build.workers(args.catena)
    for name in ('catena',) + ('before',) * bool(args.catena):
        if name not in built:
            sys.exit(missing[name])
    subprocess.run([sys.executable, os.path.join(build.HERE, 'models.py'), folder], check=True)
    with open(os.path.join(folder, 'models.json')) as f:
        models = json.load(f)

    bench = Bench({name: Worker(name, path, folder, core) for name, path in built.items()}, models, folder, args.quick,
                  args.rounds or (2 if args.quick else 7), args.seconds or (0.03 if args.quick else 0.1), args.only)
    facts = build.facts(args.catena) | {'date': datetime.date.today().isoformat(), 'core': core,
                             'catena engine': bench.workers['catena'].ask('about', 'chain7')['engine'],
                             'rounds': f'{bench.rounds} of {bench.seconds} s', 'load at the start': '%.2f' % os.getloadavg()[0]}
    for key, value in facts.items():
        print(f'{key}: {value}')
    for name, reason in missing.items():
        print(f'{name} is left out: {reason}')
    if os.getloadavg()[0] > 0.5:
        print('note: this machine is busy; take the figures on an idle one')

    unknown = [name for name in args.only if name not in (*cases.FAMILIES, *models)]
    if unknown:
        sys.exit(f'--only: unknown {", ".join(unknown)}; families: {", ".join(cases.FAMILIES)}; models: {", ".join(models)}')
    for family in cases.FAMILIES.values():
        family(bench)
    if bench.before:
        before_table(bench)
    for worker in bench.workers.values():
        worker.close()

    whole = not (args.quick or args.only or args.catena)
    out = args.out or (os.path.join(build.HERE, 'results', machine(facts)) if whole else os.path.join(build.BUILD, 'results'))
    os.makedirs(out, exist_ok=True)
    for name, table in bench.tables.items():
        if table.rows:
            table.save(os.path.join(out, name + '.csv'), facts)
    missed = [g for g in bench.goals if not g[3]]
    print(f'\n{len(bench.goals) - len(missed)} of {len(bench.goals)} goals reached; figures in {os.path.relpath(out)}')
    for name, value, goal, _ in missed:
        print(f'  missed: {name}: {value:.3g}, goal {goal:g}')


if __name__ == '__main__':
    main()
