"""Builds the workers: catena as a user builds it, the peers at their best. What has been built once is kept.

Pinocchio: clang++ (gcc's code for it is up to 1.9 times slower), -O3 for this machine, the templates instantiated in our own
translation unit; once with and once without Eigen's explicit vectorisation, as neither is always the faster one. MuJoCo: the
library of its wheel, as its authors built it.
"""
import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from glob import glob

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BUILD = os.path.join(ROOT, 'build-bench')

# members of pinocchio::DataTpl that only derivatives use; some are nv^3 numbers, 8 GB for 400 joints over 4 lanes
UNUSED = [(r'(d2tau_\w+)\(model\.nv, model\.nv, model\.nv\)', r'\1(0, 0, 0)'),
          (r'kinematic_hessians\(6, model\.nv, model\.nv\)', 'kinematic_hessians(0, 0, 0)'),
          (r'((?:dtau_dq|dtau_dv|ddq_dq|ddq_dv|ddq_dtau)\(RowMatrixXs::Zero\()model\.nv, model\.nv', r'\g<1>0, 0'),
          (r'(sDUiJt\(MatrixXs::Zero\()model\.nv, model\.nv', r'\g<1>0, 0'),
          (r'(jointTorqueRegressor\(MatrixXs::Zero\()model\.nv, 10 \* \(model\.njoints - 1\)', r'\g<1>0, 0'),
          (r'( U\(MatrixXs::Identity\()model\.nv, model\.nv', r'\g<1>0, 0')]
BOOST = ['-DBOOST_MPL_LIMIT_LIST_SIZE=30', '-DBOOST_MPL_LIMIT_VECTOR_SIZE=30', '-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS',
         '-DBOOST_FUSION_INVOKE_MAX_ARITY=12']


class Missing(Exception):
    """a worker cannot be built here, and why"""


def say(text):
    print(text, file=sys.stderr, flush=True)


def output(*command):
    """first line that a command prints, '' if it cannot run"""
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        return run.stdout.strip().split('\n')[0]
    except (OSError, subprocess.CalledProcessError):
        return ''


def attempt(command):
    try:
        subprocess.run(command, capture_output=True, text=True, check=True)
    except OSError as e:
        raise Missing(f'{command[0]}: {e.strerror}')
    except subprocess.CalledProcessError as e:
        raise Missing(f'{shlex.join(command)} failed:\n{e.stdout[-2000:]}{e.stderr[:2000]}')


def packages():
    """folder of the Python packages of this interpreter's environment"""
    return next((p for p in sys.path if p.endswith('site-packages')), '')


def cmake(tree, name, target):
    """the folder in which CMake's release build with the default compiler has made a target of a source tree"""
    folder = os.path.join(BUILD, name)
    say(f'building {name}')
    attempt(['cmake', '-S', tree, '-B', folder, '-DCMAKE_BUILD_TYPE=Release', '-DCATENA_TESTS=OFF', '-DCATENA_WERROR=OFF'])
    attempt(['cmake', '--build', folder, '--target', target, '--parallel', '2'])
    return folder


def command(tree, name):
    """the command catena, for what is easier to ask of it than of a worker"""
    return os.path.join(cmake(tree, name, 'catena-cli'), 'catena')


def catena(tree, name):
    """the library of a source tree; the worker as a program of a user of it"""
    folder = cmake(tree, name, 'catena')
    include = os.path.join(tree, 'include')
    command = ['cc', '-std=gnu11', '-O2', '-DNDEBUG', '-I' + include, os.path.join(HERE, 'catena_bench.c'), '-L' + folder,
               '-lcatena', '-Wl,-rpath,' + folder, '-lm']
    return compile_once(name + '_bench', command, [os.path.join(HERE, f) for f in ('catena_bench.c', 'bench.h')]
                        + sorted(glob(os.path.join(include, 'catena', '*.h'))))


def compile_once(name, command, sources):
    """runs `command` -o NAME unless it was run before on the same sources by the same compiler"""
    target = os.path.join(BUILD, name)
    mark = hashlib.sha256(' '.join(command + [output(command[0], '--version')]).encode())
    for path in sources:
        with open(path, 'rb') as f:
            mark.update(f.read())
    stamp = target + '.stamp'
    if os.path.exists(target) and os.path.exists(stamp) and open(stamp).read() == mark.hexdigest():
        return target
    say(f'building {name}')
    attempt(command + ['-o', target])
    with open(stamp, 'w') as f:
        f.write(mark.hexdigest())
    return target


def overlay(include):
    """a copy of the one header of Pinocchio that allocates what is not used here, without that; the timed code stays as it is"""
    relative = 'pinocchio/src/multibody/data.hxx'
    with open(os.path.join(include, relative)) as f:
        text = f.read()
    for pattern, replacement in UNUSED:
        text, found = re.subn(pattern, replacement, text)
        if not found:
            raise Missing(f'{relative} of this Pinocchio is not the one that bench/build.py knows: no {pattern}')
    folder = os.path.join(BUILD, 'overlay')
    path = os.path.join(folder, relative)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if not os.path.exists(path) or open(path).read() != text:
        with open(path + '.new', 'w') as f:
            f.write(text)
        os.replace(path + '.new', path)  # a compiler may be reading it
    return folder


def pinocchio(source, name, *flags):
    """takes minutes and 1.5 GB"""
    include = os.path.join(packages(), 'cmeel.prefix', 'include')
    if not os.path.exists(os.path.join(include, 'pinocchio')):
        raise Missing('the Python package pin is not installed')
    if not os.path.exists('/usr/include/eigen3/Eigen'):
        raise Missing('Eigen is not installed (libeigen3-dev)')
    if not shutil.which('clang++'):
        raise Missing('clang++ is not installed')
    command = ['clang++', '-std=c++17', '-O3', '-march=native', '-DNDEBUG', '-w', *flags, *BOOST, '-isystem', overlay(include),
               '-isystem', include, '-isystem', '/usr/include/eigen3', os.path.join(HERE, source)]
    return compile_once(name, command + ['-lmvec', '-lm'],
                        [os.path.join(HERE, f) for f in (source, 'pinocchio_worker.hpp', 'bench.h')])


def mujoco():
    folder = os.path.join(packages(), 'mujoco')
    library = glob(os.path.join(folder, 'libmujoco.so*'))
    if not library:
        raise Missing('the Python package mujoco is not installed')
    command = ['cc', '-std=gnu11', '-O3', '-march=native', '-DNDEBUG', '-I' + os.path.join(folder, 'include'),
               os.path.join(HERE, 'mujoco_bench.c'), library[0], '-Wl,-rpath,' + folder, '-lm']
    return compile_once('mujoco_bench', command, [os.path.join(HERE, f) for f in ('mujoco_bench.c', 'bench.h')])


def cpu():
    """name of the processor and the instruction sets that matter here"""
    if platform.machine() != 'x86_64':
        return platform.machine(), []
    with open('/proc/cpuinfo') as f:
        lines = f.read().split('\n\n')[0].split('\n')
    said = dict((a.strip(), b.strip()) for a, _, b in (line.partition(':') for line in lines))
    flags = said.get('flags', '').split()
    name = f"{said.get('model name', 'cpu')} (family {said.get('cpu family')}, model {said.get('model')})"
    return name, [x for x in ('avx2', 'fma', 'avx512f', 'avx512dq') if x in flags]


def workers(before=None):
    """name: path of every worker that can be built, and reasons for the others; `before`: another source tree of catena"""
    wanted = {'catena': lambda: catena(ROOT, 'catena'), 'mujoco': mujoco,
              'pinocchio': lambda: pinocchio('pinocchio_bench.cpp', 'pinocchio_bench'),
              'pinocchio-novec': lambda: pinocchio('pinocchio_bench.cpp', 'pinocchio_bench_novec', '-DEIGEN_DONT_VECTORIZE')}
    sets = cpu()[1]
    if 'avx2' in sets:
        wanted['simd4'] = lambda: pinocchio('pinocchio_simd.cpp', 'pinocchio_simd4', '-DLANES=4')
    if 'avx512f' in sets:
        wanted['simd8'] = lambda: pinocchio('pinocchio_simd.cpp', 'pinocchio_simd8', '-DLANES=8')
    if before:
        tree = os.path.abspath(before)
        wanted['before'] = lambda: catena(tree, 'before-' + hashlib.sha256(tree.encode()).hexdigest()[:8])
    built, missing = {}, {}
    with ThreadPoolExecutor(2) as two:  # a build of Pinocchio takes 1.5 GB
        for name, made in [(name, two.submit(build)) for name, build in wanted.items()]:
            try:
                built[name] = made.result()
            except Missing as e:
                missing[name] = str(e)
    return built, missing


def commit(tree):
    changed = '+changes' if output('git', '-C', tree, 'status', '--porcelain', '--untracked-files=no') else ''
    return (output('git', '-C', tree, 'rev-parse', '--short=12', 'HEAD') or 'unknown commit') + changed


def facts(before=None):
    """what a reader of the results needs to know about how they came about"""
    cache = open(os.path.join(BUILD, 'catena', 'CMakeCache.txt')).read()
    value = lambda key: (re.search(rf'^{key}:\w+=(.*)$', cache, re.M) or [None, ''])[1]
    name, sets = cpu()
    installed = lambda package: glob(os.path.join(packages(), package + '-*.dist-info'))
    version = lambda package: re.search(r'-([0-9.]+)\.dist-info$', installed(package)[0])[1] if installed(package) else 'absent'
    trees = {'catena': commit(ROOT)} | ({'before': commit(before)} if before else {})
    return {'device': f'{name}, {os.cpu_count()} cores, {" ".join(sets)}'} | trees | {
        'catena compiler': f'{output(value("CMAKE_C_COMPILER"), "--version")}; {value("CMAKE_C_FLAGS_RELEASE")}',
        'pinocchio': f'{version("pin")}; {output("clang++", "--version")}; -O3 -march=native -DNDEBUG',
        'mujoco': f'{version("mujoco")}; library of its wheel'}


if __name__ == '__main__':
    built, missing = workers()
    for name, path in built.items():
        print(name, path)
    for name, reason in missing.items():
        print(name, 'missing:', reason)
    print(facts())
