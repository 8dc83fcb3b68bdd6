#!/usr/bin/env python3
"""Prints the tables of docs/performance.md from the CSV files of a run of tools/bench-peers: bench/tables.py FOLDER"""
import csv
import sys


def rows(name):
    with open(f'{sys.argv[1]}/{name}.csv') as f:
        return list(csv.DictReader(line for line in f if not line.startswith('#')))


def number(text, digits=3):
    if text in ('-', ''):
        return '-'
    value = float(text)
    return f'{value:.0f}' if abs(value) >= 10 ** (digits - 1) else f'{value:.{digits}g}'


def table(title, head, lines):
    print(f'\n**{title}**\n\n| ' + ' | '.join(head) + ' |\n|' + '---|' * len(head))
    for line in lines:
        print('| ' + ' | '.join(line) + ' |')


def three(found, model, key, scale=lambda row: 1.0):
    """one cell for ABA / RNEA / CRBA"""
    cells = [found[model, a] for a in ('aba', 'rnea', 'crba')]
    return ' / '.join('-' if c[key] == '-' else number(float(c[key]) / scale(c)) for c in cells)


def main():
    batch = {(r['model'], r['algorithm']): r for r in rows('dynamics')}
    models = list(dict.fromkeys(m for m, _ in batch))
    table('Batch: ABA / RNEA / CRBA', ('model', 'nv', 'ns a joint and state', 'x Pinocchio', 'x Pinocchio SIMD', 'x MuJoCo'),
          [(m, batch[m, 'aba']['nv'], three(batch, m, 'catena_ns', lambda r: float(r['joints'])), three(batch, m, 'ratio_pinocchio'),
            three(batch, m, 'ratio_simd'), three(batch, m, 'ratio_mujoco')) for m in models])
    single = {(r['model'], r['algorithm']): r for r in rows('single')}
    table('A single state: ABA / RNEA / CRBA', ('model', 'ns a state', 'x Pinocchio', 'x MuJoCo'),
          [(m, three(single, m, 'catena_ns'), three(single, m, 'ratio_pinocchio'), three(single, m, 'ratio_mujoco')) for m in models])
    table('One step, 10 hinges', ('program', 'method', 'worlds', 'dt (s)', 'us a step and world', 'iterations'),
          [(r['program'], r['method'], r['worlds'], r['dt'], number(r['step_us']), number(r['iterations'])) for r in rows('step')])
    table('10 s of the falling arc', ('program', 'method', 'criterion', 'largest dt (s)', 'us a step', 'ms for 10 s', 'x collocation', 'tip off at 0.5 s (m)',
                                      'at 1 s (m)'),
          [(r['program'], r['method'], r['criterion'], number(r['dt']), number(r['step_us']), number(r['ms_for_10_s']), number(r['ratio']),
            number(r['tip_error_0.5'], 2), number(r['tip_error_1'], 2)) for r in rows('swing')])
    table('Collocation steps of ropes, dt = 1/60 s', ('rope', 'links', 'us a step', 'evaluations', 'times real time'),
          [(r['rope'], r['links'], number(r['step_us']), number(r['evaluations']), number(r['real_time_factor']))
           for r in rows('growth') + rows('rope')[1:]])
    table('Explicit steps, us a step and world', ('model', 'semi-implicit: one world, batch', 'MuJoCo Euler, implicitfast', 'rk4: one world, batch', 'MuJoCo RK4'),
          [(r['model'], f"{number(r['catena_semi-implicit_1_us'])}, {number(r['catena_semi-implicit_64_us'])}",
            f"{number(r['mujoco_euler_1_us'])}, {number(r['mujoco_implicitfast_1_us'])}",
            f"{number(r['catena_rk4_1_us'])}, {number(r['catena_rk4_64_us'])}", number(r['mujoco_rk4_1_us'])) for r in rows('explicit')])


if __name__ == '__main__':
    main()
