#!/usr/bin/env python3
"""CMA-ES on the functions of BBOB: which share of targets is reached after how many evaluations, catena beside pycma.

usage: bbob.py [--catena build] [--quick] [--functions F ...] [--sizes N ...] [--instances K] [--seed S] [--runs FILE.npz]
               [--figures DIR] [--out FILE.md]

Needs PyPI's coco-experiment, cma, numpy and matplotlib. Both programs search with their defaults and BIPOP restarts, with steps of 2 at
first. A trial is a function, an instance of it and n; its first start is drawn from [-4, 4] and the same for both, all others are each
program's own. The 51 targets of a trial are 10^2 .. 10^-8 above the optimum. A share is that of all targets of all trials that were
reached within a budget, evaluations / n.
"""
import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import time

import cma
import cocoex
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
TARGETS = 10 ** np.linspace(2, -8, 51)
SIZES = (5, 10, 20)
BUDGETS = (10, 30, 100, 300, 1000, 3000, 10000)  # of the table, evaluations / n
SIGMA, BOX = 2.0, 4.0
GROUPS = {'separable, f1-5': range(1, 6), 'moderate, f6-9': range(6, 10), 'ill-conditioned, f10-14': range(10, 15),
          'many optima, f15-19': range(15, 20), 'weak structure, f20-24': range(20, 25), 'all': range(1, 25)}
QUICK = (1, 8, 15)  # functions of --quick
RESAMPLED = 2000
COLOURS = {'catena': '#d62728', 'pycma': '#1f77b4'}


class Over(Exception):
    """the budget is spent, or the last target reached"""


class Trial:
    """a function that counts its evaluations, and notes at which one each target was reached"""

    def __init__(self, function, n, instance, budget):
        self.problem = cocoex.BareProblem('bbob', function, n, instance)
        self.best, self.budget = self.problem.best_value(), budget * n
        self.reached, self.hit, self.count = np.full(len(TARGETS), np.inf), 0, 0

    def __call__(self, x):
        """values of x [k][n]"""
        values = self.problem(x)
        above = values - self.best
        while self.hit < len(TARGETS) and above.min() <= TARGETS[self.hit]:
            self.reached[self.hit] = self.count + 1 + np.argmax(above <= TARGETS[self.hit])
            self.hit += 1
        self.count += len(values)
        return values

    def over(self):
        return self.hit == len(TARGETS) or self.count >= self.budget


class Catena:
    """the library, by way of bbob.c"""

    def __init__(self, folder, temporary):
        path = os.path.join(temporary, 'bbob.so')
        subprocess.run(['cc', '-std=gnu11', '-O2', '-Wall', '-Wextra', '-shared', '-fPIC', '-I' + os.path.join(ROOT, 'include'),
                        os.path.join(HERE, 'bbob.c'), '-o', path, '-L' + folder, '-lcatena', '-Wl,-rpath,' + folder], check=True)
        numbers = ctypes.POINTER(ctypes.c_double)
        self.callback = ctypes.CFUNCTYPE(ctypes.c_int, numbers, ctypes.c_int, numbers)
        self.search = ctypes.CDLL(path).bbob_search
        self.search.argtypes = [ctypes.c_int, numbers, ctypes.c_double, ctypes.c_uint64, self.callback]

    def run(self, trial, x0, seed):
        raised = []

        def values(x, count, f):
            try:
                np.ctypeslib.as_array(f, (count,))[:] = trial(np.ctypeslib.as_array(x, (count, len(x0))))
            except BaseException as e:  # C knows none: it is kept, and raised below
                raised.append(e)
            return bool(raised) or trial.over()

        runs = self.search(len(x0), x0.ctypes.data_as(ctypes.POINTER(ctypes.c_double)), SIGMA, seed, self.callback(values))
        if raised:
            raise raised[0]
        if runs < 0:
            raise RuntimeError('catena')


class Pycma:
    def run(self, trial, x0, seed):
        draw, starts = np.random.default_rng(seed), [x0]

        def values(x):
            f = trial(np.asarray(x))
            if trial.over():
                raise Over
            return list(f)

        def start():
            return starts.pop() if starts else draw.uniform(-BOX, BOX, len(x0))

        try:  # each run's seed is one more than that of the run before
            cma.fmin2(None, start, SIGMA, {'verbose': -9, 'seed': 1000 * seed}, parallel_objective=values, restarts=9, bipop=True)
        except Over:
            pass


def measure(program, functions, sizes, instances, budget, seed, say):
    """evaluations at which targets were reached, inf where they were not [size][function][instance][target]"""
    reached = np.empty((len(sizes), len(functions), instances, len(TARGETS)))
    for i, n in enumerate(sizes):
        begun = time.perf_counter()
        for j, function in enumerate(functions):
            for k in range(instances):
                trial = Trial(function, n, k + 1, budget)
                x0 = np.random.default_rng([n, function, k, seed]).uniform(-BOX, BOX, n)
                program.run(trial, x0, 1 + k + 100 * (function + 25 * n) + 60000 * seed)
                reached[i, j, k] = np.where(trial.reached <= trial.budget, trial.reached, np.inf)
        say(f'{type(program).__name__.lower()}, n = {n}: {time.perf_counter() - begun:.0f} s')
    return reached


def shares(reached, sizes, budgets):
    """of the targets of each trial [size][function][instance][budget]"""
    limits = np.multiply.outer(np.array(sizes), np.array(budgets))
    return np.stack([(reached[i][..., None] <= limits[i]).mean(-2) for i in range(len(sizes))])


def interval(x, seed=1):
    """where the mean of x [function][instance][budget] lies in 95 % of samples, instances of each function drawn anew: bootstrap"""
    draw = np.random.default_rng(seed)
    functions, instances = x.shape[:2]
    means = [x[np.arange(functions)[:, None], draw.integers(0, instances, (functions, instances))].mean((0, 1))
             for _ in range(RESAMPLED)]
    mean = x.mean((0, 1))  # what is drawn from a few varies less than these do: wider by the root of k / (k - 1)
    return mean + (np.quantile(means, (0.025, 0.975), axis=0) - mean) * (instances / max(instances - 1, 1)) ** 0.5


def rows_of(functions, sizes):
    """name, sizes, functions of each row of the table, as indices"""
    for name, group in GROUPS.items():
        chosen = [j for j, f in enumerate(functions) if f in group]
        if chosen and (name == 'all' or len(chosen) < len(functions)):  # else both rows are the same
            for i, n in enumerate(sizes):
                yield name, f'{n}', [i], chosen
    if len(sizes) > 1:
        yield 'all', 'all', list(range(len(sizes))), list(range(len(functions)))


def table(ours, theirs, functions, sizes, budgets):
    """lines in Markdown, and the cells that are below, or above, by more than chance"""
    lines = ['| functions | n | ' + ' | '.join(f'{b:g}' for b in budgets) + ' |', '|---|---' + '|---' * len(budgets) + '|']
    below, above, cells = [], [], 0
    for name, size, i, j in rows_of(functions, sizes):
        a, b = (np.concatenate([x[k][j] for k in i]) for x in (ours, theirs))
        low, high = interval(a - b)
        line = f'| {name} | {size} |'
        for k, budget in enumerate(budgets):
            mark = '−' if high[k] < 0 else '+' if low[k] > 0 else ''
            line += f' {100 * a[..., k].mean():.1f} / {100 * b[..., k].mean():.1f} {mark}'.rstrip() + ' |'
            cells += 1
            (below if mark == '−' else above if mark else []).append(
                f'{name}, n = {size}, {budget:g} n: {100 * (a - b)[..., k].mean():+.1f} points '
                f'[{100 * low[k]:+.1f}, {100 * high[k]:+.1f}]')
        lines.append(line)
    lines += ['', f'catena / pycma, % of targets. − below, + above pycma where 95 % of resampled differences are. Of {cells} cells '
              f'{len(below)} are below and {len(above)} above; chance makes {0.025 * cells:.1f} of each where both are the same.']
    return lines + [''] + [f'- below: {text}' for text in below] + [f'- above: {text}' for text in above]


def curves(ours, theirs, sizes, budgets, path):
    """of all functions, as CSV; returns them [size][program] (share, low, high)"""
    found = [[(x[i].mean((0, 1)), *interval(x[i])) for x in (ours, theirs)] for i in range(len(sizes))]
    with open(path, 'w') as f:
        f.write('n,evaluations_n,catena,catena_low,catena_high,pycma,pycma_low,pycma_high,difference_low,difference_high\n')
        for i, n in enumerate(sizes):
            apart = interval(ours[i] - theirs[i])
            for k, budget in enumerate(budgets):
                numbers = [x[k] for program in found[i] for x in program] + [x[k] for x in apart]
                f.write(f'{n},{budget:.4g},' + ','.join(f'{x:.4f}' for x in numbers) + '\n')
    return found


def draw(found, sizes, budgets, path):
    import matplotlib
    matplotlib.use('Agg')
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(1, len(sizes), figsize=(9, 3.2), sharey=True, squeeze=False, layout='constrained')
    for i, (n, axis) in enumerate(zip(sizes, axes[0])):
        for (share, low, high), name, line in zip(found[i], COLOURS, ('-', '--')):
            axis.plot(budgets, share, line, color=COLOURS[name], label=name, linewidth=1.5)
            axis.fill_between(budgets, low, high, color=COLOURS[name], alpha=0.15, linewidth=0)
        axis.set(xscale='log', xlim=(budgets[0], budgets[-1]), ylim=(0, 1), title=f'n = {n}', xlabel='evaluations / n')
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel('share of targets')
    axes[0][0].legend(loc='upper left')
    figure.savefig(path, dpi=100)


def pycma_runs(path, plan, say):
    """those of `path`, if they were made by this plan; else made now, and left there"""
    key = repr((plan, cma.__version__, cocoex.__version__, SIGMA, BOX))
    if path and os.path.exists(path):
        kept = np.load(path)
        if str(kept['key']) == key:
            return kept['reached']
        sys.exit(f'{path} is of another plan: {kept["key"]}')
    reached = measure(Pycma(), *plan, say)
    if path:
        np.savez_compressed(path, reached=reached, key=key)
    return reached


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument('--catena', default='build', help='the folder of libcatena')
    args.add_argument('--quick', action='store_true', help='three functions, small budgets: to see that it works; its figures are noise')
    args.add_argument('--functions', type=int, nargs='*', default=range(1, 25))
    args.add_argument('--sizes', type=int, nargs='*', default=SIZES, help='n')
    args.add_argument('--instances', type=int, default=10, help='trials of each function and n, at most 99')
    args.add_argument('--seed', type=int, default=0, help='others have other starts and random numbers, at most 70')
    args.add_argument('--runs', metavar='FILE.npz', help="pycma's runs: read where there are any, else written")
    args.add_argument('--figures', metavar='DIR', help='where bbob.png and bbob.csv go')
    args.add_argument('--out', metavar='FILE.md')
    args = args.parse_args()
    functions, sizes, instances, budgets = tuple(args.functions), tuple(args.sizes), args.instances, BUDGETS
    if args.quick:
        functions, sizes, instances, budgets = QUICK, SIZES[:2], 2, BUDGETS[:5]
    plan = functions, sizes, instances, budgets[-1], args.seed

    def say(text):
        print(text, file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as temporary:
        reached = [measure(Catena(os.path.abspath(args.catena), temporary), *plan, say), pycma_runs(args.runs, plan, say)]
    lines = [f'catena beside pycma {cma.__version__}, on BBOB of COCO {cocoex.__version__}: {len(functions)} functions, {instances} '
             f'instances, BIPOP, sigma {SIGMA:g}', '']
    lines += table(*(shares(x, sizes, budgets) for x in reached), functions, sizes, budgets)
    if args.figures:
        os.makedirs(args.figures, exist_ok=True)
        fine = np.geomspace(1, budgets[-1], 81)
        found = curves(*(shares(x, sizes, fine) for x in reached), sizes, fine, os.path.join(args.figures, 'bbob.csv'))
        draw(found, sizes, fine, os.path.join(args.figures, 'bbob.png'))
    text = '\n'.join(lines) + '\n'
    open(args.out, 'w').write(text) if args.out else print(text, end='')


if __name__ == '__main__':
    main()
