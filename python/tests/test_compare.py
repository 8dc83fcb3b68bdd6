"""catena.compare: what it takes off a file, what it makes of numbers, and, where they are installed, the other programs."""

from __future__ import annotations

import contextlib
import html.parser
import importlib.util
import io
import os
import pathlib
import re
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ET

import numpy as np

import catena
from catena.compare import agreement, motion, precision, stability, verdicts, whole, with_catena
from catena.compare.__main__ import main, parser
from catena.compare.report import Report, measure
from catena.compare.robot_file import read_robot

from support import COMMAND, SCENES, SOURCE

ARM, DOG, MJCF = SCENES / "arm.urdf", SCENES / "dog.urdf", SOURCE / "tests" / "golden" / "mjcf" / "arm.xml"


def has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


class RobotFile(unittest.TestCase):
    def test_urdf(self):
        robot = read_robot(ARM)
        root = ET.fromstring(robot.mechanics)
        self.assertEqual(robot.kind, "urdf")
        self.assertEqual(robot.taken_off, {"joint limits": 3})
        self.assertEqual([len(root.findall(f".//{tag}")) for tag in ("visual", "collision", "limit", "mass")], [0, 0, 0, 4])
        self.assertEqual(robot.link_of["elbow"], "fore")
        self.assertIn("<limit", robot.without_shapes)
        self.assertNotIn("<visual", robot.without_shapes)
        model, whole_file = with_catena.load_mechanics(robot), catena.load(ARM)
        q, v = agreement.random_states(model, 3, 1)
        np.testing.assert_array_equal(model.crba(q), whole_file.crba(q))
        self.assertLess(np.abs(model.passive(q, v) + v * [0.5, 0.5, 0.2, 0.05]).max(), 1e-12, "dampers stay, limits do not")

    def test_flying_base(self):
        robot = read_robot(DOG, base="free")
        self.assertEqual(with_catena.load_mechanics(robot).nv, with_catena.load_mechanics(read_robot(DOG)).nv + 6)
        np.testing.assert_array_equal(with_catena.load_mechanics(robot, gravity=False).gravity, 0)
        with self.assertRaisesRegex(ValueError, "freejoint"):
            read_robot(MJCF, base="free")

    def test_mjcf(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "part.xml"
            file.write_text(
                "<mujocoinclude><body><joint name='a' range='-10 10' frictionloss='0.1' damping='2'/><geom size='0.1'/></body>"
                "</mujocoinclude>"
            )
            file = pathlib.Path(folder) / "model.xml"
            file.write_text(
                "<mujoco><option density='1.2'/><worldbody><geom type='plane' size='1 1 1'/><include file='part.xml'/>"
                "</worldbody>"
                "<actuator><motor joint='a'/></actuator></mujoco>"
            )
            robot = read_robot(file)
            self.assertEqual(
                robot.taken_off,
                {"actuators": 1, "joint limits": 1, "dry friction of joints": 1, "a fluid around it": 1, "contact": 1},
            )
            model = with_catena.load_mechanics(robot)
            self.assertEqual((model.nv, model.ntarget, len(model.contact_points)), (1, 0, 0))
            self.assertAlmostEqual(model.passive([9.0], [1.0])[0], -2)
            np.testing.assert_array_equal(with_catena.load_mechanics(robot, gravity=False).gravity, 0)

    def test_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "robot.xml"
            for text, said in (
                ("<robot>", r"robot.xml:1:8: no XML"),
                ("<sdf/>", "found <sdf>"),
                ("<robot name='r'><link name='a'/></robot>", "nothing moves"),
            ):
                file.write_text(text)
                with self.assertRaisesRegex(ValueError, said):
                    measure(file)


class Twin:
    """catena as another program: its links, all masses times `heavier`, or with more damping."""

    def __init__(self, model, heavier=1.0, damping=0.0, armature=0.0):
        self.model, self.heavier, self.damping, self.armature = model, heavier, damping, armature

    def dynamics(self, q, v):
        H = self.heavier * self.model.crba(q) + self.armature * np.eye(self.model.nv)
        bias, passive = self.heavier * self.model.bias(q, v), self.model.passive(q, v) - self.damping * v
        return {"inertia": H, "bias": bias, "passive": passive, "acceleration": np.linalg.solve(H, passive - bias)}

    def mass(self):
        return self.heavier * agreement.moving_mass(self.model)


class Numbers(unittest.TestCase):
    def setUp(self):
        self.model = with_catena.load_mechanics(read_robot(ARM))

    def test_agreement(self):
        found = agreement.compare(self.model, Twin(self.model), "twin", "1", 1, 5)
        self.assertTrue(found.agrees, found.worst)
        self.assertEqual(found.why, [])
        self.assertAlmostEqual(found.mass[0], 7.5)
        for twin, said in (
            (Twin(self.model, heavier=1.001), "masses: 7.5 kg move in catena, 7.5075 kg"),
            (Twin(self.model, damping=0.01), "springs or dampers"),
            (Twin(self.model, armature=0.01), "on the diagonal alone: armature"),
        ):
            found = agreement.compare(self.model, twin, "twin", "1", 1, 5)
            self.assertFalse(found.agrees)
            self.assertIn(said, "; ".join(found.why))

    def test_points(self):
        q, _ = self.model.initial_state()
        at = motion.points(self.model, q).reshape(-1, 4, 3)
        R, p = self.model.kinematics(q)
        np.testing.assert_allclose(at[:, 0], p)
        hand = self.model.links[-1]
        centre = p[-1] + R[-1] @ hand.com
        apart = np.linalg.norm(at[-1, 1:] - centre, axis=1)
        np.testing.assert_allclose(apart, np.sqrt(hand.inertia[:3].sum() / (2 * hand.mass)))
        self.assertEqual(motion.distance(at[0], at[0] + [0, 3, 4]), 5)
        self.assertEqual(motion.distance(at[0], at[0] * np.nan), np.inf)

    def test_reference(self):
        begun = motion.begin(self.model, 1)
        motion.find_reference(begun)
        self.assertLess(begun.change, 1e-8)
        self.assertGreater(begun.scale, 0)
        fine = with_catena.finish(self.model, "rk4", begun.duration / 4000, 4000, begun.q, begun.v)
        self.assertLess(motion.distance(motion.points(self.model, fine.q), begun.end), 1e-7)

    def test_holds(self):
        begun = motion.begin(self.model, 1)
        held = with_catena.hold_energy(self.model, "alpha", 0.02, 1.0, begun.q, begun.v, 1.0)
        self.assertEqual((held.why, round(held.time, 9)), ("", 1.0))
        self.assertEqual(with_catena.hold_energy(self.model, "alpha", 0.02, 1.0, begun.q, begun.v, -100.0).why, "gains energy")
        self.assertEqual(
            with_catena.hold_speed(self.model, "alpha", 0.02, 1.0, begun.q, begun.v, np.full(4, 1e-3)).why, "runs away"
        )
        self.assertEqual(with_catena.hold_energy(self.model, "rk4", 0.1, 50.0, begun.q, 1e3 * begun.v, np.inf).why, "stops")

    def test_largest(self):
        held = {0.001: "", 0.002: "", 0.005: "gains energy", 0.01: ""}
        row = stability.Row("catena", "rk4", {dt: with_catena.Held(why, 1.0) for dt, why in held.items()})
        self.assertEqual(row.largest, 0.002, "one that holds by chance above one that does not is none")
        self.assertIsNone(stability.Row("catena", "rk4", {0.001: with_catena.Held("stops", 1.0)}).largest)
        tried = stability.sweep("catena", "rk4", lambda method, dt: with_catena.Held("" if dt < 0.02 else "stops", 1.0))
        self.assertEqual((tried.largest, set(tried.held)), (0.015, set(stability.STEPS)))

    def test_cheapest(self):
        def curve(method, *points, program="catena"):
            return precision.Curve(program, method, 1, [precision.Point(dt, error, cost) for dt, error, cost in points])

        found = [
            curve("a", (0.1, 1e-3, 1), (0.05, 1e-2, 2), (0.02, 1e-4, 4)),
            curve("b", (0.1, 5e-3, 3)),
            curve("c", (0.1, 1e-4, 1), program="MuJoCo"),
        ]
        cost, best, point = precision.cheapest(found, "catena", 1, 1e-2)
        self.assertEqual((cost, best.method, point.dt), (1, "a", 0.1))
        cost, best, point = precision.cheapest(found, "catena", 1, 1e-3)
        self.assertEqual((cost, best.method, point.dt), (4, "a", 0.02), "a coarse run that is good by chance does not count")
        self.assertIsNone(precision.cheapest(found, "catena", 1, 1e-6))

    def test_verdicts(self):
        """Where catena is behind, the page says so."""

        def report(dt, cost):
            held = lambda most: {
                step: with_catena.Held("" if step <= most else "stops", 1.0) for step in stability.STEPS
            }  # noqa: E731
            r = Report(read_robot(ARM), self.model, 1, 10.0, {"catena": "1", "MuJoCo": "2"}, motion=motion.begin(self.model, 1))
            r.rows = [stability.Row("catena", "alpha", held(dt)), stability.Row("MuJoCo", "rk4", held(0.01))]
            r.curves = [
                precision.Curve(program, "m", 1, [precision.Point(0.01, 1e-6, c)])
                for program, c in (("catena", cost), ("MuJoCo", 1.0))
            ]
            return verdicts.all_of(r)

        better, worse, same = report(0.1, 0.25), report(0.002, 4.0), report(0.01, 1.0)
        self.assertEqual({v.side for v in better}, {verdicts.AHEAD})
        self.assertEqual({v.side for v in worse}, {verdicts.BEHIND})
        self.assertEqual({v.side for v in same}, {verdicts.ALIKE})
        self.assertIn("costs 4 times less", better[-1].text)
        self.assertIn("costs 4 times more", worse[-1].text)
        self.assertIn("in steps of 100 ms or more (alpha), MuJoCo in steps of 10 ms (rk4)", better[0].text)

    def test_whole_file(self):
        model = catena.load(DOG)
        q, v = whole.start(model, 1)
        self.assertGreater(np.abs(v).max(), 0.1)
        np.testing.assert_array_equal(whole.bound(np.array([1.0, 0.0])), [10.0, 1.0])
        found = whole.compare(read_robot(ARM), 0.5, 1)
        self.assertEqual({row.program for row in found.rows}, {"catena"})
        self.assertEqual(max(row.largest for row in found.rows), max(stability.STEPS))


class Beside(unittest.TestCase):
    """MuJoCo and Pinocchio compute what catena does."""

    FILES = ((ARM, "fixed"), (DOG, "fixed"), (DOG, "free"))

    def agree(self, side, name, files):
        for file, base in files:
            with self.subTest(f"{file.name}, {base} base"):
                robot = read_robot(file, base)
                model = with_catena.load_mechanics(robot)
                found = agreement.compare(model, getattr(side, name)(robot, model), name, side.VERSION, 1, 5)
                self.assertTrue(found.agrees, (found.worst, found.mass))

    @unittest.skipUnless(has("mujoco"), "MuJoCo is not installed")
    def test_mujoco(self):
        from catena.compare import with_mujoco

        self.agree(with_mujoco, "MuJoCo", self.FILES + ((MJCF, "fixed"),))
        for base in ("fixed", "free"):
            robot = read_robot(DOG, base)
            model = with_catena.load_whole(robot)
            whole_file = with_mujoco.WholeFile(robot, model)
            self.assertEqual(whole_file.model.nv, model.nv, base)
            np.testing.assert_allclose(
                whole_file.top_speeds("euler", 0.001, 0.001, model.initial_state()[0], np.ones(model.nv)), 1, atol=0.1
            )
        robot = read_robot(ARM)
        model = with_catena.load_mechanics(robot)
        begun = motion.begin(model, 1)
        motion.find_reference(begun)
        other = with_mujoco.MuJoCo(robot, model)
        end = other.finish("rk4", begun.duration / 4000, 4000, begun.q, begun.v)
        self.assertLess(motion.distance(motion.points(model, end.q), begun.end), 1e-7)
        self.assertEqual(other.hold_energy("rk4", 0.001, 1.0, begun.q, begun.v, 0.1 * begun.scale).why, "")
        self.assertNotEqual(other.hold_energy("euler", 0.1, 10.0, begun.q, 1e3 * begun.v, 0.1 * begun.scale).why, "")

    @unittest.skipUnless(has("pinocchio"), "Pinocchio is not installed")
    def test_pinocchio(self):
        from catena.compare import with_pinocchio

        self.agree(with_pinocchio, "Pinocchio", self.FILES)
        for base in ("fixed", "free"):
            robot = read_robot(DOG, base)
            model = with_catena.load_mechanics(robot)
            begun = motion.begin(model, 1)
            fine = with_catena.finish(model, "dop853", 0.001, 50, begun.q, begun.v)
            end = with_pinocchio.Pinocchio(robot, model).finish(0.001, 50, begun.q, begun.v)
            self.assertLess(motion.distance(motion.points(model, end), motion.points(model, fine.q)), 1e-6, base)


class SelfContained(html.parser.HTMLParser):
    """Collects what a page would load from elsewhere, and tags that do not close."""

    def __init__(self):
        super().__init__()
        self.loads, self.open = [], []

    def handle_starttag(self, tag, attributes):
        self.loads += [
            value for name, value in attributes if name == "src" or (name.endswith("href") and not value.startswith("#"))
        ]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open[-1] == tag, (self.open, tag)
        self.open.pop()


class Command(unittest.TestCase):
    @unittest.skipUnless(has("matplotlib"), "matplotlib is not installed")
    def test_page(self):
        with tempfile.TemporaryDirectory() as folder:
            to = os.path.join(folder, "arm.html")
            with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(io.StringIO()):
                before, stability.STEPS = stability.STEPS, (0.01, 0.05)
                self.addCleanup(setattr, stability, "STEPS", before)
                longest, precision.LONGEST = precision.LONGEST, 0.02
                self.addCleanup(setattr, precision, "LONGEST", longest)
                self.assertEqual(main([str(ARM), "--out", to, "--duration", "0.5", "--worlds", "4"]), 0)
            text = pathlib.Path(to).read_text()
            self.assertIn(to, said.getvalue())
            page = SelfContained()
            page.feed(text)
            self.assertEqual((page.loads, page.open), ([], []))
            self.assertEqual(text.count("<svg"), 2)
            for name, module in (("MuJoCo", "mujoco"), ("Pinocchio", "pinocchio")):
                self.assertEqual(f"<b>{name}</b> takes no part" in text, not has(module))

    @unittest.skipUnless(has("matplotlib"), "matplotlib is not installed")
    def test_mistakes(self):
        for words, said in (
            (["nowhere.urdf"], "nowhere.urdf"),
            ([str(ARM), "--duration", "0"], "--duration"),
            ([str(SCENES / "chain10.yaml")], "no XML"),
        ):
            with contextlib.redirect_stderr(io.StringIO()) as error:
                self.assertEqual(main(words + ["--quiet"]), 2)
            self.assertIn(said, error.getvalue())

    @unittest.skipUnless(COMMAND, "CATENA_COMMAND does not say where the command is")
    def test_handed_over(self):
        """The command's own table of options is the program's; without the program there is one clear sentence."""
        told = subprocess.run([COMMAND, "compare", "--help"], capture_output=True, text=True, check=True).stdout
        known = {name for action in parser()._actions for name in action.option_strings if name.startswith("--")}
        self.assertEqual(set(re.findall(r"^  (?:-., |    )(--[a-z]+)", told, re.M)), known)
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([COMMAND, "compare", "x.urdf"], capture_output=True, text=True, env={"PATH": folder})
            self.assertEqual(done.returncode, 1)
            self.assertIn("pip install '.[compare]'", done.stderr)
            script = pathlib.Path(folder) / "catena-compare"
            script.write_text('#!/bin/sh\necho "$0 $@"\n')
            script.chmod(0o755)
            done = subprocess.run(
                [COMMAND, "compare", "x.urdf", "--seed", "3"], capture_output=True, text=True, env={"PATH": f"{folder}:/bin"}
            )
            self.assertEqual(done.stdout.split("/")[-1].split()[0], "catena-compare")
            self.assertEqual(set(done.stdout.split()[1:]), {"x.urdf", "--seed", "3"})


if __name__ == "__main__":
    unittest.main()
