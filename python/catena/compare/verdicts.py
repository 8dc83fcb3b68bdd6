"""What the numbers say, in sentences: where catena is ahead, and, as plainly, where it is not."""

from __future__ import annotations

from typing import NamedTuple

from . import precision, stability
from .report import Report

NEAR = 1.1  # costs closer than that are alike
AHEAD, BEHIND, ALIKE, NEITHER = "ahead", "behind", "alike", "neither"


class Verdict(NamedTuple):
    side: str  # AHEAD: catena is; BEHIND: another program is; ALIKE; NEITHER: no comparison
    text: str


def number(value: float) -> str:
    return f"{value:.3g}"


def milliseconds(dt: float | None) -> str:
    if dt is None:
        return "none of the steps tried"
    return f"{1000 * dt:g} ms" + (" or more" if dt == max(stability.STEPS) else "")


def largest(rows: list[stability.Row], program: str) -> tuple[float | None, str]:
    """The largest step that holds by any method of a program, and which."""
    found = [(row.largest or 0.0, row.method) for row in rows if row.program == program]
    if not found:
        return None, ""
    best = max(dt for dt, _ in found)
    return best or None, ", ".join(method for dt, method in found if dt == best)


def all_of(report: Report) -> list[Verdict]:
    said = [_of_agreement(found) for found in report.agreements]
    if report.rows:
        said.append(_of_steps(report.rows, "Masses and joints alone", report.duration))
    said += [verdict for level in (1e-2, 1e-3, 1e-5) for verdict in _of_cost(report, level)]
    if report.whole.rows:
        said.append(_of_steps(report.whole.rows, "The file as it is", report.duration))
        said += _of_real_time(report)
    return said


def _of_agreement(found) -> Verdict:
    most = max(found.worst.values())
    if found.agrees:
        return Verdict(ALIKE, f"{found.program} and catena compute the same accelerations, to {most:.1g} of the largest.")
    return Verdict(NEITHER, f"{found.program} and catena differ, by up to {most:.1g}: " + "; ".join(found.why) + ".")


def _of_steps(rows: list[stability.Row], what: str, duration: float) -> Verdict:
    ours, how = largest(rows, "catena")
    theirs, other = largest(rows, "MuJoCo")
    mine = f"catena holds for {duration:g} s in steps of {milliseconds(ours)} ({how})"
    if not other:
        return Verdict(NEITHER, f"{what}: {mine}.")
    side = ALIKE if ours == theirs else AHEAD if (ours or 0) > (theirs or 0) else BEHIND
    return Verdict(side, f"{what}: {mine}, MuJoCo in steps of {milliseconds(theirs)} ({other}).")


def _of_cost(report: Report, level: float) -> list[Verdict]:
    peer = precision.cheapest(report.curves, "MuJoCo", 1, level)
    said = []
    for worlds in sorted({curve.worlds for curve in report.curves if curve.program == "catena"}):
        ours = precision.cheapest(report.curves, "catena", worlds, level)
        where = "one world" if worlds == 1 else f"{worlds} worlds on one thread, each"
        if ours is None or peer is None:
            if peer is not None or ours is not None:
                who = "MuJoCo" if peer is not None else "catena"
                said.append(
                    Verdict(BEHIND if peer is not None else AHEAD, f"An error of {level:g} m, {where}: only {who} gets there.")
                )
            continue
        ratio = peer[0] / ours[0]
        side = ALIKE if 1 / NEAR < ratio < NEAR else AHEAD if ratio > 1 else BEHIND
        words = {
            ALIKE: "costs about the same",
            AHEAD: f"costs {number(ratio)} times less",
            BEHIND: f"costs {number(1 / ratio)} times more",
        }
        said.append(
            Verdict(
                side,
                f"An error of {level:g} m after {report.motion.duration:g} s, {where}: "
                f"catena {ours[1].method} at {1000 * ours[2].dt:.3g} ms "
                f"{words[side]} than MuJoCo {peer[1].method} at {1000 * peer[2].dt:.3g} ms.".replace(
                    "the same than", "the same as"
                ),
            )
        )
    return said


def _of_real_time(report: Report) -> list[Verdict]:
    """The least cost of a simulated second among the largest steps that hold."""
    best = {}
    for cost in report.whole.costs:
        if cost.program not in best or cost.seconds < best[cost.program].seconds:
            best[cost.program] = cost
    if len(best) < 2:
        return []
    ours, theirs = best["catena"], best["MuJoCo"]
    ratio = theirs.seconds / ours.seconds
    side = ALIKE if 1 / NEAR < ratio < NEAR else AHEAD if ratio > 1 else BEHIND
    said = [f"{c.program} {1000 * c.seconds:.3g} ms ({c.method}, {1000 * c.dt:g} ms)" for c in (ours, theirs)]
    return [
        Verdict(
            side,
            f"The file as it is, at the largest step that holds: a simulated second takes {said[0]}, {said[1]}. Stable is not "
            "accurate: neither is compared with a reference here.",
        )
    ]
