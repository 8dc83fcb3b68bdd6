"""What tests share: the scenes of the source folder, and the command, where CATENA_COMMAND says where it is."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import numpy

SOURCE = pathlib.Path(os.environ.get("CATENA_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
SCENES = SOURCE / "scenes"
COMMAND = os.environ.get("CATENA_COMMAND", "")

TWO_LINKS = """\
catena: 1
name: two
links:
  - name: upper
    joint: {type: revolute, axis: [0, 1, 0]}
    mass: 1
    com: [0, 0, -0.5]
    inertia: [0.1, 0.1, 0.01, 0, 0, 0]
  - name: lower
    parent: upper
    position: [0, 0, -1]
    joint: {type: ball}
    mass: 1
    com: [0, 0, -0.5]
    inertia: [0.1, 0.1, 0.01, 0, 0, 0]
integrator: {method: radau, dt: 0.02}
"""


def run(*arguments: str) -> str:
    """What the command prints."""
    done = subprocess.run([COMMAND, *arguments], cwd=SOURCE, check=True, capture_output=True, text=True)
    return done.stdout


def fresh(program: str) -> str:
    """What this program prints in a Python of its own, in which nothing is loaded yet."""
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


def random_states(model, count: int, seed: int = 1):
    """q [count, nq] with unit quaternions, v [count, nv]."""
    draw = numpy.random.default_rng(seed)
    q0, _ = model.initial_state()
    q = model.integrate(numpy.tile(q0, (count, 1)), draw.normal(size=(count, model.nv)), 0.5)
    return q, draw.normal(size=(count, model.nv))
