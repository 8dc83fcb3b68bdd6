"""The report as one HTML page that needs nothing beside it."""

from __future__ import annotations

from html import escape

from . import agreement, motion, plots, precision, stability, verdicts, whole
from .report import Report
from .verdicts import AHEAD, ALIKE, BEHIND, milliseconds, number

MARKS = {
    AHEAD: ("ahead", "catena ahead"),
    BEHIND: ("behind", "catena behind"),
    ALIKE: ("alike", "alike"),
    verdicts.NEITHER: ("neither", "note"),
}

STYLE = """
:root { color-scheme: light; --ink: #1d1f23; --soft: #5c6370; --line: #d9dce2; --good: #d9f2e3; --bad: #fbdede; --even: #e8ebf0; }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: #fff; }
body { max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { line-height: 1.2; } h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
table { border-collapse: collapse; margin: 1rem 0; font-size: 0.9rem; } th, td { padding: 0.25rem 0.6rem; text-align: left; }
th { border-bottom: 2px solid var(--line); vertical-align: bottom; } td { border-bottom: 1px solid var(--line); }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.holds { background: var(--good); } .fails { background: var(--bad); }
ul.verdicts { list-style: none; padding: 0; }
ul.verdicts li { margin: 0.4rem 0; padding: 0.4rem 0.7rem; border-left: 6px solid #9aa3b2; }
li.ahead { border-color: #2e9e5b; background: var(--good); } li.behind { border-color: #c93c3c; background: var(--bad); }
li.alike, li.neither { background: var(--even); } li b { display: inline-block; min-width: 7.5rem; }
.wide { overflow-x: auto; } svg { max-width: 100%; height: auto; }
.soft { color: var(--soft); } code { background: #f1f2f5; padding: 0 0.2em; }
"""


def html(report: Report, command: str) -> str:
    name = escape(report.robot.whole.name)
    parts = [
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{name}: your robot, your step</title>',
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>',
        f"<h1>{name}: your robot, your step</h1>",
        _head(report, command),
        "<h2>In short</h2>",
        _verdicts(report),
        "<h2>The same mechanics?</h2>",
        _agreement(report),
        "<h2>The largest step that holds</h2>",
        _steps(report),
        "<h2>Error over cost</h2>",
        _precision(report),
        "<h2>The file as it is</h2>",
        _whole(report),
        "</body></html>\n",
    ]
    return "\n".join(parts)


def _table(head: list[str], rows: list[list[str]]) -> str:
    """Cells are HTML; those that begin with <td have their own."""
    cells = lambda row: "".join(cell if cell.startswith("<td") else f"<td>{cell}</td>" for cell in row)  # noqa: E731
    top = "".join(f"<th>{cell}</th>" for cell in head)
    return f'<div class="wide"><table><tr>{top}</tr>' + "".join(f"<tr>{cells(row)}</tr>" for row in rows) + "</table></div>"


def _right(text: str, kind: str = "") -> str:
    return f'<td class="number {kind}">{text}</td>'


def _head(report: Report, command: str) -> str:
    programs = ", ".join(f"{escape(name)} {escape(version)}" for name, version in report.programs.items())
    lines = [
        f"<p>{report.model.nlink} links, {report.model.nv} degrees of freedom. {programs}; {escape(report.machine)}, one thread. "
        f'Load when it began: {report.load:.1f}{" (times may be those of a busy machine)" if report.load > 1 else ""}.</p>',
        f"<p><code>{escape(command)}</code></p>",
    ]
    lines += [f"<p><b>{escape(name)}</b> takes no part: {escape(why)}.</p>" for name, why in report.absent.items()]
    return "\n".join(lines)


def _verdicts(report: Report) -> str:
    said = verdicts.all_of(report)
    items = [f'<li class="{MARKS[v.side][0]}"><b>{MARKS[v.side][1]}</b> {escape(v.text)}</li>' for v in said]
    return f'<ul class="verdicts">{"".join(items)}</ul>' if items else "<p>No other program is here to compare with.</p>"


def _agreement(report: Report) -> str:
    text = (
        f"<p>{agreement.STATES} states at random, about a radian from where the file starts. The figure is the largest "
        f"difference, relative to the largest entry at that state; up to {agreement.BOUND:g} counts as the same. Compared are "
        "masses, joints, joint springs and dampers, armature and gravity. Taken off in all programs, as each has a law of its "
        f"own for them, or only one has it: {escape(report.robot.said_of_taken_off())}.</p>"
    )
    rows = []
    for found in report.agreements:
        figures = []
        for name in agreement.QUANTITIES:
            value = found.worst.get(name)
            figures.append(
                "<td>has none</td>" if value is None else _right(f"{value:.1e}", "holds" if value < agreement.BOUND else "fails")
            )
        rows.append(
            [
                f"{found.program} {found.version}",
                *figures,
                _right(f"{found.mass[1]:.9g}"),
                escape("; ".join(found.why)) or "agrees",
            ]
        )
    if rows:
        total = f"{report.agreements[0].mass[0]:.9g}"
        head = [
            "beside catena",
            "inertia H(q)",
            "bias c(q, v)",
            "springs, dampers",
            "acceleration",
            f"mass that moves, kg (catena: {total})",
            "",
        ]
        text += _table(head, rows)
    if "Pinocchio" in report.programs:
        text += (
            "<p class='soft'>Pinocchio's dynamics know no joint springs and dampers: accelerations are compared without them.</p>"
        )
    return text + "".join(f"<p><b>{escape(note)}</b></p>" for note in report.notes)


def _cells(row: stability.Row) -> list[str]:
    cells = []
    for dt in stability.STEPS:
        held = row.held.get(dt)
        if held is None:
            cells.append("<td>–</td>")
        elif held.why:
            cells.append(_right(f'<span title="{escape(held.why)} at {held.time:.3g} s">{held.time:.2g} s</span>', "fails"))
        else:
            cells.append(_right("✓", "holds"))
    return cells


def _steps_table(rows: list[stability.Row]) -> str:
    head = ["program", "method", *[f"{1000 * dt:g} ms" for dt in stability.STEPS], "largest"]
    return _table(head, [[row.program, escape(row.method), *_cells(row), milliseconds(row.largest)] for row in rows])


def _start(report: Report) -> str:
    begun = report.motion
    fast = motion.AFLOAT if begun.floats else motion.SPEED
    text = (
        "Joints begin up to half a radian (slides: half a metre) from where the file starts, at speeds of up to "
        f"{fast:g} rad/s (seed {report.seed})."
    )
    if begun.floats:
        text += " The base is free: there is no gravity, so that limbs swing and nothing just falls."
    return text + " No energy comes in."


def _steps(report: Report) -> str:
    if report.motion is None:
        return f"<p>{escape(report.no_motion)}</p>"
    return (
        f"<p>{_start(report)} A run of {report.duration:g} s holds if its energy never rises by more than "
        f"{stability.ALLOWED:.0%} of the most kinetic energy that the motion has ({number(report.motion.scale)} J), and no "
        "number is infinite. Where one fails, the cell says after how long. To hold is not to be accurate: position-based methods "
        "hold by losing energy (the next section has errors).</p>"
    ) + _steps_table(report.rows)


def _precision(report: Report) -> str:
    begun = report.motion
    if begun is None:
        return f"<p>{escape(report.no_motion)}</p>"
    confirmed = "; ".join(
        f"{name} by the classical Runge-Kutta method in steps of {1000 * dt:g} ms ends {apart:.1g} m from it"
        for name, (apart, dt) in report.confirmed.items()
    )
    text = (
        f"<p>The same motion for {begun.duration:g} s. The error is how far any link ends from a reference: catena "
        f"{begun.method} in steps of {number(1000 * begun.dt)} ms, which halving them changes by {begun.change:.1g} m. "
        f"{escape(confirmed)}. Costs are times of the CPU for the steps alone, the least of three for short runs. Joint springs "
        "and dampers, which Pinocchio lacks, are catena's there.</p>"
    )
    alone = [curve for curve in report.curves if curve.worlds == 1]
    text += plots.curves(alone, "cost") + "<p>The same runs, over the size of their steps:</p>" + plots.curves(alone, "dt")
    return text + _levels(report)


def _levels(report: Report) -> str:
    worlds = sorted({curve.worlds for curve in report.curves if curve.program == "catena"})
    columns = [("catena", n) for n in worlds] + ([("MuJoCo", 1)] if "MuJoCo" in report.programs else [])
    rows = []
    for level in precision.LEVELS:
        row = [f"{level:g} m"]
        for program, n in columns:
            found = precision.cheapest(report.curves, program, n, level)
            if found is None:
                row.append("not reached")
            else:
                row.append(f"{escape(found[1].method)}, {number(1000 * found[2].dt)} ms: <b>{number(1e6 * found[0])} µs</b>")
        rows.append(row)
    names = [program if n == 1 else f"{program}, {n} worlds, each" for program, n in columns]
    text = "<p>The cheapest method that meets an error, with its step, and what a simulated second of a world costs:</p>"
    return text + _table(["error", *names], rows)


def _whole(report: Report) -> str:
    found = report.whole
    text = (
        "<p>With all that each program reads: contact, limits, friction, actuators at what the file tells them. These laws "
        "differ from program to program, so there is no common reference, and only what holds is compared: no joint may become "
        "more than ten times as fast as in the same program's run in steps of 0.5 ms. Links start where the file says, joints at "
        "up to 0.5 rad/s.</p>"
    )
    differs = (
        "MuJoCo's links touch each other where the file lets them; catena's only what is fixed, unless a scene asks for more."
        if report.robot.kind == "mjcf"
        else "URDF has no ground: nothing touches anything in catena; MuJoCo is given the file without its shapes."
    )
    text += f"<p>{differs}</p>"
    if found.own_step:
        text += (
            f"<p>MuJoCo's own choice for the file: {escape(found.own_step[0])} in steps of {1000 * found.own_step[1]:g} ms.</p>"
        )
    text += "".join(f"<p><b>{escape(who)}</b>: {escape(why)}</p>" for who, why in found.refused.items())
    if found.rows:
        text += _steps_table(found.rows) + _costs(found.costs)
    if found.warnings:
        items = "".join(f"<li>{escape(warning)}</li>" for warning in found.warnings)
        text += f"<details><summary>What catena says of the file</summary><ul>{items}</ul></details>"
    return text


def _costs(costs: list[whole.Cost]) -> str:
    rows = [
        [c.program, escape(c.method), f"{1000 * c.dt:g} ms", _right(f"{1000 * c.seconds:.3g}"), _right(number(1 / c.seconds))]
        for c in costs
    ]
    head = ["program", "method", "largest step that holds", "computing, ms a simulated second", "times real time"]
    return _table(head, rows) if rows else ""
