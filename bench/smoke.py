#!/usr/bin/env python3
"""Tests of the benchmark itself: that both programs step the same models, that costs are read off right, that the three programs run.

They take about two minutes and judge no times. Called by bench/smoke.
"""
import argparse
import csv
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import build
import motions
import session
import survives
import work_precision as wp

MODELS = {name: case.model for name, case in (wp.CASES | survives.CASES).items()}


def rows(path):
    with open(path) as f:
        return list(csv.DictReader(line for line in f if not line.startswith('#')))


class Twins(unittest.TestCase):
    """catena and MuJoCo have been given the same models and states"""

    @classmethod
    def setUpClass(cls):
        args = argparse.Namespace(quick=True, only=[], out=tempfile.mkdtemp(), core=None)
        cls.s = session.Session(args)
        if 'mujoco' not in cls.s.workers:
            raise unittest.SkipTest('no mujoco')

    @classmethod
    def tearDownClass(cls):
        for worker in cls.s.workers.values():
            worker.close()

    def test_same_motion(self):
        for name, model in MODELS.items():
            with self.subTest(model=name):
                m = model()
                self.s.load(m)
                steps, dt = (3, 1e-5) if m.nv > 500 else (100, 1e-5 if name == 'iiwa-stiff' else 1e-4)
                ours, theirs = (wp.finish(self.s, program, name, 'rk4', 1, dt, steps, 0.0)[0] for program in ('catena', 'mujoco'))
                self.assertLess(wp.distance(ours, theirs), 1e-10)
                # and the points have moved: nothing is compared with itself at rest
                start, _ = wp.finish(self.s, 'catena', name, 'rk4', 1, dt, 0, 0.0)
                self.assertGreater(wp.distance(ours, start), 1e-11)

    def test_worlds_start_from_the_first(self):
        self.s.load(motions.swing(10))
        one, many = (wp.finish(self.s, 'catena', 'swing10', 'rk4', w, 0.01, 10, 0.0)[0] for w in (1, motions.WORLDS))
        self.assertEqual(wp.distance(one, many), 0)

    def test_references(self):
        """scipy's DOP853, which shares no integrator with either program, ends where the references say"""
        for name in ('swing10', 'flying-tree5', 'iiwa-falling'):
            self.s.load(wp.CASES[name].model())
            with open(wp.REFERENCES) as f:
                end = np.array(json.load(f)[name]['points'])
            points = wp.judge(self.s, name, wp.CASES[name], end)
            if not points:
                self.skipTest('no scipy')
            self.assertLess(points[-1].error, 1e-8, name)

    def test_unknown_method(self):
        self.s.load(motions.hinge_ball())
        self.assertFalse(self.s.takes('catena', 'hinge-ball', 'rk5'))
        self.assertTrue(any('rk5' in note for note in self.s.notes))

    def test_survival(self):
        """MuJoCo's Euler gains energy at 20 ms; collocation cannot, and alpha does not"""
        self.s.load(motions.hinge_ball())
        ask = lambda program, method: self.s.ask(program, 'survive', 'hinge-ball', method, 0.02, 60.0, 7.8, 10.0)
        euler, ours, alpha = ask('mujoco', 'euler'), ask('catena', 'collocation,order=2'), ask('catena', 'alpha')
        self.assertLess(euler['gained'], 5)
        self.assertEqual(euler['how'], 'energy')
        self.assertEqual(ours['how'], 'yes')
        self.assertTrue(math.isnan(ours['gained']))
        self.assertEqual(ours['time'], 60.0)
        self.assertLessEqual(ours['most'], ours['start'])
        self.assertEqual(alpha['how'], 'yes')
        self.assertLess(alpha['most'] - alpha['start'], 1e-6)
        self.assertGreater(alpha['end'], ours['end'])


class Spinning(unittest.TestCase):
    """cases of bench/spin"""

    @classmethod
    def setUpClass(cls):
        try:
            import spin
        except ImportError as e:
            raise unittest.SkipTest(str(e))
        cls.spin, cls.catena, cls.folder = spin, build.command(build.ROOT, 'catena'), tempfile.mkdtemp()

    def test_same_motion(self):
        """the first 0.1 s by both programs' RK4; what touches does so by other laws, and is judged by the references"""
        for name in self.spin.CASES:
            with self.subTest(case=name):
                p = self.spin.Programs(self.catena, self.folder, name)
                p.case.duration = 0.1
                if p.case.slope is None:
                    ours, theirs = (p.run(program, 'rk4', 1e-4)['look'] for program in ('catena', 'mujoco'))
                    self.assertLess(p.off(ours, theirs), 1e-9)

    def test_references(self):
        """both programs end where the references say"""
        found = self.spin.read_references()
        self.assertEqual(set(found), set(self.spin.CASES))
        for name, reference in found.items():
            for program in ('catena', 'mujoco'):
                self.assertLess(reference[program]['off'], 1e-4, name)

    def test_orders(self):
        """a top in space: RK4 nears the closed form with the fourth power of the step"""
        p = self.spin.Programs(self.catena, self.folder, 'top')
        coarse, fine = (p.off(p.run('catena', 'rk4', dt)['look'], np.array(p.case.right())) for dt in (0.02, 0.01))
        self.assertGreater(math.log2(coarse / fine), 3.8)


class Costs(unittest.TestCase):
    """the cost at an error"""

    @staticmethod
    def points(*pairs):
        return [wp.Point('catena', 'rk4', 1, 0.1, None, error, cost) for error, cost in pairs]

    def test_between(self):
        # error = cost^-4: 1e-2 at cost 10^0.5
        points = self.points(*((cost ** -4.0, cost) for cost in (1, 2, 4, 8)))
        self.assertAlmostEqual(wp.cheapest(points, 1e-2), 10 ** 0.5)

    def test_by_chance(self):
        # the second run is good, the third is not: only from the fourth on
        points = self.points((1, 1), (1e-6, 2), (1e3, 3), (1e-6, 4), (1e-7, 5))
        self.assertEqual(wp.cheapest(points, 1e-5), 4)

    def test_never(self):
        self.assertIsNone(wp.cheapest(self.points((1, 1), (0.5, 2)), 1e-3))
        self.assertIsNone(wp.cheapest(self.points((math.inf, 1)), 1e-3))

    def test_reach(self):
        # a rod of 2 m and 1 kg: its centre of mass falls by 1 m
        self.assertAlmostEqual(motions.reach(motions.straight(10)), 9.81)


class Programs(unittest.TestCase):
    """each program from its command line, in its quickest form"""

    def run_program(self, name, *words):
        out = tempfile.mkdtemp()
        done = subprocess.run([sys.executable, os.path.join(build.HERE, name), '--quick', '--out', out, *words], capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return out

    def test_work_precision(self):
        out = self.run_program('work_precision.py', '--only', 'flying-tree5', '--limit', '0.02')
        for method, order in (('rk4', 3.5), ('alpha', 1.8)):
            runs = [r for r in rows(os.path.join(out, 'work_precision_runs.csv'))
                    if (r['program'], r['method'], r['worlds']) == ('catena', method, '1')]
            errors = [float(r['error']) for r in runs if float(r['error']) < 1e-2]
            self.assertGreater(math.log(errors[0] / errors[-1]) / math.log(1.5) / (len(errors) - 1), order, method)
        table = rows(os.path.join(out, 'work_precision.csv'))
        self.assertEqual([float(r['error']) for r in table], list(wp.LEVELS))
        self.assertTrue(os.path.getsize(os.path.join(out, 'work-precision.png')) > 5000)

    def test_equal_steps(self):
        out = self.run_program('work_precision.py', '--only', 'flying-tree5', '--dt', '0.02', '--method', 'alpha', '--method', 'collocation,order=2')
        found = {r['method']: r for r in rows(os.path.join(out, 'work_precision_steps.csv'))}
        self.assertEqual(set(found), {'alpha', 'collocation,order=2'})
        self.assertLess(float(found['alpha']['error']), 0.1 * float(found['collocation,order=2']['error']))
        self.assertEqual([float(r['dt']) for r in found.values()], [0.02, 0.02])

    def test_survives(self):
        out = self.run_program('survives.py', '--only', 'straight10')
        found = {(r['program'], r['method']): r for r in rows(os.path.join(out, 'survives.csv'))}
        self.assertEqual(found['catena', 'collocation,order=2']['how'], 'yes')
        self.assertNotEqual(found['catena', 'rk4']['how'], 'yes')

    def test_figures(self):
        out = self.run_program('figures.py', '--only', '2a', '--only', '3a')
        for name in ('2a', '3a'):
            self.assertTrue(os.path.getsize(os.path.join(out, f'position-based-{name}.png')) > 5000)
        energies = [float(r['energy']) for r in rows(os.path.join(out, 'position-based-2a.csv')) if r['method'] == 'collocation,order=2']
        self.assertTrue(all(b <= a + 1e-9 for a, b in zip(energies, energies[1:])))

    def test_spin(self):
        out = self.run_program('spin.py', '--only', 'top')
        with open(os.path.join(out, 'spin.json')) as f:
            found = {(r['program'], r['method'], r['dt']): r for r in json.load(f)['runs']}
        self.assertLess(found['catena', 'rk4', 0.01]['error'], 1e-4)
        self.assertLess(found['mujoco', 'rk4', 0.01]['error'], 1e-4)
        self.assertTrue(os.path.getsize(os.path.join(out, 'spin.png')) > 5000)

    def test_unknown_case(self):
        done = subprocess.run([sys.executable, os.path.join(build.HERE, 'survives.py'), '--only', 'rope'], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('--only: unknown rope; there are hinge-ball', done.stderr)


if __name__ == '__main__':
    unittest.main(verbosity=2, warnings='ignore')
