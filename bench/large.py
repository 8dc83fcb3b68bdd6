#!/usr/bin/env python3
"""How long a chain can be: catena beside MuJoCo and Pinocchio; called by bench/large.

Chains of hinges, as all of them have them, are made and stepped (semi-implicit, 1 us; Pinocchio: ABA) in ever larger sizes, each in a
process of its own that may take so much memory and time, until one fails. The table says how far each comes, what the last one that
went well took (CPU time; all memory of the process), and what was the matter with the next one.
"""
import argparse
import os
import resource
import subprocess
import sys
import time

import build

SIZES = [10 ** k * m for k in range(2, 7) for m in (1, 2, 5)]
MOST = 4194304
PROGRAMS = {'mujoco': 'MuJoCo, MJCF', 'spec': 'MuJoCo, mjSpec', 'pinocchio': 'Pinocchio, built by calls',
            'yaml': 'catena, scene file', 'parents': 'catena, parent array'}


def peak():
    """bytes that this process has held at most"""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def mjcf(n):
    body = '<body pos=".01 0 0"><joint axis="0 1 0"/><inertial pos=".005 0 0" mass=".001" diaginertia="5e-8 3.3e-8 3.3e-8"/>'
    return f'<mujoco><option timestep="1e-6"/><worldbody>{body * n}{"</body>" * n}</worldbody></mujoco>'


def mujoco_mjcf(n):
    import mujoco
    return mujoco_step(mujoco, mujoco.MjModel.from_xml_string(mjcf(n)))


def mujoco_spec(n):
    import mujoco
    spec = mujoco.MjSpec()
    spec.option.timestep = 1e-6
    body = spec.worldbody
    for _ in range(n):
        body = body.add_body(pos=[0.01, 0, 0], mass=0.001, ipos=[0.005, 0, 0], inertia=[5e-8, 3.3e-8, 3.3e-8],
                             explicitinertial=True)
        body.add_joint(axis=[0, 1, 0])
    return mujoco_step(mujoco, spec.compile())


def mujoco_step(mujoco, model):
    data = mujoco.MjData(model)
    made = time.process_time()
    mujoco.mj_step(model, data)
    return made


def pinocchio_aba(n):
    import numpy
    import pinocchio
    model = pinocchio.Model()
    joint = 0
    inertia = pinocchio.Inertia(0.001, numpy.array([0.005, 0, 0]), numpy.diag([5e-8, 3.3e-8, 3.3e-8]))
    for i in range(n):
        joint = model.addJoint(joint, pinocchio.JointModelRY(), pinocchio.SE3(numpy.eye(3), numpy.array([0.01, 0, 0])), f'j{i}')
        model.appendBodyToJoint(joint, inertia, pinocchio.SE3.Identity())
    data = model.createData()
    made = time.process_time()
    zero = numpy.zeros(model.nv)
    pinocchio.aba(model, data, numpy.zeros(model.nq), zero, zero)
    return made


def trial(program, n):
    """prints seconds to make, seconds of a step, bytes"""
    begin = time.process_time()
    made = {'mujoco': mujoco_mjcf, 'spec': mujoco_spec, 'pinocchio': pinocchio_aba}[program](n)
    print(f'ok {made - begin:.4g} {time.process_time() - made:.4g} {peak()}')


def worker():
    """the program of bench/large.c"""
    folder = os.path.join(build.BUILD, 'catena')
    build.catena(build.ROOT, 'catena')
    command = ['cc', '-std=gnu11', '-O2', '-I' + os.path.join(build.ROOT, 'include'), os.path.join(build.HERE, 'large.c'),
               '-L' + folder, '-lcatena', '-Wl,-rpath,' + folder, '-lm']
    return build.compile_once('large', command, [os.path.join(build.HERE, 'large.c')])


def run(command, limits):
    """what a trial printed, or why it failed"""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (limits.memory << 30,) * 2)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limits.seconds, preexec_fn=limit)
    except subprocess.TimeoutExpired:
        return None, f'more than {limits.seconds} s'
    said = done.stdout.strip().split('\n')[-1]
    if done.returncode == 0 and said.startswith('ok '):
        return [float(x) for x in said.split()[1:]], ''
    if done.returncode < 0:
        return None, 'a crash (signal %d)' % -done.returncode
    lines = [x for x in done.stderr.strip().split('\n') if x.strip()]
    return None, ' '.join((lines[-1] if lines else 'no answer').split())[:100]


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument('--memory', type=int, default=8, help='GB of a trial')
    options.add_argument('--seconds', type=int, default=60, help='of a trial')
    options.add_argument('--only', choices=PROGRAMS, action='append')
    options.add_argument('--trial', nargs=2, help=argparse.SUPPRESS)
    options = options.parse_args()
    if options.trial:
        return trial(options.trial[0], int(options.trial[1]))
    wanted = options.only or list(PROGRAMS)
    ours = worker() if {'yaml', 'parents'} & set(wanted) else None
    print('| program | links | s to make | s a step | kB a link | links that failed | why |\n|---|---|---|---|---|---|---|')
    for program in wanted:
        best = failed = None
        for n in SIZES + ([MOST] if program == 'parents' else []):
            own = program in ('yaml', 'parents')
            command = [ours, '--hinges'] if own else [sys.executable, __file__, '--trial']
            numbers, why = run(command + [program, str(n)], options)
            if not numbers:
                failed = n, why
                break
            best = n, numbers
        made, step, most = best[1] if best else (float('nan'),) * 3
        size = f'{most / best[0] / 1e3:.3g}' if best else '-'
        row = [PROGRAMS[program], f'{best[0] if best else 0}', f'{made:.3g}', f'{step:.3g}', size,
               *([str(failed[0]), failed[1]] if failed else ['-', '-'])]
        print('| ' + ' | '.join(row) + ' |', flush=True)


if __name__ == '__main__':
    main()
