"""Everything that is measured of a robot, in order; what the page and the summary are made of."""

from __future__ import annotations

import contextlib
import importlib
import os
import platform
from dataclasses import dataclass, field
from typing import Any, Callable

import catena

from . import agreement, motion, precision, stability, whole, with_catena
from .joints import Unmatched
from .robot_file import Robot, read_robot

PROGRAMS = {"MuJoCo": ("with_mujoco", "mujoco"), "Pinocchio": ("with_pinocchio", "pin")}  # module here, package of PyPI
FINE = 0.0005  # s: steps of the others' own reference
TIMES_FINER = 4


@dataclass
class Report:
    robot: Robot
    model: catena.Model
    seed: int
    duration: float  # s, of what has to hold
    programs: dict[str, str] = field(default_factory=dict)  # version of each that takes part
    absent: dict[str, str] = field(default_factory=dict)  # why the others do not
    notes: list[str] = field(default_factory=list)
    agreements: list[agreement.Agreement] = field(default_factory=list)
    motion: motion.Motion | None = None
    no_motion: str = ""  # why there is none
    confirmed: dict[str, tuple[float, float]] = field(
        default_factory=dict
    )  # program: how far from the reference (m), with dt (s)
    rows: list[stability.Row] = field(default_factory=list)
    curves: list[precision.Curve] = field(default_factory=list)
    whole: whole.WholeFile = field(default_factory=whole.WholeFile)
    machine: str = ""
    load: float = 0.0  # runnable processes when it began


def measure(
    path: str | os.PathLike[str],
    duration: float = 10.0,
    seed: int = 1,
    worlds: int = precision.WORLDS,
    base: str = "fixed",
    without: tuple[str, ...] = (),
    tell: Callable[[str], Any] = lambda words: None,
) -> Report:
    """Compares a URDF or MJCF file in all programs that are installed, but those in ``without``.

    ``duration`` (s): what has to hold. ``worlds``: of catena's runs side by side; 1: none. ``base``: "free" lets the base of a
    URDF fly. ``tell`` hears what is being done. Raises catena.Error, ValueError or OSError for a file that cannot be read.
    """
    robot = read_robot(path, base)
    model = with_catena.load_mechanics(robot)
    if not model.nv:
        raise ValueError(f"{path}: nothing moves in it: no joint has a degree of freedom")
    report = Report(robot, model, seed, duration, {"catena": catena.__version__}, machine=_machine(), load=os.getloadavg()[0])
    others = _others(report, without)
    mujoco_side = importlib.import_module(".with_mujoco", __package__) if "MuJoCo" in others else None
    with mujoco_side.quiet() if mujoco_side else contextlib.nullcontext():
        for name, other in others.items():
            tell(f"dynamics beside {name}")
            report.agreements.append(agreement.compare(model, other, name, report.programs[name], seed))
        _note_wheels(report)
        tell("the reference")
        _find_motion(report, others)
        if report.motion is not None:
            tell("the largest step that holds")
            _hold(report, others)
            tell("error over cost")
            report.curves = precision.curves(report.motion, others.get("MuJoCo"), worlds)
        tell("the file as it is")
        report.whole = whole.compare(robot, duration, seed, mujoco_side)
    return report


def _others(report: Report, without: tuple[str, ...]) -> dict[str, Any]:
    """The programs that read the file, by name."""
    found = {}
    for name, (module, package) in PROGRAMS.items():
        if name in without:
            report.absent[name] = "left out"
            continue
        try:
            side = importlib.import_module("." + module, __package__)
        except ImportError:
            report.absent[name] = f"is not installed: pip install {package}"
            continue
        try:
            found[name] = getattr(side, name)(report.robot, report.model)
        except (Unmatched, ValueError, RuntimeError) as error:
            report.absent[name] = f"{side.VERSION} does not take the file: " + " ".join(str(error).split())
            continue
        report.programs[name] = side.VERSION
        report.notes += getattr(found[name], "notes", [])
    return found


def _note_wheels(report: Report) -> None:
    for found in report.agreements:
        if found.program == "Pinocchio" and not found.agrees:
            from .with_pinocchio import beside_crocoddyl

            if beside_crocoddyl():
                report.notes.append(
                    "Crocoddyl is installed beside Pinocchio. Its wheel is built for one version of it, and makes another one "
                    "compute wrong accelerations without a word: install Pinocchio without Crocoddyl, and compare again."
                )


def _find_motion(report: Report, others: dict[str, Any]) -> None:
    model = report.model
    if motion.begin(model, report.seed).floats:
        model = with_catena.load_mechanics(report.robot, gravity=False)
        for other in others.values():
            other.set_gravity([0, 0, 0])
    begun = motion.begin(model, report.seed)
    try:
        motion.find_reference(begun)
    except ValueError as error:
        report.no_motion = str(error)
        return
    report.motion = begun
    for name, other in others.items():
        report.confirmed[name] = _confirm(begun, name, other)


def _confirm(begun: motion.Motion, name: str, other: Any) -> tuple[float, float]:
    """How near the other program comes to the reference by the classical Runge-Kutta method: (m, s)."""
    best = (float("inf"), FINE)
    for dt in (FINE, FINE / TIMES_FINER):
        steps = round(begun.duration / dt)
        if name == "MuJoCo":
            end = other.finish("rk4", dt, steps, begun.q, begun.v).q
        else:
            end = other.finish(dt, steps, begun.q, begun.v)
        best = min(best, (motion.distance(motion.points(begun.model, end), begun.end), dt))
        if best[0] < 1e-8:
            break
    return best


def _hold(report: Report, others: dict[str, Any]) -> None:
    begun = report.motion
    assert begun is not None

    def ours(method: str, dt: float, duration: float, q: Any, v: Any, most: float) -> with_catena.Held:
        return with_catena.hold_energy(begun.model, method, dt, duration, q, v, most)

    programs = [(with_catena.NAME, with_catena.METHODS, ours)]
    if "MuJoCo" in others:
        from . import with_mujoco

        programs.append((with_mujoco.NAME, with_mujoco.METHODS, others["MuJoCo"].hold_energy))
    report.rows = stability.energy_rows(begun, report.duration, programs)


def _machine() -> str:
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            model = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), model)
    except OSError:
        pass
    return f"{model}, {os.cpu_count()} CPUs, {platform.system()}"
