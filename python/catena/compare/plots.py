"""Pictures of the page, as SVG: error over cost, and error over the size of a step."""

from __future__ import annotations

import io
import math

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from .precision import Curve  # noqa: E402

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f3c8d", "#11a579")  # told apart by all eyes
GREYS = ("#000000", "#6e6e6e", "#a0a0a0", "#444444", "#c4c4c4")
MARKS = "osD^vPX*"


def curves(found: list[Curve], over: str) -> str:
    """``over``: "cost" or "dt". An inline <svg>; catena in colours, the other in grey."""
    figure, axes = plt.subplots(figsize=(8.2, 5.2))
    drawn = {"catena": 0, "MuJoCo": 0}
    for curve in found:
        k = drawn[curve.program]
        drawn[curve.program] += 1
        points = [(getattr(p, over), p.error) for p in curve.points if 0 < p.error < 10 and math.isfinite(p.error)]
        if not points:
            continue
        mine = curve.program == "catena"
        colours = COLOURS if mine else GREYS
        x, y = zip(*points)
        if over == "dt":
            x = tuple(1000 * value for value in x)
        axes.loglog(
            x,
            y,
            "-" if mine else "--",
            marker=MARKS[k % len(MARKS)],
            ms=4,
            lw=1.5,
            color=colours[k % len(colours)],
            label=curve.name,
        )
    axes.set_xlabel("computing, s for a simulated second of a world" if over == "cost" else "step, ms")
    axes.set_ylabel("error at the end, m")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    return _svg(figure)


def _svg(figure) -> str:
    to = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "catena"}):
        figure.savefig(to, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    text = to.getvalue()
    return text[text.index("<svg") :]
