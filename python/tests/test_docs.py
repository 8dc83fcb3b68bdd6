"""docs/python.md, docs/compare.md, README.md: programs in them run, and print what they say; the first one names all there is."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import unittest

import catena

from support import SOURCE


class Docs(unittest.TestCase):
    def setUp(self):
        self.page = (SOURCE / "docs" / "python.md").read_text()

    def test_programs(self):
        self.run_programs("docs/python.md", self.page, 5)

    def test_compare(self):
        self.run_programs("docs/compare.md", (SOURCE / "docs" / "compare.md").read_text(), 1)

    def test_readme(self):
        self.run_programs("README.md", (SOURCE / "README.md").read_text(), 1)

    def run_programs(self, name: str, page: str, least: int):
        found = re.findall(r"```python\n(.*?)```\n\n```output\n(.*?)```", page, re.S)
        self.assertGreaterEqual(len(found), least)
        self.assertEqual(len(found), page.count("```python\n"), "a program without its output")
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(SOURCE)
        for program, output in found:
            if "gymnasium" in program and not importlib.util.find_spec("gymnasium"):
                continue
            with self.subTest(program), contextlib.redirect_stdout(io.StringIO()) as said:
                exec(compile(program, name, "exec"), {})
            self.assertEqual(said.getvalue(), output)

    def test_coming_from(self):
        """Every name of the package in the middle column of the tables is one."""
        page, found = (SOURCE / "docs" / "coming-from.md").read_text(), 0
        for row in re.findall(r"^\|[^|]*\|([^|]*)\|[^|]*\|$", page[page.index("## MuJoCo") :], re.M):
            owner = None
            for word in re.findall(r"`([A-Za-z_.]+)[^`]*`", row):
                first, _, name = word.partition(".")
                if first in catena.__all__ or first == "catena":
                    owner = catena if first == "catena" and name else getattr(catena, first, None)
                elif owner is not None:
                    name = first
                if owner is not None and name:
                    self.assertTrue(hasattr(owner, name), f"{word} in {row}")
                    found += 1
        self.assertGreater(found, 60)

    def test_names(self):
        table = self.page[self.page.index("## What is where in C") :]
        for name in re.findall(r"`([A-Z]\w+)\.(\w+)", table):
            self.assertTrue(hasattr(getattr(catena, name[0]), name[1]), name)
        headers = "".join(file.read_text() for file in (SOURCE / "include" / "catena").glob("*.h"))
        for name in set(re.findall(r"`(ctn_\w+)[`*]", table)):
            self.assertIn(name, headers)
        for kind in (catena.Model, catena.Batch):
            for name in dir(kind):
                if not name.startswith("_") and name not in (
                    "name",
                    "nq",
                    "nv",
                    "nlink",
                    "ntarget",
                    "text",
                    "duration",
                    "gravity",
                    "warnings",
                    "model",
                    "worlds",
                    "fallbacks",
                    "occupancy",
                    "bytes",
                    "parameters",
                ):
                    self.assertRegex(table, rf"\b{name}\b", f"{kind.__name__}.{name} is not in the table")
        for name in catena.__all__:
            if not name.endswith(("Error", "State", "Report")) and name not in (
                "ContactPoint",
                "Finding",
                "Link",
                "Recording",
                "Sample",
                "totals_dtype",
            ):
                self.assertRegex(table, rf"\b{name}\b", f"{name} is not in the table")

    def test_everything_says_what_it_is(self):
        plans = (catena.Optimize, catena.Trajectories, catena.MPC, catena.Search, catena.CMA)
        others = (catena.Tape, catena.Tapes, catena.Recorder, catena.Picture, catena.Movie)
        for kind in (catena.Model, catena.Batch, catena.Environments, *others, *plans):
            self.assertTrue(kind.__doc__, kind)
            for name in dir(kind):
                if not name.startswith("_"):
                    self.assertTrue(getattr(kind, name).__doc__, f"{kind.__name__}.{name}")


if __name__ == "__main__":
    unittest.main()
