#!/usr/bin/env python3
"""Many worlds at once: catena's batches beside MuJoCo's own rollouts on threads, all in one run; called by bench/many.

MuJoCo's rollouts write every state, catena's batches keep the last one. Contacts and constraints are off. Times are on the wall, the least
of several rounds in turns. Figure 4 of Pan and Manocha 2018 (trajectories of 10 steps) is drawn with catena's threads in place of their GPU.
"""
import os
import time

import models
import motions
import numpy as np
import session
import states
from run import Worker

THREADS = len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()
EQUAL = {'semi-implicit': 'euler', 'rk4': 'rk4'}  # the same method by both names
GOAL = {'chain10': 7, 'chain20': 7, 'chain40': 7, 'humanoid': 7, 'chain100': 20}
DT = 2e-4  # s, equal steps: small enough that nothing is lost
SIZES = (5, 10, 15, 20, 25, 30, 35, 40)
GRID = (0.02, 0.016, 0.012, 0.01, 0.008, 0.006, 0.004, 0.002, 0.001, 5e-4, 2e-4)  # s, MuJoCo's steps to try
LONG = 60.0  # s, that it must survive
COUNTS = (4, 10, 30, 100, 300, 1000, 3000, 10000)


class Mujoco:
    """its rollouts, from the states that catena starts from"""

    def __init__(self, folder):
        import mujoco
        import mujoco.rollout
        self.mujoco, self.rollout, self.folder, self.now = mujoco, mujoco.rollout.Rollout, folder, None

    def load(self, name, integrator, dt):
        mj = self.mujoco
        self.model = mj.MjModel.from_xml_path(os.path.join(self.folder, name + '.xml'))
        self.model.opt.timestep = dt
        self.model.opt.integrator = {'euler': mj.mjtIntegrator.mjINT_EULER, 'rk4': mj.mjtIntegrator.mjINT_RK4}[integrator]
        self.q, self.v = states.load(os.path.join(self.folder, name) + '.states')[:2]

    def wall(self, worlds, threads, steps):
        mj = self.mujoco
        data = [mj.MjData(self.model) for _ in range(threads)]
        size = mj.mj_stateSize(self.model, mj.mjtState.mjSTATE_FULLPHYSICS)
        start = np.zeros((worlds, size))
        which = np.arange(worlds) % len(self.q)
        nq, nv = self.model.nq, self.model.nv
        start[:, 1:1 + nq], start[:, 1 + nq:1 + nq + nv] = self.q[which], self.v[which]
        out = np.empty((worlds, steps, size))
        with self.rollout(nthread=threads) as r:
            began = time.perf_counter()
            r.rollout(self.model, data, start, nstep=steps, state=out)
            return time.perf_counter() - began if np.isfinite(out).all() else None


    def survives(self, seconds, gain):
        """whether the first state, stepped for so long, never has more energy than that (J) above its start"""
        mj = self.mujoco
        self.model.opt.enableflags |= int(mj.mjtEnableBit.mjENBL_ENERGY)
        data = mj.MjData(self.model)
        data.qpos[:], data.qvel[:] = self.q[0], self.v[0]
        mj.mj_forward(self.model, data)
        most = sum(data.energy) + gain
        for _ in range(round(seconds / self.model.opt.timestep)):
            mj.mj_step(self.model, data)
            if not sum(data.energy) <= most:
                break
        self.model.opt.enableflags ^= int(mj.mjtEnableBit.mjENBL_ENERGY)
        return bool(sum(data.energy) <= most)


class Many:
    def __init__(self, s):
        self.s, self.seconds, self.rounds = s, 0.1 if s.args.quick else 0.3, 1 if s.args.quick else 3
        path = s.workers['catena'].command[0]
        self.worker = Worker('catena', path, s.folder, None)
        try:
            self.mujoco = Mujoco(s.folder)
        except ImportError as e:
            self.mujoco = None
            s.note(f'mujoco is left out: {e}')

    def ask(self, name, method, worlds, threads, dt, steps, schedule='auto', share=1.0):
        return self.worker.numbers('many', name, method, worlds, threads, schedule, dt, share, steps, self.seconds)

    def equal_steps(self):
        """the same step on both sides"""
        table = self.s.table('many-steps', 'Steps a second of all worlds, the same step', (
            'model', 'method', 'worlds', 'threads', 'catena', 'mujoco', 'catena/mujoco', 'goal'))
        for model in (models.chain(10), models.chain(20), models.chain(40), models.golden('humanoid'), models.chain(100)):
            self.put(model)
            for method, theirs in EQUAL.items():
                for worlds in (256, 4096):
                    for threads in sorted({1, THREADS}):
                        self.one_equal(table, model, method, theirs, worlds, threads)

    def one_equal(self, table, model, method, theirs, worlds, threads):
        steps = max(2, (4000 if self.s.args.quick else 20000) // worlds) * (1 if model.name == 'chain100' else 2)
        ours, other = [], []
        if self.mujoco:
            self.mujoco.load(model.name, theirs, DT)
        for _ in range(self.rounds):
            reply = self.ask(model.name, method, worlds, threads, DT, steps)
            ours.append(reply['wall'])
            if self.mujoco:
                other.append(self.mujoco.wall(worlds, threads, steps))
        if reply['frozen']:
            self.s.note(f'{model.name}, {method}: {reply["frozen"]:.0f} worlds froze')
        rate = worlds * steps / min(ours)
        lost = not other or None in other
        theirs_rate = None if lost else worlds * steps / min(other)
        ratio = None if lost else rate / theirs_rate
        table.row((model.name, method, worlds, threads, f'{rate:.3g}', '-' if lost else f'{theirs_rate:.3g}',
                   '-' if lost else f'{ratio:.1f}', f'{GOAL[model.name]}' + ('' if lost else ' ok' if ratio >= GOAL[model.name] else ' missed')),
                  {'model': model.name, 'method': method, 'worlds': worlds, 'threads': threads, 'dt': DT, 'steps': steps,
                   'catena': rate, 'mujoco': theirs_rate, 'ratio': ratio, 'bytes': reply['bytes']})

    def largest(self):
        """simulated time, each at the largest step that keeps it alive"""
        table = self.s.table('many-largest', 'Simulated seconds of all worlds a second, 256 worlds for 10 s from the horizontal, each at its largest step', (
            'links', 'threads', 'mujoco', 'dt (s)', 'seconds/s', 'catena', 'dt (s)', 'seconds/s', 'catena/mujoco', 'goal'))
        worlds, duration = (16, 1.0) if self.s.args.quick else (256, 10.0)
        if not self.mujoco:
            return
        for model in (motions.straight(10), motions.straight(20)):
            name, gain = self.put(model), 0.1 * motions.reach(model)
            found = []  # (dynamics a second, method, step)
            for theirs, calls in (('euler', 1), ('rk4', 4)):
                for dt in GRID:
                    self.mujoco.load(name, theirs, dt)
                    if self.mujoco.survives(1.0 if self.s.args.quick else LONG, gain):
                        found.append((calls / dt, theirs, dt))
                        break
            _, theirs, peer_dt = min(found)
            self.mujoco.load(name, theirs, peer_dt)
            for threads in sorted({1, THREADS}):
                rates = {}
                for _ in range(self.rounds):
                    wall = self.mujoco.wall(worlds, threads, round(duration / peer_dt))
                    rates[theirs] = max(rates.get(theirs, 0), worlds * duration / wall if wall else 0)
                    for dt in (0.05, 0.1):
                        reply = self.ask(name, 'collocation,order=2', worlds, threads, dt, round(duration / dt))
                        rates[dt] = max(rates.get(dt, 0), worlds * duration / reply['wall'])
                        if reply['frozen']:
                            self.s.note(f'{name}, collocation at {dt:g} s: {reply["frozen"]:.0f} worlds froze')
                for dt in (0.05, 0.1):
                    ratio = rates[dt] / rates[theirs]
                    table.row((len(model.links), threads, theirs, f'{peer_dt:g}', f'{rates[theirs]:.3g}', 'collocation 2', f'{dt:g}', f'{rates[dt]:.3g}', f'{ratio:.1f}',
                               '40 ' + ('ok' if ratio >= 40 else 'missed')),
                              {'model': name, 'threads': threads, 'mujoco': theirs, 'mujoco_dt': peer_dt, 'mujoco_rate': rates[theirs], 'dt': dt, 'rate': rates[dt], 'ratio': ratio})

    def threads(self):
        """all threads against one"""
        table = self.s.table('many-threads', f'{THREADS} threads against one, 1024 worlds of 10 links', (
            'method', 'dt (s)', 'steps/s, 1 thread', f'{THREADS} threads', 'by', 'bytes a world'))
        name = self.put(motions.straight(10))
        for method, dt, steps in (('semi-implicit', 2e-4, 400), ('rk4', 1e-3, 100), ('collocation,order=2', 0.02, 100), ('alpha', 0.02, 100),
                                  ('radau,stages=2', 0.05, 30)):
            walls = {}
            for _ in range(self.rounds):
                for threads in (1, THREADS):
                    reply = self.ask(name, method, 1024, threads, dt, steps)
                    walls[threads] = min(walls.get(threads, 1e9), reply['wall'])
            rates = [1024 * steps / walls[t] for t in (1, THREADS)]
            table.row((session.label(method), f'{dt:g}', f'{rates[0]:.3g}', f'{rates[1]:.3g}', f'{rates[1] / rates[0]:.2f}', f'{reply["bytes"]:.0f}'),
                      {'method': method, 'dt': dt, 'one': rates[0], 'all': rates[1], 'threads': THREADS, 'bytes': reply['bytes']})

    def schedules(self):
        """iteration-level scheduling against step-level"""
        table = self.s.table('many-schedules', 'Worlds scheduled by iteration against by step, one thread, 64 worlds', (
            'model', 'method', 'dt (s)', 'iterations a step, of worlds', 'lanes of use, by step', 'by iteration', 'by iteration faster by'))
        for model, method, dt, steps, *share in (
                (motions.straight(10), 'collocation,order=2', 0.02, 200), (motions.straight(10), 'collocation,order=2', 0.1, 100),
                (motions.swing(10), 'collocation,order=2', 0.1, 100), (motions.swing(10), 'radau,stages=2', 0.05, 60),
                (motions.swing(10), 'radau,stages=3', 0.05, 40), (motions.swing(20), 'radau,stages=2', 0.05, 40),
                (models.chain(10), 'radau,stages=2', 0.02, 40), (models.chain(10), 'radau,stages=3', 0.02, 40),
                (models.golden('humanoid'), 'radau,stages=2', 0.01, 40),
                # three worlds in four with a hundredth of the time step: most of their steps take one iteration
                (motions.swing(10), 'collocation,order=2', 0.1, 100, 0.01), (motions.swing(10), 'radau,stages=2', 0.05, 60, 0.01),
                (motions.swing(10), 'radau,stages=3', 0.05, 40, 0.01), (models.chain(10), 'radau,stages=2', 0.02, 40, 0.01),
                (models.chain(10), 'radau,stages=3', 0.02, 40, 0.01)):
            name = self.put(model)
            best = {}
            for _ in range(self.rounds):
                for schedule in ('step', 'iteration'):
                    reply = self.ask(name, method, 64, 1, dt, steps, schedule, *share)
                    wall = min(best.get(schedule, reply)['wall'], reply['wall'])
                    best[schedule] = reply | {'wall': wall}
            gain = best['step']['wall'] / best['iteration']['wall']
            table.row((name, session.label(method), f'{dt:g}' + (f', {share[0] * dt:g}' if share else ''), f'{reply["fewest"]:.1f} to {reply["most"]:.1f}', f'{100 * best["step"]["occupancy"]:.0f} %',
                       f'{100 * best["iteration"]["occupancy"]:.0f} %', f'{gain:.2f}'),
                      {'model': name, 'method': method, 'dt': dt, 'share': share[0] if share else 1, 'gain': gain} | {f'{k} {key}': x for k, r in best.items() for key, x in r.items()})

    def put(self, model):
        models.write(model, self.s.folder)
        return model.name

    def trajectories(self):
        """figure 4: trajectories of 10 steps, one thread against all"""
        table = self.s.table('many-trajectories', 'Trajectories of 10 steps of 50 ms, collocation 2, chains of universal joints', (
            'links', 'trajectories', '1 thread (ms)', f'{THREADS} threads (ms)', 'by'))
        blocks = {key: [] for key in ('a', 'b', 'c1', 'c2', 'd1', 'd2')}
        for n, count, where in [(n, 100, 'ac') for n in SIZES] + [(10, count, 'bd') for count in COUNTS]:
            name = self.put(motions.straight(n))
            walls = {}
            for _ in range(self.rounds):
                for threads in (1, THREADS):
                    walls[threads] = min(walls.get(threads, 1e9), self.ask(name, 'collocation,order=2', count, threads, 0.05, 10)['wall'])
            one, every = walls[1], walls[THREADS]
            x = n if where == 'ac' else count
            blocks[where[0]].append((x, one / every))
            blocks[where[1] + '1'].append((x, 1000 * one)), blocks[where[1] + '2'].append((x, 1000 * every))
            table.row((n, count, f'{1000 * one:.3g}', f'{1000 * every:.3g}', f'{one / every:.2f}'),
                      {'links': n, 'trajectories': count, 'one': one, 'all': every, 'threads': THREADS})
        path = os.path.join(self.s.pictures, 'position-based-4')
        speed = f'set ylabel "{THREADS} threads against 1"; set yrange [0:*]; unset logscale y'
        cost = 'set ylabel "ms"; set logscale y; set yrange [*:*]'
        style = 'with linespoints lw 2 pt 7'
        session.draw(path + '.png', f'''set multiplot layout 2,2
set grid; set key left top
set xlabel "links"; {speed}; set title "a: 100 trajectories"; plot $a {style} notitle
set xlabel "trajectories"; set logscale x; set title "b: 10 links"; plot $b {style} notitle
set xlabel "links"; unset logscale x; {cost}; set title "c: 100 trajectories"; plot $c1 {style} title "1 thread", $c2 {style} title "{THREADS} threads"
set xlabel "trajectories"; set logscale x; set title "d: 10 links"; plot $d1 {style} title "1 thread", $d2 {style} title "{THREADS} threads"
unset multiplot
''', blocks)
        session.write_csv(path + '.csv', table.records, self.s.facts)


def main():
    s = session.Session(session.parser('many', __doc__.split('\n')[0]).parse_args(), peers=())
    m = Many(s)
    parts = {'steps': m.equal_steps, 'largest': m.largest, 'threads': m.threads, 'schedules': m.schedules, 'trajectories': m.trajectories}
    for name in s.wanted(parts):
        parts[name]()
    m.worker.close()
    s.save()


if __name__ == '__main__':
    main()
