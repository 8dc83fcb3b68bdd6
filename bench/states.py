"""Random states of a model, in catena's conventions (which are MuJoCo's) and in Pinocchio's, and results carried between the two.

They differ in ball and free joints: Pinocchio's quaternion is x y z w where catena's is w x y z, and its velocity of a free
joint is in link axes, (linear, angular), where catena's linear part is the velocity of the link origin in world axes. With R
the rotation of the link:

    v = R v_P        dv/dt = R (dv_P/dt + w x v_P)        f = R f_P        H = T H_P T',  T = diag(R, 1)
"""
import numpy as np

NQ = {'revolute': 1, 'prismatic': 1, 'universal': 2, 'ball': 4, 'free': 7}
NV = {'revolute': 1, 'prismatic': 1, 'universal': 2, 'ball': 3, 'free': 6}


def layout(joints):
    """(joint, first index into q, first index into v) of every joint"""
    at_q = at_v = 0
    for joint in joints:
        yield joint, at_q, at_v
        at_q, at_v = at_q + NQ[joint], at_v + NV[joint]


def matrices(quaternions):
    """[n][4] w x y z to [n][3][3]"""
    w, x, y, z = quaternions.T
    rows = [[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]]
    return np.moveaxis(np.array(rows), 2, 0)


def turn(R, x):
    return np.einsum('nij,nj->ni', R, x)


def random(joints, nv, count):
    """coordinates, velocities, accelerations and forces in -1 .. 1; quaternions of any direction"""
    rng = np.random.default_rng(7)
    parts = []
    for joint, _, _ in layout(joints):
        if joint in ('ball', 'free'):
            q = rng.standard_normal((count, 4))
            q /= np.linalg.norm(q, axis=1)[:, None]
            parts += [rng.uniform(-1, 1, (count, 3)), q] if joint == 'free' else [q]
        else:
            parts.append(rng.uniform(-1, 1, (count, NQ[joint])))
    return [np.hstack(parts)] + [rng.uniform(-1, 1, (count, nv)) for _ in range(3)]


def to_pinocchio(joints, q, v, a, tau):
    q, v, a, tau = (x.copy() for x in (q, v, a, tau))
    for joint, i, k in layout(joints):
        if joint not in ('ball', 'free'):
            continue
        at = i + NQ[joint] - 4
        if joint == 'free':
            Rt = np.swapaxes(matrices(q[:, at:at + 4]), 1, 2)
            linear, spin = slice(k, k + 3), slice(k + 3, k + 6)
            v[:, linear] = turn(Rt, v[:, linear])
            a[:, linear] = turn(Rt, a[:, linear]) - np.cross(v[:, spin], v[:, linear])
            tau[:, linear] = turn(Rt, tau[:, linear])
        q[:, at:at + 4] = np.roll(q[:, at:at + 4], -1, axis=1)
    return q, v, a, tau


def from_pinocchio(joints, algorithm, q, v, result):
    """`result` of an algorithm at states q, v (catena's) out of Pinocchio's conventions"""
    result = result.copy()
    for joint, i, k in layout(joints):
        if joint != 'free':
            continue
        R = matrices(q[:, i + 3:i + 7])
        linear, spin = slice(k, k + 3), slice(k + 3, k + 6)
        if algorithm == 'aba':
            v_P = turn(np.swapaxes(R, 1, 2), v[:, linear])
            result[:, linear] = turn(R, result[:, linear] + np.cross(v[:, spin], v_P))
        elif algorithm == 'rnea':
            result[:, linear] = turn(R, result[:, linear])
        else:
            result[:, linear, :] = np.einsum('nij,njk->nik', R, result[:, linear, :])
            result[:, :, linear] = np.einsum('nij,nkj->nki', R, result[:, :, linear])
    return result


def save(path, q, v, a, tau):
    with open(path, 'wb') as f:
        f.write(np.array([len(q), q.shape[1], v.shape[1]], dtype=np.int64).tobytes())
        for x in (q, v, a, tau):
            f.write(np.ascontiguousarray(x).tobytes())


def load(path):
    """q, v, a, tau"""
    with open(path, 'rb') as f:
        count, nq, nv = np.frombuffer(f.read(24), dtype=np.int64)
        numbers = np.frombuffer(f.read())
    parts, at = [], 0
    for n in (nq, nv, nv, nv):
        parts.append(numbers[at:at + count * n].reshape(count, n))
        at += count * n
    return parts


def write(path, joints, nv, start=None, speed=None):
    """PATH.states and PATH.pinocchio.states: random, or the rows of `start` with those of `speed`, or at rest; returns how many"""
    if start is None:
        every = random(joints, nv, 256)
    else:
        none = np.zeros((len(start), nv))
        every = [start, none if speed is None else speed, none, none]
    save(path + '.states', *every)
    save(path + '.pinocchio.states', *to_pinocchio(joints, *every))
    return len(every[0])
