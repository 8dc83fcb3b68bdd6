#!/usr/bin/env python3
"""Draws figures 4 to 6, 8 and 9 of Plancher and Kuindersma, "A performance analysis of parallel differential dynamic programming on a
GPU", with this library's iterative LQR in blocks of time; called by bench/blocks.

100 trials of a quadrotor and of an arm (tests/golden/control/ddp; the arm also with dearer velocities, as its own weights let the wrist
spin), whose first trajectories have noise of deviation 0.001 in their velocities. Three variants, in M blocks each: as published; both
passes in blocks, with the library's own first pass and acceptance; and the forward pass alone in blocks. Time is that of this CPU, one
thread, on which blocks go one after another, and, in a second row of pictures, that of a card, if the engine cuda finds one; else they
say that it was not run on one. Each picture parallel-ddp-NAME.png has its numbers in a CSV file beside it; blocks.md has failures and
times.
"""
import argparse
import csv
import datetime
import io
import os
import statistics
import subprocess
import sys
import tempfile

import build
import optimize
import session
from run import machine, progress

VARIANTS = {'published': ('plancher', True), 'both': ('ilqr', True), 'forward': ('ilqr', False)}
TITLES = {'published': 'as published', 'both': 'blocks both ways, own acceptance', 'forward': 'blocks forwards alone, own acceptance'}
PLACES = {'cpu': '', 'card': ', on the card'}
SIGMA = 0.001
HUES = {1: '#000000', 2: '#756bb1', 4: '#2171b5', 8: '#31a354', 16: '#e6ab02', 32: '#e6550d', 64: '#de2d26'}
TICKS = ', '.join(f'{m * 10**p}' for p in range(1, 6) for m in (1, 2, 5))
PARTS = {'steps_s': ('steps of the plant', '#2171b5'), 'derivatives_s': ('derivatives', '#31a354'), 'costs_s': ('costs', '#e6ab02'),
         'rest_s': ('back pass, consensus sweep, gains', '#756bb1')}


class Case:
    """a plant: problem, blocks, what figures of the paper show of it"""

    def __init__(self, name, title, problem, blocks, shown, milliseconds, figures):
        self.name, self.title, self.problem, self.blocks = name, title, problem, blocks
        self.shown, self.milliseconds, self.figures = shown, milliseconds, figures  # iterations and time on axes


def cases():
    paper = optimize.problem('iiwa14-reach')
    paper['Q'] = [0.01] * 7 + [0.001] * 7
    return [Case('quadrotor', 'quadrotor', optimize.problem('quadrotor'), (1, 2, 4, 8, 16, 32, 64), 100, 20,
                 {'iterations': '4', 'parts': '5', 'time': '6'}),
            Case('arm', 'arm', paper, (1, 2, 4, 8, 16, 32), 100, 70, {'iterations': 'arm', 'parts': '8', 'time': '9'}),
            Case('arm-reach', 'arm, velocities weighted 0.1', optimize.problem('iiwa14-reach'), (1, 2, 4, 8, 16, 32), 60, 70,
                 {'iterations': 'arm-reach'})]


def median(values):
    return statistics.median(values)


def scene_of(folder, case, iterations):
    """its file"""
    path = os.path.join(folder, case.name + '.yaml')
    with open(path, 'w') as f:
        f.write(optimize.scene_text(case.problem, 16, iterations))
    return path


def find_card(program, case):
    """its name, or None, and why there is none"""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([program, scene_of(folder, case, 1), 'ilqr', '1', '1', '1', '1', '0', 'cuda'], capture_output=True, text=True)
    if run.returncode:
        return None, run.stderr.strip()
    try:  # a twin on the CPU is no card
        names = subprocess.run(['nvidia-smi', '--query-gpu=name', '--format=csv,noheader'], capture_output=True, text=True, check=True).stdout
        return names.splitlines()[0], None
    except (OSError, subprocess.CalledProcessError, IndexError):
        return None, 'nvidia-smi knows of none'


class Trials:
    """what 100 trials of a case did, by variant and M: costs, defects and seconds [trial][iteration], the last ones repeated"""

    def __init__(self, program, folder, case, variant, m, trials, iterations, place='cpu'):
        method, backward = VARIANTS[variant]
        words = [program, scene_of(folder, case, iterations), method, m if backward else 1, m, trials, iterations, SIGMA,
                 *(['cuda'] if place == 'card' else [])]
        progress(f'{case.name}, {variant}, M = {m}{PLACES[place]}')
        text = subprocess.run([str(w) for w in words], check=True, capture_output=True, text=True).stdout
        runs = [[] for _ in range(trials)]
        for row in csv.DictReader(io.StringIO(text)):
            runs[int(row['trial'])].append({key: row[key] if key == 'stop' else float(row[key]) for key in row})
        self.cost, self.defect = ([[r[key] for r in run] + [run[-1][key]] * (iterations + 1 - len(run)) for run in runs]
                                  for key in ('cost', 'defect'))
        self.stuck = [run[-1]['stop'] == 'stuck' for run in runs]
        for run in runs:
            for r in run:
                r['rest_s'] = r['seconds'] - r['steps_s'] - r['derivatives_s'] - r['costs_s']
        self.seconds = {key: [[r[key] for r in run[1:]] for run in runs] for key in ('seconds', *PARTS)}

    def median_costs(self):
        return [median(column) for column in zip(*self.cost)]

    def median_clock(self):
        """s until an iteration is over: the sum of the medians of those up to it"""
        clock = [0.0]
        for k in range(max(len(run) for run in self.seconds['seconds'])):
            clock.append(clock[-1] + median([run[k] for run in self.seconds['seconds'] if len(run) > k]))
        return clock

    def median_iteration(self, key='seconds', first=10):
        """s, of the first iterations: later ones of some runs accept nothing, and linearise nothing"""
        return median([s for run in self.seconds[key] for s in run[:first]])

    def reached(self, optima, share=0.01):
        """iterations until the cost is within a share of the trial's optimum, with closed defects; None: never"""
        found = []
        for cost, defect, optimum in zip(self.cost, self.defect, optima):
            found.append(next((k for k, (c, d) in enumerate(zip(cost, defect)) if c <= optimum * (1 + share) and d < 1e-2), None))
        return found


class Figures:
    def __init__(self, args):
        self.args, self.trials, self.iterations = args, 10 if args.quick else args.trials, 30 if args.quick else 100
        whole = not (args.quick or args.only)
        partly = os.path.join(build.BUILD, 'results')
        load = os.getloadavg()[0]
        self.program = os.path.join(args.build or build.cmake(build.ROOT, 'catena', 'blocks_bench'), 'blocks_bench')
        name, sets = build.cpu()
        self.facts = {'device': f'{name}, {os.cpu_count()} cores, {" ".join(sets)}'}
        folder = machine(self.facts)
        self.facts |= {'catena': build.commit(build.ROOT), 'threads': 1, 'trials': self.trials, 'sigma': SIGMA,
                       'date': datetime.date.today().isoformat(), 'load at the start': '%.2f' % load}
        self.card, why = find_card(self.program, cases()[0])
        self.facts['card'] = self.card or f'not run on one: {why}'
        self.out = args.out or (os.path.join(build.HERE, 'results', folder) if whole else partly)
        self.pictures = args.out or (os.path.join(build.ROOT, 'docs', 'figures') if whole else partly)
        for folder in (self.out, self.pictures):
            os.makedirs(folder, exist_ok=True)
        self.lines, self.records = [], []

    def multiplot(self, places):
        """panels of time: of the CPU, and of the card, if there is one"""
        word = f'above: one thread of the CPU; below: {self.card}' if places > 1 else 'one thread of the CPU; not run on a card'
        return f'set multiplot layout {places},{len(VARIANTS)} title "{word}"'

    def panels(self, name, head, rows, records, timed):
        """a panel for each place and variant, variants side by side; rows: {(place, variant): [(m, [(x, y)])]}"""
        blocks, plots = {}, []
        for (place, variant), curves in rows.items():
            one = []
            for m, points in curves:
                blocks[f'{place}_{variant}{m}'] = points
                one.append(f'${place}_{variant}{m} with lines lw 2 lc rgb "{HUES[m]}" title "M = {m}"')
            plots.append(f'set title "{TITLES[variant]}{PLACES[place]}"\nplot ' + ', '.join(one))
        path = os.path.join(self.pictures, f'parallel-ddp-{name}')
        places = len(rows) // len(VARIANTS)
        layout = self.multiplot(places) if timed else f'set multiplot layout 1,{len(rows)}'
        session.write_csv(path + '.csv', records, self.facts)
        session.draw(path + '.png', f'{layout}\nset grid\nset logscale y\n{head}\n' + '\n'.join(plots) + '\nunset multiplot', blocks,
                     f'1400,{520 * places}')

    def range_of(self, case, made):
        """of costs: from the least to that of the guess"""
        low = min(min(t.median_costs()) for t in made.values())
        return f'set yrange [{low * 0.9:g}:{made[next(iter(made))].cost[0][0] * 1.2:g}]\nset ytics ({TICKS})'

    def draw_iterations(self, case, made):
        records, rows = [], {}
        for (variant, m), t in made.items():
            costs = t.median_costs()
            rows.setdefault(('cpu', variant), []).append((m, list(enumerate(costs))))
            records += [{'variant': variant, 'M': m, 'iteration': k, 'median_cost': c} for k, c in enumerate(costs)]
        self.panels(case.figures['iterations'], f'{self.range_of(case, made)}\nset xrange [0:{case.shown}]\nset xlabel "iteration"\n'
                    f'set ylabel "median cost, {case.title}"', rows, records, False)

    def draw_time(self, case, every):
        records, rows = [], {}
        for place, made in every.items():
            for (variant, m), t in made.items():
                costs, clock = t.median_costs(), t.median_clock()
                points = [(1e3 * s, c) for s, c in zip(clock, costs) if 1e3 * s <= 2 * case.milliseconds]
                rows.setdefault((place, variant), []).append((m, points))
                records += [{'on': place, 'variant': variant, 'M': m, 'ms': ms, 'median_cost': c} for ms, c in points]
        self.panels(case.figures['time'], f'{self.range_of(case, every["cpu"])}\nset xrange [0:{case.milliseconds}]\nset xlabel "ms"\n'
                    f'set ylabel "median cost, {case.title}"', rows, records, True)

    def draw_parts(self, case, every):
        records, blocks, plots = [], {}, []
        for place, made in every.items():
            for variant in VARIANTS:
                rows = [(m, t) for (v, m), t in made.items() if v == variant]
                for m, t in rows:
                    records.append({'on': place, 'variant': variant, 'M': m, 'ms': 1e3 * t.median_iteration()}
                                   | {key.replace('_s', '_ms'): 1e3 * t.median_iteration(key) for key in PARTS})
                name = f'{place}_{variant}'
                blocks[name] = [(k, *(1e3 * t.median_iteration(key) for key in PARTS)) for k, (m, t) in enumerate(rows)]
                ticks = ', '.join(f'"{m}" {k}' for k, (m, _) in enumerate(rows))
                plots.append(f'set title "{TITLES[variant]}{PLACES[place]}"\nset xtics ({ticks})\nplot ' + ', '.join(
                    f'${name} using {k + 2} lc rgb "{hue}" title "{title}"' for k, (title, hue) in enumerate(PARTS.values())))
        path = os.path.join(self.pictures, f'parallel-ddp-{case.figures["parts"]}')
        most = max(r['ms'] for r in records)
        session.write_csv(path + '.csv', records, self.facts)
        session.draw(path + '.png', f'{self.multiplot(len(every))}\nset grid y\nset style data histograms\nset style histogram rowstacked\n'
                     f'set style fill solid\nset boxwidth 0.7\nset yrange [0:{1.4 * most:g}]\nset xlabel "M"\n'
                     f'set ylabel "median ms an iteration, {case.title}"\n' + '\n'.join(plots) + '\nunset multiplot', blocks,
                     f'1400,{520 * len(every)}')

    def table(self, case, made, optima, place):
        for (variant, m), t in made.items():
            reached = t.reached(optima)
            never, stuck = sum(r is None for r in reached), sum(t.stuck)
            high = sum(not (c[-1] <= 1.1 * o and d[-1] < 1e-2) for c, d, o in zip(t.cost, t.defect, optima))
            known = sorted(self.iterations + 1 if r is None else r for r in reached)
            middle = known[(len(known) - 1) // 2]
            record = {'case': case.name, 'on': place, 'variant': variant, 'M': m, 'median_iterations_to_1_percent': middle if middle <= self.iterations else '',
                      'not_within_1_percent': never / self.trials, 'not_within_10_percent': high / self.trials,
                      'stuck': stuck / self.trials, 'median_cost_at_the_end': t.median_costs()[-1], 'ms_an_iteration': 1e3 * t.median_iteration()}
            self.records.append(record)
            self.lines.append(f'| {case.title} | {place} | {variant} | {m} | {record["median_iterations_to_1_percent"] or f"over {self.iterations}"} | '
                              f'{100 * record["not_within_1_percent"]:.0f} | {100 * record["not_within_10_percent"]:.0f} | {100 * record["stuck"]:.0f} | '
                              f'{record["median_cost_at_the_end"]:.6g} | {record["ms_an_iteration"]:.3g} |')

    def run(self, case):
        with tempfile.TemporaryDirectory() as folder:
            places = ['cpu', *(['card'] if self.card and 'parts' in case.figures else [])]
            every = {place: {(variant, m): Trials(self.program, folder, case, variant, m, self.trials, self.iterations, place)
                             for variant in VARIANTS for m in case.blocks if not self.args.quick or m in (1, 4, 16)} for place in places}
            best = Trials(self.program, folder, case, 'forward', 1, self.trials, 300)
        optima = [cost[-1] for cost in best.cost]
        self.draw_iterations(case, every['cpu'])
        if 'parts' in case.figures:
            self.draw_parts(case, every)
            self.draw_time(case, every)
        for place, made in every.items():
            self.table(case, made, optima, place)

    def save(self):
        head = [f'{key}: {value}' for key, value in self.facts.items()]
        lines = ['; '.join(head), '', '| case | on | variant | M | median iterations to 1 % | % of trials that never came within 1 % | that end beyond 10 %, or with open defects | stuck '
                 f'| median cost after {self.iterations} | ms an iteration |', '|---' * 10 + '|', *self.lines]
        with open(os.path.join(self.out, 'blocks.md'), 'w') as f:
            f.write('\n'.join(lines) + '\n')
        session.write_csv(os.path.join(self.out, 'blocks.csv'), self.records, self.facts)
        progress('')
        print('\n'.join(lines))
        print(f'\nfigures in {os.path.relpath(self.out)}, pictures in {os.path.relpath(self.pictures)}')


def main():
    parser = argparse.ArgumentParser(prog='bench/blocks', description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--quick', action='store_true', help='10 trials of 30 iterations, few M: to see that it works')
    parser.add_argument('--trials', type=int, default=100, metavar='N')
    parser.add_argument('--only', action='append', metavar='CASE', default=[], help='quadrotor, arm or arm-reach; may be repeated')
    parser.add_argument('--build', metavar='FOLDER', default=os.environ.get('CATENA_BUILD'),
                        help='a build that has blocks_bench already, default one made in build-bench')
    parser.add_argument('--out', metavar='DIR', help='folder of all files, default bench/results/<machine> and docs/figures (of partial '
                        'runs: build-bench/results)')
    figures = Figures(parser.parse_args())
    every = {case.name: case for case in cases()}
    for name in figures.args.only:
        if name not in every:
            sys.exit(f'--only: unknown {name}; there are {", ".join(every)}')
    for name, case in every.items():
        if not figures.args.only or name in figures.args.only:
            figures.run(case)
    figures.save()


if __name__ == '__main__':
    main()
