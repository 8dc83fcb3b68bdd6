"""A third opinion on a motion: scipy's DOP853 on catena's accelerations, q and v as one plain system of equations.

It shares no integrator with catena, and knows nothing of charts: quaternions drift from unit length by its own error.
"""
import ctypes
import os

import numpy as np

import build
import states


class Accelerations:
    """ABA of libcatena through its public header"""

    def __init__(self, scene, joints):
        self.lib = lib = ctypes.CDLL(os.path.join(build.BUILD, 'catena', 'libcatena.so'))
        for name in ('ctn_scene_load', 'ctn_model_create', 'ctn_dynamics_create'):
            getattr(lib, name).restype = ctypes.c_void_p
        self.scene = ctypes.c_void_p(lib.ctn_scene_load(scene.encode(), None))
        self.model = ctypes.c_void_p(lib.ctn_model_create(self.scene, None))
        self.dynamics = ctypes.c_void_p(lib.ctn_dynamics_create(self.model, b'scalar', None))
        if not self.dynamics:
            raise ValueError(f'{scene}: not read')
        self.joints, self.nv, self.links = list(states.layout(joints)), sum(states.NV[j] for j in joints), len(joints)
        self.nq = sum(states.NQ[j] for j in joints)
        # what is not a quaternion moves as its velocity says
        self.plain_q, self.plain_v, self.turns = [], [], []
        for joint, i, k in self.joints:
            plain = {'free': 3, 'ball': 0}.get(joint, states.NV[joint])
            self.plain_q += range(i, i + plain)
            self.plain_v += range(k, k + plain)
            if joint in ('free', 'ball'):
                self.turns.append((i + plain, k + plain))

    def close(self):
        self.lib.ctn_dynamics_free(self.dynamics), self.lib.ctn_model_free(self.model), self.lib.ctn_scene_free(self.scene)

    @staticmethod
    def pointer(x):
        return x.ctypes.data_as(ctypes.c_void_p)

    def unit(self, y):
        q = y[:self.nq].copy()
        for i, _ in self.turns:
            q[i:i + 4] /= np.linalg.norm(q[i:i + 4])
        return q

    def __call__(self, _, y):
        q, v, rate = self.unit(y), y[self.nq:].copy(), np.empty_like(y)
        self.lib.ctn_aba(self.dynamics, 1, self.pointer(q), self.pointer(v), None, self.pointer(rate[self.nq:]))
        rate[self.plain_q] = v[self.plain_v]
        for i, k in self.turns:  # q' = q (0, w) / 2, w in body axes
            w, u = y[i], y[i + 1:i + 4]
            rate[i] = -u @ v[k:k + 3] / 2
            rate[i + 1:i + 4] = (w * v[k:k + 3] + np.cross(u, v[k:k + 3])) / 2
        return rate

    def points(self, y, tip):
        """origins of all links, and the point `tip` of the last one"""
        R, p = np.empty((self.links, 3, 3)), np.empty((self.links, 3))
        q = self.unit(y)
        self.lib.ctn_forward_kinematics(self.dynamics, 1, self.pointer(q), self.pointer(R), self.pointer(p))
        return np.vstack([p, p[-1] + R[-1] @ np.asarray(tip)])


def dop853(accelerations, q, v, duration, tolerance, tip):
    """points at the end, and how many accelerations it took"""
    from scipy.integrate import solve_ivp
    with np.errstate(all='ignore'):
        found = solve_ivp(accelerations, (0, duration), np.concatenate([q, v]), 'DOP853', rtol=tolerance, atol=tolerance)
    points = accelerations.points(found.y[:, -1], tip)
    return (points if found.success else points * np.nan), found.nfev
