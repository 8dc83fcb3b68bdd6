#!/usr/bin/env python3
"""Writes the models of the benchmark, the same for every program, into a folder.

usage: models.py FOLDER

For each model: NAME.yaml (catena), NAME.txt (Pinocchio, as bench/pinocchio_worker.hpp reads it), NAME.xml (MuJoCo), its states
(states.py); and models.json, a list of what was written. Robots of example-robot-data need Pinocchio's URDF reader; without it
they are left out.
"""
import json
import os
import sys
from dataclasses import dataclass, field, replace

import numpy as np
import yaml

import states

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
X, Y, Z = np.eye(3)
DEEPEST_MJCF = 500  # levels that MuJoCo's XML reader accepts


@dataclass
class Link:
    parent: int  # -1: the world
    joint: str
    axis: np.ndarray = field(default_factory=lambda: Z)
    axis2: np.ndarray = field(default_factory=lambda: X)
    R: np.ndarray = field(default_factory=lambda: np.eye(3))  # frame of the joint in the parent's
    p: np.ndarray = field(default_factory=lambda: np.zeros(3))
    mass: float = 0.0
    com: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))  # about com
    stiffness: float = 0.0  # of a spring towards the zero coordinate, and of a damper; one number for all freedoms
    damping: float = 0.0


@dataclass
class Model:
    name: str
    links: list
    start: np.ndarray = None  # [count][nq] to start from; None: random states
    speed: np.ndarray = None  # [count][nv] to start with; None: at rest
    tip: np.ndarray = None    # a point of the last link

    @property
    def nq(self):
        return sum(states.NQ[l.joint] for l in self.links)

    @property
    def nv(self):
        return sum(states.NV[l.joint] for l in self.links)

    def depth(self):
        depth = []
        for l in self.links:
            depth.append(1 if l.parent < 0 else depth[l.parent] + 1)
        return max(depth)


# The models

def rotation(w, x, y, z):
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def euler(x, y, z):
    """rotations about the fixed axes x, y, z"""
    about = lambda axis, angle: rotation(np.cos(angle / 2), *(np.sin(angle / 2) * axis))
    return about(Z, z) @ about(Y, y) @ about(X, x)


def random_link(rng, parent, axis, p):
    """a link of about 0.1 m and 0.5 to 1.5 kg; second moments of mass are drawn, so that the inertia is physical"""
    mass = rng.uniform(0.5, 1.5)
    com = np.array([0, 0, -0.05]) + rng.uniform(-0.01, 0.01, 3)
    quaternion = rng.standard_normal(4)
    R = rotation(*(quaternion / np.linalg.norm(quaternion)))
    xx, yy, zz = rng.uniform(0.02, 0.06, 3) ** 2
    inertia = mass * R @ np.diag([yy + zz, xx + zz, xx + yy]) @ R.T
    return Link(parent, 'revolute', axis, p=p, mass=mass, com=com, inertia=(inertia + inertia.T) / 2)


def chain(n):
    rng = np.random.default_rng(2026)
    step = np.array([0, 0, -0.1])
    return Model(f'chain{n}', [random_link(rng, i - 1, (Z, X, Y)[i % 3], step * (i > 0)) for i in range(n)])


def tree(n):
    """a balanced binary tree, numbered depth first"""
    rng = np.random.default_rng(2026)
    links = []

    def grow(parent, count, level, side):
        if count == 0:
            return
        at = len(links)
        links.append(random_link(rng, parent, (Z, X, Y)[level % 3], np.array([0.05 * side, 0, -0.1]) * (parent >= 0)))
        grow(at, count // 2, level + 1, 1)
        grow(at, (count - 1) // 2, level + 1, -1)

    grow(-1, n, 0, 0)
    return Model(f'tree{n}', links)


def depth_first(links):
    """the same links so numbered that every subtree is a range, as Pinocchio and MuJoCo want it, and their old numbers"""
    order, todo = [], [i for i in reversed(range(len(links))) if links[i].parent < 0]
    while todo:
        at = todo.pop()
        order.append(at)
        todo += [i for i in reversed(range(len(links))) if links[i].parent == at]
    new = {old: k for k, old in enumerate(order)} | {-1: -1}
    return [replace(links[i], parent=new[links[i].parent]) for i in order], order


def golden(name):
    """a scene of tests/golden, all of whose links are written out; fixed links hang on the world only"""
    with open(os.path.join(ROOT, 'tests/golden', name, 'scene.yaml')) as f:
        scene = yaml.safe_load(f)
    links, place = [], {'world': (-1, np.eye(3), np.zeros(3))}  # name: moving link it belongs to, its frame there
    vector = lambda of, key, default: np.array(of.get(key, default), dtype=float)
    for l in scene['links']:
        joint = l['joint'] if isinstance(l['joint'], dict) else {'type': l['joint']}
        parent, Rp, pp = place[l.get('parent', 'world')]
        R = Rp @ (rotation(*l['rotation']) if 'rotation' in l else euler(*l.get('euler', (0, 0, 0))))
        p = pp + Rp @ vector(l, 'position', (0, 0, 0))
        if joint['type'] == 'fixed':
            place[l['name']] = (parent, R, p)
            continue
        xx, yy, zz, xy, xz, yz = l['inertia']
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        place[l['name']] = (len(links), np.eye(3), np.zeros(3))
        links.append(Link(parent, joint['type'], vector(joint, 'axis', Z), vector(joint, 'axis2', X), R, p, l['mass'],
                          vector(l, 'com', (0, 0, 0)), inertia))
    links, order = depth_first(links)
    return Model(name, links, *golden_state(scene, links, order))


def golden_state(scene, links, order):
    """q and v, a row each, of a scene's `state`, for links in another order; nothing if it has none"""
    if 'state' not in scene:
        return ()
    first = {}
    for key, size in (('q', states.NQ), ('v', states.NV)):
        old = [None] * len(links)
        for k, i in enumerate(order):
            old[i] = size[links[k].joint]
        at = np.cumsum([0] + old)
        first[key] = np.concatenate([scene['state'][key][at[i]:at[i + 1]] for i in order])[None, :]
    return first['q'], first['v']


def robot(name, urdf):
    """a free-flying robot of example-robot-data, through Pinocchio's URDF reader"""
    import cmeel
    import pinocchio as pin
    share = os.path.join(os.path.dirname(cmeel.__file__), '..', 'cmeel.prefix/share/example-robot-data/robots')
    m = pin.buildModelFromUrdf(os.path.join(share, urdf), pin.JointModelFreeFlyer())
    links = []
    for j in range(1, m.njoints):
        kind, place, body = m.joints[j].shortname(), m.jointPlacements[j], m.inertias[j]
        axis = {'X': X, 'Y': Y, 'Z': Z}.get(kind[-1])
        if kind.startswith('JointModelRevoluteUnaligned'):
            axis = m.joints[j].extract().axis
        elif kind != 'JointModelFreeFlyer' and not kind.startswith(('JointModelR', 'JointModelRUB')):
            raise ValueError(f'{name}: joint {kind}')
        links.append(Link(m.parents[j] - 1, 'free' if kind == 'JointModelFreeFlyer' else 'revolute', Z if axis is None else axis,
                          R=place.rotation, p=place.translation, mass=body.mass, com=body.lever, inertia=body.inertia))
    return Model(name, links)


def rods(name, n, length, mass, radius, q):
    """n rods on universal joints, hanging along -z from the world at q = 0; `length` and `mass` of all together"""
    l, m = length / n, mass / n
    across = m * (3 * radius * radius + l * l) / 12
    step = np.array([0, 0, -l])
    links = [Link(i - 1, 'universal', X, Y, p=step * (i > 0), mass=m, com=step / 2,
                  inertia=np.diag([across, across, m * radius * radius / 2])) for i in range(n)]
    return Model(name, links, q[None, :], tip=step)


def bent(n, first, about_x, about_y):
    """coordinates of n universal joints: the first turned, the others bent, by angles of all of them together"""
    q = np.zeros(2 * n)
    q[2::2], q[3::2] = about_x / n, about_y / n
    q[0] = first
    return q


def swing(n):
    """2 m of rods released from rest in a horizontal arc, so that the motion has three dimensions"""
    return rods(f'swing{n}', n, 2.0, 1.0, 0.02, bent(n, np.pi / 2, 0, 0.1 * n))


def rope(n):
    """links of 1 cm that hang and swing so gently that a step takes about as many iterations for any number of them"""
    turn = 0.02 * (n / 10) ** 0.6 / (0.01 * n)
    return rods(f'rope{n}', n, 0.01 * n, 0.01 * n, 0.002, bent(n, turn, turn / 2, turn))


def swinging(n):
    """the same rope, turned by 0.2 rad"""
    return rods(f'swinging{n}', n, 0.01 * n, 0.01 * n, 0.002, bent(n, 0.2, 0.1, 0.2))


def falling(n):
    """links of 5 cm released in a horizontal arc: about the hardest start there is"""
    return rods(f'falling{n}', n, 0.05 * n, 0.05 * n, 0.01, bent(n, np.pi / 2, 0, 1.0))


def hinges(n):
    """a chain of hinges about turned axes, from 64 bent poses: the work of one position-based step"""
    com, offset = np.array([0.1, 0.01, -0.02]), np.array([0.2, 0.01, 0.02])
    inertia = np.array([[0.01, 0.001, -0.002], [0.001, 0.012, 0.0005], [-0.002, 0.0005, 0.013]])
    links = [Link(i - 1, 'revolute', Z, R=euler((np.pi / 2, -np.pi / 2, 0.3)[i % 3], 0, 0), p=offset * (i > 0), mass=1.0, com=com,
                  inertia=inertia) for i in range(n)]
    i, k = np.arange(n), np.arange(64)
    return Model(f'hinges{n}', links, 0.3 * np.sin(1 + i[None, :] + 0.1 * k[:, None]))


ROBOTS = (('talos', 'talos_data/robots/talos_full_v2.urdf'), ('g1', 'g1_description/urdf/g1_29dof_rev_1_0.urdf'),
          ('go2', 'go2_description/urdf/go2.urdf'), ('anymal', 'anymal_c_simple_description/urdf/anymal.urdf'))
ROPES = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)


def all_models():
    yield from (chain(n) for n in (7, 10, 20, 40, 100, 400))
    yield tree(127)
    yield from (golden(name) for name in ('iiwa14', 'humanoid'))
    for name, urdf in ROBOTS:
        try:
            yield robot(name, urdf)
        except (ImportError, ValueError) as e:
            print(f'{name} is left out: {e}', file=sys.stderr)
    yield hinges(10)
    yield swing(10)
    yield from (rope(n) for n in ROPES)
    yield swinging(1000)
    yield falling(1000)


# The formats

def numbers(*arrays):
    return ' '.join('%.17g' % x for a in arrays for x in np.ravel(a))


def quaternion(R):
    """w x y z, through the largest of the four so that no small number is divided by"""
    t = np.array([1 + R[0, 0] + R[1, 1] + R[2, 2], 1 + R[0, 0] - R[1, 1] - R[2, 2], 1 - R[0, 0] + R[1, 1] - R[2, 2],
                  1 - R[0, 0] - R[1, 1] + R[2, 2]])
    a, b, c = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    d, e, f = R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1]
    i = int(np.argmax(t))
    q = np.array([(t[0], a, b, c), (a, t[1], d, e), (b, d, t[2], f), (c, e, f, t[3])][i])
    return q / np.linalg.norm(q)


def upper(I):
    """xx yy zz xy xz yz"""
    return [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]


def write_scene(model, path):
    bracket = lambda a: '[' + numbers(a).replace(' ', ', ') + ']'
    lines = ['catena: 1', f'name: {model.name}', 'links:']
    for i, l in enumerate(model.links):
        axes = {'revolute': f', axis: {bracket(l.axis)}', 'prismatic': f', axis: {bracket(l.axis)}',
                'universal': f', axis: {bracket(l.axis)}, axis2: {bracket(l.axis2)}'}
        forces = ''.join(f', {key}: {numbers(x)}' for key, x in (('stiffness', l.stiffness), ('damping', l.damping)) if x)
        lines += [f'  - name: link{i}', f'    parent: {"world" if l.parent < 0 else f"link{l.parent}"}',
                  f'    position: {bracket(l.p)}', f'    rotation: {bracket(quaternion(l.R))}',
                  f'    joint: {{type: {l.joint}{axes.get(l.joint, "")}{forces}}}',
                  f'    mass: {numbers(l.mass)}', f'    com: {bracket(l.com)}', f'    inertia: {bracket(upper(l.inertia))}']
    with open(path, 'w') as f:
        f.write('\n'.join(lines) + '\n')


def write_text(model, path):
    with open(path, 'w') as f:
        f.write(f'{len(model.links)}\n')
        for l in model.links:
            f.write(f'{l.parent} {l.joint} ' + numbers(l.axis, l.axis2, l.R, l.p, l.mass, l.com, l.inertia) + '\n')


def write_mjcf(model, path):
    """bodies nest as deep as the chain is long: no recursion"""
    children = {}
    for i, l in enumerate(model.links):
        children.setdefault(l.parent, []).append(i)
    forces = lambda l: f' stiffness="{numbers(l.stiffness)}" damping="{numbers(l.damping)}"' if l.stiffness or l.damping else ''
    hinge = lambda l, axis, kind='hinge': f'<joint type="{kind}" axis="{numbers(axis)}"{forces(l)}/>'
    lines = ['<mujoco>', '<compiler angle="radian" balanceinertia="false"/>',
             '<option timestep="0.001"><flag contact="disable" constraint="disable" autoreset="disable"/></option>',
             '<worldbody>']
    todo = [(i, False) for i in reversed(children.get(-1, []))]
    while todo:
        i, close = todo.pop()
        if close:
            lines.append('</body>')
            continue
        l = model.links[i]
        lines.append(f'<body pos="{numbers(l.p)}" quat="{numbers(quaternion(l.R))}">')
        lines.append({'free': '<freejoint/>', 'ball': f'<joint type="ball"{forces(l)}/>', 'revolute': hinge(l, l.axis),
                      'prismatic': hinge(l, l.axis, 'slide'), 'universal': hinge(l, l.axis) + hinge(l, l.axis2)}[l.joint])
        lines.append(f'<inertial pos="{numbers(l.com)}" mass="{numbers(l.mass)}" fullinertia="{numbers(upper(l.inertia))}"/>')
        if model.tip is not None and i == len(model.links) - 1:
            lines.append(f'<site name="tip" pos="{numbers(model.tip)}"/>')
        todo.append((i, True))
        todo += [(k, False) for k in reversed(children.get(i, []))]
    with open(path, 'w') as f:
        f.write('\n'.join(lines + ['</worldbody>', '</mujoco>']) + '\n')


def write_mjb(model, path):
    """the model as MuJoCo compiles it from its own structures, for chains deeper than its XML reader accepts"""
    import mujoco
    spec = mujoco.MjSpec()
    spec.compiler.degree, spec.compiler.balanceinertia, spec.memory = False, False, 1 << 31
    for flag in ('CONTACT', 'CONSTRAINT', 'AUTORESET'):
        spec.option.disableflags |= getattr(mujoco.mjtDisableBit, 'mjDSBL_' + flag)
    bodies = []
    for l in model.links:
        parent = spec.worldbody if l.parent < 0 else bodies[l.parent]
        body = parent.add_body(pos=l.p, quat=quaternion(l.R), mass=l.mass, ipos=l.com, fullinertia=upper(l.inertia), explicitinertial=True)
        for axis in {'revolute': (l.axis,), 'universal': (l.axis, l.axis2)}[l.joint]:
            body.add_joint(type=mujoco.mjtJoint.mjJNT_HINGE, axis=axis)
        bodies.append(body)
    if model.tip is not None:
        bodies[-1].add_site(name='tip', pos=model.tip)
    mujoco.mj_saveModel(spec.compile(), path)


def write(model, folder):
    """the files that catena and MuJoCo read, and the states; returns what models.json says of it"""
    path = os.path.join(folder, model.name)
    write_scene(model, path + '.yaml')
    shallow = model.depth() <= DEEPEST_MJCF
    if shallow:
        write_mjcf(model, path + '.xml')
    joints = [l.joint for l in model.links]
    count = states.write(path, joints, model.nv, model.start, model.speed)
    return {'joints': joints, 'nq': model.nq, 'nv': model.nv, 'states': count, 'mujoco': shallow,
            'tip': None if model.tip is None else list(model.tip)}


def main(folder):
    os.makedirs(folder, exist_ok=True)
    written = {}
    for model in all_models():
        written[model.name] = write(model, folder)
        write_text(model, os.path.join(folder, model.name + '.txt'))
    with open(os.path.join(folder, 'models.json'), 'w') as f:
        json.dump(written, f)


if __name__ == '__main__':
    main(sys.argv[1])
