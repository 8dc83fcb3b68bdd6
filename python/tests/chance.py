"""Calls of everything with arguments drawn by chance: wrong shapes, dtypes, strides, words. They may raise, and must not crash.

usage: chance.py [SECONDS [SEED]]   (default: a minute; the call in hand is printed to standard error if it crashes)
"""

from __future__ import annotations

import faulthandler
import os
import pathlib
import random
import sys
import tempfile
import time

import catena
import numpy

from support import TWO_LINKS

LINKS = TWO_LINKS + "motors: [{joint: upper, type: torque}]\nduration: 0.1\n"
STEERED = LINKS + "optimize: {cost: [{term: control, weight: 1}], mpc: {horizon: 0.1}}\n"
SEARCHED = LINKS + """\
controller: {type: sinusoids, frequency: [0.5, 2], range: [-1, 1]}
reward: [{term: effort, weight: -1}]
search: {population: 4}
"""
SHAPES = [(), (1,), (2,), (4,), (5,), (9,), (2, 4), (2, 5), (3, 5), (0, 5), (2, 9), (2, 1)]
SHAPES += [(2, 3, 4), (3, 2, 4), (1, 2, 1), (2, 2, 5)]
DTYPES = ["f8", "f4", "i4", ">f8", "c16", "?", "O", "U3", "f2", "longdouble", "M8[s]"]
KEYS = "worlds dt method order stages rho solver tolerance max_iterations threads lanes engine parameters adaptive".split()
KEYS += "interruptible motor_targets gradients duration seed reward cost derivatives steps nothing".split()


class Drawn:
    """Objects and calls, drawn by a seed."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.model = model = catena.load(STEERED, name="chance.yaml")
        self.searched = catena.load(SEARCHED, name="chance.yaml")
        self.batch = catena.Batch(model, worlds=2, motor_targets=True)
        x0 = numpy.tile(numpy.concatenate(model.initial_state()), (2, 1))
        self.objects = [
            model,
            self.batch,
            catena.Tapes(model, 3, worlds=2),
            catena.Tape(model, 3),
            catena.Optimize(model, 0.1),
            catena.Trajectories(model, 0.1, x0, worlds=2),
            catena.MPC(model, worlds=2),
            catena.Search(self.searched),
            catena.CMA([0.0, 1.0], 0.5),
            catena.Recorder(self.batch, "chance.csv"),
        ]
        self.kinds = [catena.Batch, catena.Tapes, catena.Tape, catena.Optimize, catena.Trajectories, catena.MPC]
        self.kinds += [catena.Search, catena.CMA]
        self.calls = [
            (f"{type(o).__name__}.{name}", getattr(o, name))
            for o in self.objects
            for name in dir(o)
            if not name.startswith("__") and callable(getattr(type(o), name))
        ]
        self.made = self.raised = 0

    def thing(self):
        kind = self.draw.randrange(10)
        if kind == 0:
            words = [None, "text", "lower", b"x", -1, 10**20, 1.5, float("nan"), True]
            return self.draw.choice(words + [[], [[1], [2, 3]], {}, object(), self.model, len, slice(2)])
        a = numpy.zeros(self.draw.choice(SHAPES))
        if kind == 1:
            return numpy.zeros(a.shape, self.draw.choice(DTYPES))
        if kind == 2 and a.ndim:
            return numpy.zeros((2 * a.shape[0], *a.shape[1:]))[::2]
        if kind == 3:
            a.flags.writeable = False
        elif kind == 4:
            return numpy.frombuffer(bytearray(8 * a.size + 1), numpy.uint8)[1:].view("f8").reshape(a.shape)
        elif kind == 5:
            return a.T
        elif kind == 6:
            return a + self.draw.choice([numpy.inf, numpy.nan, 1e300, -1])
        elif kind == 7 and a.ndim:
            return numpy.broadcast_to(numpy.zeros(a.shape[1:]), a.shape)
        elif kind == 8 and a.ndim:
            return a[::-1]
        return a

    def small(self):
        return self.draw.choice([0, 1, 2]) if self.draw.random() < 0.15 else self.thing()

    def once(self, noted) -> None:
        """One call, or one object made; `noted` hears of it before."""
        keys = {self.draw.choice(KEYS): self.small() for _ in range(self.draw.randrange(3))} if self.draw.random() < 0.3 else {}
        if self.draw.random() < 0.1:
            kind = self.draw.choice(self.kinds)
            first = self.searched if kind is catena.Search else self.model
            name, call, arguments = kind.__name__, kind, [first, *(self.small() for _ in range(self.draw.randrange(3)))]
        else:
            name, call = self.draw.choice(self.calls)
            arguments = [self.small() for _ in range(self.draw.randrange(5))]
        noted(f"{name} {[getattr(x, 'shape', x) for x in arguments]} {list(keys)}")
        try:
            call(*arguments, **keys)
            self.made += 1
        except Exception:
            self.raised += 1


def main() -> None:
    asked = sys.argv[1:] + ["60", "1"][len(sys.argv) - 1 :]
    faulthandler.enable()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        drawn, end = Drawn(int(asked[1])), time.monotonic() + float(asked[0])
        child = os.fork()  # which a crash ends
        if not child:
            with open("call", "w") as file:
                while time.monotonic() < end:
                    drawn.once(lambda text: (file.seek(0), file.truncate(), file.write(text), file.flush()))
            print(f"{drawn.made} calls made, {drawn.raised} refused, seed {asked[1]}")
            sys.stdout.flush()
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status:
            sys.exit(f"ended with {status} in {pathlib.Path('call').read_text()}, seed {asked[1]}")


if __name__ == "__main__":
    main()
