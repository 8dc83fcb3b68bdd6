#!/usr/bin/env python3
"""Lays out what Sphinx reads: the pages of the source folder where they are, and a page for each header and example.

usage: stage.py SOURCE-FOLDER STAGE-FOLDER

Files that pages link to come along. A link to a file or a folder that does not exist is an error; links to headings are Sphinx's
to check.
"""

import pathlib
import re
import shutil
import sys

PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "docs/*.md",
    "docs/notebooks/*.ipynb",
    "scenes/README.md",
    "bench/README.md",
    "tests/golden/README.md",
)
FOLDERS = ("docs/gallery", "docs/figures")
LINK = re.compile(r"(?<!\\)(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
INDEX = """\
# catena

```{include} README.md
:start-after: "# catena"
```

```{toctree}
:hidden:
:caption: Begin

docs/python
docs/notebooks/index
docs/compare
docs/coming-from
```

```{toctree}
:hidden:
:caption: Guide

%s
```

```{toctree}
:hidden:
:caption: Reference

python-api
include/catena/index
docs/architecture
CONTRIBUTING
scenes/README
examples/index
bench/README
tests/golden/README
The first page <README>
```
"""
FIRST = ("python", "compare", "coming-from", "architecture")  # pages that stand elsewhere in the contents
PYTHON = """\
# The package for Python

[Python](docs/python.md) says how to install it, and has programs. What is not in its list is in the module, too.

```{eval-rst}
.. automodule:: catena
   :members: load, read_recording, record, Recording, Link, ContactPoint, Sample, OptimizeState, MPCState, Finding, Error, %s
   :imported-members:
```
"""
CLASSES = "Model, Batch, Tapes, Optimize, Trajectories, MPC, Recorder"
ERRORS = "ArgumentError, SceneError, UnavailableError, FrozenError, FileError, OutOfMemoryError, InterruptedCallError"


class Stage:
    def __init__(self, source: pathlib.Path, to: pathlib.Path) -> None:
        self.source, self.to, self.wrong = source, to, []

    def write(self, path: str, text: str) -> None:
        file = self.to / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def page_of(self, target: pathlib.Path) -> str | None:
        """What a link to a file or folder of the source goes to, from the stage's root; None: there is nothing to go to."""
        path = target.relative_to(self.source)
        if target.suffix == ".h" and path.parent == pathlib.Path("include/catena"):
            return str(path.with_suffix(".md"))
        if target.is_dir():
            for index in ("README.md", "index.md"):
                if (self.to / path / index).exists():
                    return str(path / index)
            return None
        if not (self.to / path).exists():
            (self.to / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(target, self.to / path)
        return str(path)

    def link(self, page: pathlib.Path, match: re.Match[str]) -> str:
        picture, text, where = match.groups()
        path, mark, anchor = where.partition("#")
        if not path or re.match(r"[a-z]+:", path):
            return match[0]
        target = (page.parent / path).resolve()
        if not target.exists():
            self.wrong.append(f"{page.relative_to(self.source)}: '{where}': there is no such file")
            return match[0]
        to = self.page_of(target)
        if to is None:
            return text  # a folder without a page of its own
        up = "../" * (len(page.relative_to(self.source).parts) - 1)
        return f"{picture}[{text}]({up}{to}{mark}{anchor})"

    def stage_page(self, page: pathlib.Path) -> None:
        parts = re.split(r"(^```.*?^```|`[^`\n]+`)", page.read_text(), flags=re.M | re.S)
        linked = "".join(part if k % 2 else LINK.sub(lambda match: self.link(page, match), part) for k, part in enumerate(parts))
        self.write(str(page.relative_to(self.source)), linked)


def stage_headers(stage: Stage) -> None:
    names = sorted(file.stem for file in (stage.source / "include" / "catena").glob("*.h"))
    for name in names:
        text = (stage.source / "include" / "catena" / f"{name}.h").read_text()
        about = re.match(r"/// (.*(?:\n/// .*)*)", text)
        words = about[1].replace("\n/// ", " ") if about else ""
        stage.write(f"include/catena/{name}.md", f"# catena/{name}.h\n\n{words}\n\n```{{doxygenfile}} {name}.h\n```\n")
    stage.write(
        "include/catena/index.md", contents("The library in C", names, "`#include <catena/catena.h>` brings all of them.")
    )


def stage_examples(stage: Stage) -> None:
    files = sorted((stage.source / "examples").glob("*.c"))
    for file in files:
        stage.write(f"examples/{file.stem}.md", f"# {file.name}\n\n```c\n{file.read_text()}```\n")
    stage.write("examples/index.md", contents("Examples", [file.stem for file in files], "Programs that use the library."))


def contents(title: str, names: list[str], about: str) -> str:
    return f"# {title}\n\n{about}\n\n```{{toctree}}\n:maxdepth: 1\n\n" + "\n".join(names) + "\n```\n"


def main() -> int:
    source, to = (pathlib.Path(name).resolve() for name in sys.argv[1:3])
    stage = Stage(source, to)
    stage_headers(stage)
    stage_examples(stage)
    notebooks = sorted(file.stem for file in (source / "docs" / "notebooks").glob("*.ipynb"))
    stage.write("docs/notebooks/index.md", contents("Notebooks", notebooks, "The package, from a first pendulum to a gait."))
    stage.write("python-api.md", PYTHON % f"{CLASSES}, {ERRORS}")
    for folder in FOLDERS:
        shutil.copytree(source / folder, to / folder, dirs_exist_ok=True)
    pages = [page for pattern in PAGES for page in sorted(source.glob(pattern))]
    for page in pages:  # first of all they are there, so that folders know their pages
        (to / page.relative_to(source)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(page, to / page.relative_to(source))
    for page in pages:
        if page.suffix == ".md":
            stage.stage_page(page)
    guide = [f"docs/{page.stem}" for page in sorted((source / "docs").glob("*.md")) if page.stem not in FIRST]
    stage.write("index.md", INDEX % "\n".join(guide))
    for wrong in stage.wrong:
        print(wrong, file=sys.stderr)
    return 1 if stage.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
