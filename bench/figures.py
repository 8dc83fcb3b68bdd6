#!/usr/bin/env python3
"""Draws figures 2 and 3 of Pan and Manocha 2018 ("Time integrating articulated body dynamics using position-based collocation methods")
with catena's methods, on the same axes but for logarithmic iterations and times; called by bench/figures.

Their chain is 10, 40 or 100 links with two degrees of freedom each that swing down; here it is 2 m long and released straight from the
horizontal. Each picture position-based-NAME.png has its numbers in a CSV file beside it.
"""
import os

import numpy as np

import motions
import session

SOLVERS = ('newton', 'lm', 'lbfgs')
PAPER = {'newton': '#de2d26', 'lm': '#2171b5', 'lbfgs': '#31a354'}  # colours
SIZES = (10, 15, 20, 25, 30, 35, 40)
STEPS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128)
SECOND = 1.024  # s, a multiple of all of these


class Figures:
    def __init__(self, s, duration, seconds):
        self.s, self.duration, self.seconds = s, duration, seconds

    def chain(self, n):
        name = f'straight{n}'
        if name not in self.s.models:
            self.s.load(motions.straight(n))
        return name

    def known(self, name, methods):
        return [m for m in methods if self.s.takes('catena', name, m)]

    def trace(self, name, method, dt):
        """[steps + 1][4]: time, energy, iterations, residual"""
        path = os.path.join(self.s.folder, 'trace')
        reply = self.s.ask('catena', 'trace', name, method, dt, round(self.duration / dt), path)
        return np.fromfile(path).reshape(-1, 4) if reply else np.empty((0, 4))

    def cost(self, name, method, dt, duration):
        """CPU s of `duration` s of motion; None where the world froze"""
        path = os.path.join(self.s.folder, 'end')
        reply = self.s.ask('catena', 'finish', name, method, 1, dt, round(duration / dt), self.seconds, 0.0, 0.0, 0.0, path)
        return reply['cpu'] if reply and not reply['frozen'] else None

    def save(self, name, records, script, blocks):
        path = os.path.join(self.s.pictures, f'position-based-{name}')
        session.write_csv(path + '.csv', records, self.s.facts)
        session.draw(path + '.png', script, blocks)

    def energies(self, figure, links, methods, dt=0.0025):
        """2a, 2b: energy over time, at a step that explicit methods of low order do not stand"""
        name = self.chain(links)
        reach, blocks, plots, records = motions.reach(motions.straight(links)), {}, [], []
        for k, method in enumerate(self.known(name, methods)):
            rows = self.trace(name, method, dt)[::10]
            blocks[f'm{k}'] = [(t, e) for t, e, *_ in rows if np.isfinite(e)]
            plots.append(f'$m{k} with lines lw 2 lc rgb "{session.COLOURS[method]}" title "{session.label(method)}"')
            records += [{'method': method, 'time': t, 'energy': e} for t, e, *_ in rows]
        self.save(figure, records, f'set grid\nset title "{links} links, dt {dt:g} s"\nset xlabel "time (s)"\nset ylabel "energy (J)"\n'
                  f'set yrange [{-1.3 * reach:g}:{0.7 * reach:g}]\nset key bottom left\nplot ' + ', '.join(plots), blocks)

    def total_times(self):
        """2c: computing the motion of 10 links, over the step"""
        name, blocks, plots, records = self.chain(10), {}, [], []
        for k, method in enumerate(self.known(name, ('semi-implicit', 'collocation,order=2'))):
            for dt in (1e-4, 2e-4, 5e-4, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.05):
                records.append({'method': method, 'dt': dt, 'cpu_s': self.cost(name, method, dt, self.duration), 'simulated_s': self.duration})
            blocks[f'm{k}'] = [(r['dt'], r['cpu_s']) for r in records if r['method'] == method and r['cpu_s']]
            plots.append(f'$m{k} with linespoints lw 2 pt 7 lc rgb "{session.COLOURS[method]}" title "{session.label(method)}"')
        self.save('2c', records, f'set grid\nset logscale xy\nset title "10 links, {self.duration:g} s (curves end where worlds freeze)"\n'
                  'set xlabel "time step (s)"\nset ylabel "CPU time (s)"\nplot ' + ', '.join(plots), blocks)

    def solvers(self, name):
        return self.known(name, [f'collocation,order=2,solver={solver}' for solver in SOLVERS])

    def iterations(self, figure, links, dt=0.05):
        """3a, 3b: iterations and residual of every step"""
        name, blocks, records, plots, below = self.chain(links), {}, [], [], []
        for k, method in enumerate(self.solvers(name)):
            solver, rows = method.split('=')[-1], self.trace(name, method, dt)[1:]
            blocks[f'm{k}'] = [(t, n, max(r, 1e-17)) for t, _, n, r in rows]
            look = f'with lines lw 2 lc rgb "{PAPER[solver]}" title "{solver}"'
            plots.append(f'$m{k} using 1:2 {look}')
            below.append(f'$m{k} using 1:3 {look}')
            records += [{'solver': solver, 'time': t, 'iterations': n, 'residual': r} for t, _, n, r in rows]
        self.save(figure, records, 'set multiplot layout 2,1\nset grid\nset lmargin 12\n'
                  f'set title "{links} links, dt {dt:g} s"\nset ylabel "iterations a step"\nset logscale y\nset yrange [1:*]\nplot ' + ', '.join(plots)
                  + '\nunset title\nset xlabel "time (s)"\nset ylabel "residual"\nset yrange [*:*]\nplot ' + ', '.join(below)
                  + '\nunset multiplot', blocks)

    def step_times(self, figure, cases, axis, title):
        """3c, 3d: mean time of a step over the first second (lbfgs takes seconds a step later); `cases`: (x, links, dt)"""
        blocks, plots, records = {}, [], []
        for solver in SOLVERS:
            for order in (2, 3):
                rows, method = [], f'collocation,order={order},solver={solver}'
                for x, links, dt in cases:
                    name = self.chain(links)
                    cost = self.cost(name, method, dt, SECOND) if self.s.takes('catena', name, method) else None
                    if cost:
                        rows.append((x, 1e6 * cost / round(SECOND / dt)))
                        records.append({'solver': solver, 'order': order, 'links': links, 'dt': dt, 'step_us': rows[-1][1]})
                if rows:
                    blocks[f'{solver}{order}'] = rows
                    dash = 1 if order == 2 else 2
                    plots.append(f'${solver}{order} with linespoints lw 2 pt 7 dt {dash} lc rgb "{PAPER[solver]}" title "{solver}, order {order}"')
        self.save(figure, records, f'set grid\nset title "{title}"\nset xlabel "{axis}"\nset ylabel "CPU time a step (us)"\nset logscale y\n'
                  'set key top left\n' + ('set logscale x\n' if axis.startswith('time') else '') + 'plot ' + ', '.join(plots), blocks)


def main():
    args = session.parser('figures', __doc__.split('\n')[0].lstrip()).parse_args()
    s = session.Session(args, peers=())
    f = Figures(s, SECOND if args.quick else 10.0, 0.0 if args.quick else 0.5)
    drawn = {
        '2a': lambda: f.energies('2a', 10, ('euler', 'semi-implicit', 'rk2', 'collocation,order=2', 'collocation,order=3', 'alpha')),
        '2b': lambda: f.energies('2b', 100, ('euler', 'semi-implicit', 'rk2', 'rk3', 'collocation,order=2', 'collocation,order=3', 'alpha')),
        '2c': f.total_times,
        '3a': lambda: f.iterations('3a', 10),
        '3b': lambda: f.iterations('3b', 40),
        '3c': lambda: f.step_times('3c', [(n, n, 0.05) for n in SIZES], 'links', 'dt 0.05 s'),
        '3d': lambda: f.step_times('3d', [(dt, 10, dt) for dt in STEPS], 'time step (s)', '10 links'),
    }
    for name in s.wanted(drawn):
        drawn[name]()
        print(f'figure {name}', flush=True)
    s.save()


if __name__ == '__main__':
    main()
