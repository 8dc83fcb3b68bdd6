#!/usr/bin/env python3
"""Who survives at which step, at what cost, with what energy: catena beside MuJoCo's five integrators; called by bench/survives.

None of these motions can gain energy. A run has failed when its energy is more above that of the start than a tenth of what the start has to
lose, and is cut short when that is ten times instead of a tenth, when it freezes, or when a number is not finite or becomes huge.
"""
import math
from dataclasses import dataclass

import motions
import session

MUJOCO = ('euler', 'implicitfast', 'implicit', 'discrete', 'rk4')
OURS = ('semi-implicit', 'rk4', 'collocation,order=2', 'alpha', 'alpha,rho=0', 'radau,stages=1', 'radau,stages=2', 'radau,stages=3')
ALLOWED = 0.1  # of the reach
ENDS = {'frozen': 'frozen', 'nan': 'not finite', 'energy': '+1000 %', 'stopped': 'given up'}


@dataclass
class Case:
    model: object
    steps: tuple  # s
    duration: float
    quick: float  # duration of --quick


CASES = {
    'hinge-ball': Case(motions.hinge_ball, (0.02, 0.1), 3600.0, 60.0),
    'straight10': Case(lambda: motions.straight(10), (0.1,), 1000.0, 20.0),
    'straight50': Case(lambda: motions.straight(50), (0.1,), 1000.0, 10.0),
    'straight200': Case(lambda: motions.straight(200), (0.1,), 1000.0, 2.0),
    'long-rope1000': Case(lambda: motions.long_rope(1000), (1 / 60,), 10.0, 0.2),
}


def shown(reply):
    """what became of a run, in words"""
    gained = [] if math.isnan(reply['gained']) else [f'energy +10 % at {reply["gained"]:.3g} s']
    end = [] if reply['how'] == 'yes' else [f'{ENDS[reply["how"]]} at {reply["time"]:.3g} s']
    return ', '.join(gained + end) or 'survived'


def measure(s, table, name, case, dt, limit):
    duration = case.quick if s.args.quick else case.duration
    reach = motions.reach(case.model())
    for program, method in [('catena', m) for m in s.args.method or OURS] + [('mujoco', m) for m in MUJOCO]:
        if not s.takes(program, name, method):
            continue
        reply = s.ask(program, 'survive', name, method, dt, duration, ALLOWED * reach, limit)
        if not reply:
            continue
        high, end = ((reply[key] - reply['start']) / reach for key in ('most', 'end'))
        simulated = reply['cpu'] / reply['time'] * 1000 if reply['time'] > 0 else None
        table.row((name, f'{1000 * dt:.3g}', f'{program} {session.label(method)}', shown(reply), reply.get('iterations') or '-',
                   f'{reply["fallbacks"]:.0f}' if 'fallbacks' in reply else '-', simulated, f'{100 * high:.3g} %', f'{100 * end:.3g} %'),
                  {'case': name, 'dt': dt, 'duration': duration, 'program': program, 'method': method, 'reach': reach} | reply)


def main():
    p = session.parser('survives', __doc__.split('\n')[0])
    session.method_option(p)
    p.add_argument('--cpu', type=float, help='s of computing after which a run is given up, default 120 (quick: 1)')
    args = p.parse_args()
    s = session.Session(args)
    table = s.table('survives', 'Energies: highest and last, as a share of what the start has to lose, against the start', (
        'motion', 'dt (ms)', 'method', 'what became of it', 'iterations a step', 'fallbacks', 'CPU ms a simulated s', 'highest energy', 'last'))
    for name in s.wanted(CASES):
        case = CASES[name]
        s.load(case.model())
        for dt in case.steps:
            measure(s, table, name, case, dt, args.cpu or (1 if args.quick else 120))
            s.keep()
    s.save()


if __name__ == '__main__':
    main()
