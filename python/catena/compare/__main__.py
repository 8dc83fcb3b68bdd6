"""The command `catena compare`, which is `catena-compare` too."""

from __future__ import annotations

import argparse
import pathlib
import sys

import catena


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="catena compare",
        description="Compares catena with MuJoCo and Pinocchio, where they are installed, on one robot: your robot, your step.",
        epilog="A page says whether they compute the same, which step holds, and what an error costs. docs/compare.md says how.",
    )
    p.add_argument("file", metavar="FILE", help="a robot in URDF, or a model of MuJoCo (MJCF)")
    p.add_argument("--out", "-o", metavar="FILE", help="the page, HTML (default: NAME-compare.html here)")
    p.add_argument("--duration", type=float, default=10.0, metavar="S", help="what has to hold, in seconds (default 10)")
    p.add_argument("--worlds", type=int, default=64, metavar="N", help="of catena's runs side by side (default 64; 1: none)")
    p.add_argument("--seed", type=int, default=1, metavar="N", help="of the random states (default 1)")
    p.add_argument(
        "--base", choices=("fixed", "free"), default="fixed", help="whether the base of a URDF stands still (default) or flies"
    )
    p.add_argument("--quiet", "-q", action="store_true", help="print nothing but errors")
    return p


def fail(message: str, status: int) -> int:
    print(f"error: {message}", file=sys.stderr)
    return status


def main(arguments: list[str] | None = None) -> int:
    asked = parser().parse_args(arguments)
    if not asked.duration > 0 or asked.worlds < 1 or asked.seed < 0:
        return fail("--duration: expected more than 0; --worlds: 1 or more; --seed: 0 or more", 2)
    try:
        from . import page, report, verdicts
    except ImportError as error:
        return fail(f"compare needs {error.name}: pip install '.[compare]' gets it, and MuJoCo and Pinocchio", 2)
    say = (lambda words: None) if asked.quiet else (lambda words: print(f"{words} ...", file=sys.stderr, flush=True))
    try:
        found = report.measure(asked.file, asked.duration, asked.seed, asked.worlds, asked.base, tell=say)
    except OSError as error:
        return fail(f"{error.filename}: {error.strerror}", 2)
    except (catena.Error, ValueError) as error:
        return fail(str(error), 2)
    command = "catena compare " + " ".join(sys.argv[1:] if arguments is None else arguments)
    to = pathlib.Path(asked.out or f"{found.robot.name}-compare.html")
    try:
        to.write_text(page.html(found, command), encoding="utf-8")
    except OSError as error:
        return fail(f"{to}: {error.strerror}", 1)
    if not asked.quiet:
        for name, why in found.absent.items():
            print(f"{name} takes no part: {why}")
        for name, why in found.whole.refused.items():
            print(f"the file as it is, {name}: {why}")
        for verdict in verdicts.all_of(found):
            print(f"{verdict.side:<8} {verdict.text}")
        print(to)
    return 0


if __name__ == "__main__":
    sys.exit(main())
