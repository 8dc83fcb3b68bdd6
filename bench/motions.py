"""The motions that work_precision, survives and figures step: models that start from one state, or from 64 near it.

Every model is written for catena and for MuJoCo from the same numbers (models.py).
"""
import os
from dataclasses import replace

import numpy as np

import build
import models
from models import Y, Z, Link, Model, bent, euler, golden, rods

WORLDS = 64


def near(model, q=None, v=None):
    """64 starts, the first one the model's own; in the others coordinate `q` or velocity `v` is a little larger from one to the next"""
    start = np.repeat(model.start[:1], WORLDS, axis=0)
    speed = np.zeros((WORLDS, model.nv)) if model.speed is None else np.repeat(model.speed[:1], WORLDS, axis=0)
    if q is not None:
        start[:, q] += 0.005 * np.arange(WORLDS)
    if v is not None:
        speed[:, v] += 0.02 * np.arange(WORLDS)
    return replace(model, start=start, speed=speed)


def swing(n):
    """2 m of rods released from rest in a horizontal arc, so that the motion has three dimensions"""
    return near(models.swing(n), q=0)


def rope(n):
    """1 cm a link, bent and turned from the vertical"""
    return near(rods(f'rope{n}', n, 0.01 * n, 0.01 * n, 0.002, bent(n, 0.5, 0.25, 0.5)), q=0)


def flying_tree():
    """a free base with a hinged limb and one on a ball joint and a slider, thrown and spinning"""
    return near(golden('flying-tree5'), v=4)


def arm(name, stiffness, damping):
    """iiwa14 from a bent pose at rest; springs and dampers play PD control towards the zero pose"""
    model = golden('iiwa14')
    pose = np.array([[0.3, 0.6, -0.4, -0.9, 0.5, 0.7, -0.2]])
    links = [replace(l, stiffness=stiffness, damping=damping) for l in model.links]
    return near(Model(name, links, pose), q=1)


def falling_arm():
    return arm('iiwa-falling', 0, 0)


def stiff_arm():
    """the wrist's inertia is about 1e-3 kg m^2: dampers that the shoulder needs make its fastest mode one of 0.05 ms"""
    return arm('iiwa-stiff', 1000, 20)


def straight(n):
    """2 m of rods released from the horizontal"""
    return rods(f'straight{n}', n, 2.0, 1.0, 0.02, bent(n, np.pi / 2, 0, 0))


def long_rope(n):
    """1 cm a link, released from the horizontal"""
    return rods(f'long-rope{n}', n, 0.01 * n, 0.001 * n, 0.01, bent(n, np.pi / 2, 0, 0))


def hinge_ball():
    """two boxes of 2 m, one on a hinge and one on a ball joint at its end, from the horizontal; no damping"""
    com, inertia = np.array([1.0, 0, 0]), np.diag([0.013333333333333332, 0.6733333333333333, 0.6733333333333333])
    links = [Link(-1, 'revolute', Y, p=np.array([0, 0, 5.0]), mass=2.0, com=com, inertia=inertia),
             Link(0, 'ball', R=euler(0, 0, 1.57), p=np.array([1.9992036732892668, 3.1706816538967786e-07, 0]), mass=2.0, com=com,
                  inertia=inertia)]
    return Model('hinge-ball', links, np.array([[0, 1.0, 0, 0, 0]]))


def reach(model):
    """J between the model held out straight and hanging: what its start from the horizontal can turn into motion"""
    far, total = [], 0.0  # distance of each joint from the first one, along the chain
    for k, l in enumerate(model.links):
        far.append(0.0 if l.parent < 0 else far[l.parent] + float(np.linalg.norm(l.p)))
        total += 9.81 * l.mass * (far[k] + float(np.linalg.norm(l.com)))
    return total


def write(model, folder):
    """the model's files; returns what models.write says, with `mujoco`: whether it can read one of them"""
    about = models.write(model, folder)
    if not about['mujoco']:
        try:
            models.write_mjb(model, os.path.join(folder, model.name + '.mjb'))
            about['mujoco'] = True
        except ImportError as e:
            build.say(f'{model.name} is not written for MuJoCo: {e}')
    return about
