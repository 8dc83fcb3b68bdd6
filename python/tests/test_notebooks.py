"""docs/notebooks: they run, and print what is kept in them. Pictures are not compared."""

from __future__ import annotations

import importlib.util
import json
import runpy
import shutil
import unittest

from support import COMMAND, SOURCE

FOLDER = SOURCE / "docs" / "notebooks"
NAMES = ("1-first-pendulum", "2-large-steps", "3-an-arm", "4-find-the-throw", "5-a-gait-by-search")
RUNNERS = ("nbclient", "nbformat", "ipykernel", "matplotlib")
LARGEST = 150_000  # bytes of a notebook, with its pictures


def missing(names: tuple[str, ...]) -> list[str]:
    return [name for name in names if importlib.util.find_spec(name) is None]


def printed(notebook: dict) -> list[str]:
    """What each cell of code printed."""
    told = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            streams = [output for output in cell["outputs"] if output["output_type"] == "stream" and output["name"] == "stdout"]
            told.append("".join("".join(output["text"]) for output in streams))
    return told


class Notebooks(unittest.TestCase):
    def test_kept(self):
        self.assertEqual(sorted(file.stem for file in FOLDER.glob("*.ipynb")), list(NAMES))
        for name in NAMES:
            with self.subTest(name):
                file = FOLDER / f"{name}.ipynb"
                self.assertLess(file.stat().st_size, LARGEST)
                notebook = json.loads(file.read_text())
                outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", ())]
                self.assertTrue(outputs, "was never run")
                self.assertNotIn("error", {output["output_type"] for output in outputs})
                self.assertEqual([output for output in outputs if output.get("name") == "stderr"], [])

    def run_again(self, name: str, *needs: str) -> None:
        lacking = missing(RUNNERS + needs)
        if lacking:
            self.skipTest(f"{', '.join(lacking)} not installed")
        file = FOLDER / f"{name}.ipynb"
        again = runpy.run_path(str(SOURCE / "tools" / "notebooks"))["executed"](file)
        self.assertEqual(printed(again), printed(json.loads(file.read_text())))

    def test_first_pendulum(self):
        self.run_again(NAMES[0])

    def test_large_steps(self):
        self.run_again(NAMES[1], "mujoco")

    def test_arm(self):
        self.run_again(NAMES[2])

    def test_throw(self):
        self.run_again(NAMES[3])

    def test_gait(self):
        if not (COMMAND or shutil.which("catena")):
            self.skipTest("the command catena is not in PATH, and CATENA_COMMAND does not say where it is")
        self.run_again(NAMES[4])


if __name__ == "__main__":
    unittest.main()
