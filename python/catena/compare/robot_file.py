"""A robot's file, and the mechanics in it that all programs share: masses, joints, springs, dampers, armature, gravity."""

from __future__ import annotations

import collections
import os
import pathlib
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field

NOT_MECHANICS = {  # of MJCF
    "actuator": "actuators",
    "sensor": "sensors",
    "tendon": "tendons",
    "equality": "equality constraints",
    "contact": "lists of contact pairs",
    "keyframe": "",  # the start is of the whole file
    "deformable": "deformable bodies",
    "custom": "",
    "visual": "",
    "statistic": "",
}
JOINT_LIMITS = ("range", "limited", "actuatorfrcrange", "actuatorfrclimited", "solreflimit", "solimplimit", "margin")
DRAWN = ("visual", "collision")


@dataclass
class Robot:
    """``whole``: its file. ``mechanics``: a file of the same kind, without what programs have laws of their own for."""

    whole: pathlib.Path
    kind: str  # "urdf", "mjcf"
    mechanics: str
    without_shapes: str = ""  # URDF: the whole file but for shapes, for readers that do not find its meshes
    taken_off: dict[str, int] = field(default_factory=dict)  # what is not in `mechanics`, and how often the file has it
    link_of: dict[str, str] = field(default_factory=dict)  # URDF: what link a joint moves
    base: str = "fixed"  # of a URDF; "free"

    @property
    def name(self) -> str:
        return self.whole.stem

    def said_of_taken_off(self) -> str:
        """What is in neither program where mechanics are compared, in words."""
        parts = [f"{what} ({count})" for what, count in self.taken_off.items()]
        return ", ".join(parts) if parts else "nothing"


def read_robot(path: str | os.PathLike[str], base: str = "fixed") -> Robot:
    """Reads a URDF or MJCF file. ``base``: "free" lets the base of a URDF fly. ValueError: it is neither, or no XML; OSError."""
    file = pathlib.Path(path).resolve()
    root = _parse(file)
    if root.tag == "robot":
        return _urdf(file, root, base)
    if root.tag != "mujoco":
        raise ValueError(f"{path}: expected a robot in URDF (<robot>) or a model of MuJoCo (<mujoco>), found <{root.tag}>")
    if base == "free":
        raise ValueError(f"{path}: --base free is for URDF; in MJCF a <freejoint/> of the base says so")
    return _mjcf(file, root)


def _parse(file: pathlib.Path) -> ET.Element:
    text = file.read_text(encoding="utf-8", errors="replace")
    text = re.sub(r"(</?|\s(?!xmlns))\w+:(?=\w+[\s=/>])", r"\1", text)  # prefixes of extensions, some of which nobody declares
    try:
        return ET.fromstring(text.encode())
    except ET.ParseError as error:
        line, column = error.position
        raise ValueError(f"{file}:{line}:{column + 1}: no XML: {error.args[0].split(':')[0]}") from None


# URDF


def _urdf(file: pathlib.Path, root: ET.Element, base: str) -> Robot:
    taken: collections.Counter[str] = collections.Counter()
    for extra in [child for child in root if child.tag not in ("link", "joint")]:
        root.remove(extra)  # transmissions, materials, what simulators are told
    for link in root.findall("link"):
        for kind in DRAWN:
            for shape in link.findall(kind):
                link.remove(shape)
                taken["collision shapes"] += kind == "collision"
        inertial = link.find("inertial")
        if inertial is not None and inertial.find("inertia") is None:  # a point, which Pinocchio would pass over
            ET.SubElement(inertial, "inertia", dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), "0"))
    if base == "free":
        _let_fly(file, root)
    for link in _standing(root):  # some readers refuse inertias of what never moves
        link.remove(link.find("inertial"))
    without_shapes = _text(root)
    for joint in root.findall("joint"):
        _free_joint_of_urdf(joint, taken)
    link_of = {joint.get("name", ""): joint.find("child").get("link", "") for joint in root.findall("joint")}
    return Robot(file, "urdf", _text(root), without_shapes, _counted(taken), link_of, base)


def _free_joint_of_urdf(joint: ET.Element, taken: collections.Counter[str]) -> None:
    limit, mimic, dynamics = joint.find("limit"), joint.find("mimic"), joint.find("dynamics")
    if limit is not None and joint.get("type") in ("revolute", "prismatic"):
        taken["joint limits"] += 1
        if joint.get("type") == "revolute":
            joint.set("type", "continuous")
            joint.remove(limit)
        else:  # Pinocchio's reader asks for limits of sliders
            limit.attrib = {"lower": "0", "upper": "0", "effort": "0", "velocity": "0"}
    if mimic is not None:
        taken["mimic joints, which move on their own"] += 1
        joint.remove(mimic)
    if dynamics is not None and float(dynamics.attrib.pop("friction", 0)):
        taken["dry friction of joints"] += 1
    for extra in [child for child in joint if child.tag in ("safety_controller", "calibration")]:
        joint.remove(extra)


def _standing(root: ET.Element) -> list[ET.Element]:
    """Links with an <inertial> that no joint moves."""
    up = {joint.find("child").get("link"): joint for joint in root.findall("joint")}

    def stands(name: str | None) -> bool:
        while name in up and up[name].get("type") == "fixed":
            name = up[name].find("parent").get("link")
        return name not in up

    return [link for link in root.findall("link") if link.find("inertial") is not None and stands(link.get("name"))]


def _let_fly(file: pathlib.Path, root: ET.Element) -> None:
    """Hangs the robot on a link `world` by a floating joint."""
    children = {joint.find("child").get("link") for joint in root.findall("joint")}
    first = [link.get("name") for link in root.findall("link") if link.get("name") not in children]
    if len(first) != 1 or first[0] == "world":
        raise ValueError(
            f"{file}: --base free: expected one base that is not called world, found {', '.join(map(str, first)) or 'none'}"
        )
    root.append(ET.Element("link", {"name": "world"}))
    joint = ET.SubElement(root, "joint", {"name": "floating_base", "type": "floating"})
    ET.SubElement(joint, "parent", {"link": "world"})
    ET.SubElement(joint, "child", {"link": str(first[0])})


# MJCF


def _mjcf(file: pathlib.Path, root: ET.Element) -> Robot:
    taken: collections.Counter[str] = collections.Counter()
    _splice_includes(root, file.parent, {file})
    for part in [child for child in root if child.tag in NOT_MECHANICS]:
        root.remove(part)
        taken[NOT_MECHANICS[part.tag]] += len(part)
    for joint in root.iter("joint"):
        limited = [joint.attrib.pop(name) for name in JOINT_LIMITS if name in joint.attrib]
        taken["joint limits"] += bool(limited)
        taken["dry friction of joints"] += float(joint.attrib.pop("frictionloss", 0)) > 0
    for body in root.iter("body"):
        taken["compensation of gravity"] += float(body.attrib.pop("gravcomp", 0)) != 0
    for geom in root.iter("geom"):
        taken["fluid forces of geoms"] += geom.attrib.pop("fluidshape", "none") != "none"
    for option in root.iter("option"):
        fluid = [float(option.attrib.pop(name, 0)) for name in ("density", "viscosity")]
        taken["a fluid around it"] += any(fluid)
    ET.SubElement(ET.SubElement(root, "option"), "flag", {"contact": "disable"})
    taken["contact"] += 1
    return Robot(file, "mjcf", _text(root), taken_off=_counted(taken))


def _splice_includes(parent: ET.Element, folder: pathlib.Path, seen: set[pathlib.Path]) -> None:
    """Puts the content of each <include> in its place, as MuJoCo does; files lie beside the model's own."""
    at = 0
    while at < len(parent):
        child = parent[at]
        if child.tag != "include":
            _splice_includes(child, folder, seen)
            at += 1
            continue
        file = (folder / child.get("file", "")).resolve()
        if file in seen:
            raise ValueError(f"{file}: is included twice")
        parent[at : at + 1] = list(_parse(file))
        seen.add(file)


def _counted(taken: collections.Counter[str]) -> dict[str, int]:
    return {what: count for what, count in taken.items() if what and count}


def _text(root: ET.Element) -> str:
    return ET.tostring(root, encoding="unicode") + "\n"
