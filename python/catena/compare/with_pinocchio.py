"""Pinocchio's side of the same robot, in catena's coordinates: a second opinion on dynamics. It has no time steps of its own."""

from __future__ import annotations

import importlib.metadata

import numpy as np
import pinocchio

import catena

from .joints import ONE_NUMBER, Place, Unmatched, moving, rate, rotation

NAME = "Pinocchio"
VERSION = pinocchio.__version__


def beside_crocoddyl() -> bool:
    """Crocoddyl's wheel is built for one version of Pinocchio; beside another, accelerations have been wrong in silence."""
    try:
        importlib.metadata.version("crocoddyl")
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


class Pinocchio:
    """The mechanics of a robot's file. Unmatched, ValueError."""

    def __init__(self, robot, model: catena.Model) -> None:
        self.ours = model
        if robot.kind == "urdf":
            self.model = pinocchio.buildModelFromXML(robot.mechanics)
        else:
            self.model = pinocchio.buildModelFromMJCF(str(robot.whole))
        self.places = _places(self.model, model, robot)
        self.data = self.model.createData()

    def set_gravity(self, gravity) -> None:
        self.model.gravity.linear = np.array(gravity)

    def _numbers(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Pinocchio's q and v; T [nv, nv], by which its velocities are T v; and (dT/dt) v."""
        to_q, T, drift = np.zeros(self.model.nq), np.zeros((self.model.nv, self.ours.nv)), np.zeros(self.model.nv)
        for place in self.places:
            at, first = q[place.q], place.other_q.start
            if place.kind == "free":
                R = rotation(at[3:])
                to_q[first : first + 7] = *at[:3], *np.roll(at[3:], -1)  # x y z w
                v_at, other = place.v.start, place.other_v.start
                T[other : other + 3, v_at : v_at + 3] = R.T
                T[other + 3 : other + 6, v_at + 3 : v_at + 6] = np.eye(3)
                drift[other : other + 3] = -np.cross(v[v_at + 3 : v_at + 6], R.T @ v[v_at : v_at + 3])
                continue
            T[place.other_v, place.v] = np.eye(place.v.stop - place.v.start)
            if place.kind == "ball":
                to_q[place.other_q] = np.roll(at, -1)
            elif place.other_q.stop - first == 2:  # a joint that turns on and on: cosine and sine
                to_q[place.other_q] = np.cos(at[0]), np.sin(at[0])
            else:
                to_q[place.other_q] = at
        return to_q, T @ v, T, drift

    def dynamics(self, q: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
        """inertia [nv, nv], bias and acceleration [nv]; of no passive forces, which Pinocchio does not have."""
        to_q, to_v, T, drift = self._numbers(q, v)
        upper = np.triu(pinocchio.crba(self.model, self.data, to_q))
        inertia = upper + np.triu(upper, 1).T
        bias = pinocchio.nonLinearEffects(self.model, self.data, to_q, to_v)
        acceleration = pinocchio.aba(self.model, self.data, to_q, to_v, np.zeros(self.model.nv))
        return {
            "inertia": T.T @ inertia @ T,
            "bias": T.T @ (bias + inertia @ drift),
            "acceleration": np.linalg.solve(T, acceleration - drift),
        }

    def mass(self) -> float:
        """Of all that moves."""
        return float(sum(inertia.mass for inertia in self.model.inertias[1:]))

    def acceleration(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        to_q, to_v, T, drift = self._numbers(q, v)
        return np.linalg.solve(T, pinocchio.aba(self.model, self.data, to_q, to_v, np.linalg.solve(T.T, tau)) - drift)

    def finish(self, dt: float, steps: int, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """q where the classical Runge-Kutta method ends by Pinocchio's accelerations; joint springs and dampers are catena's."""

        def slope(at: np.ndarray, speed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return rate(self.places, at, speed), self.acceleration(at, speed, self.ours.passive(at, speed))

        with np.errstate(all="ignore"):
            for _ in range(steps):
                q1, v1 = slope(q, v)
                q2, v2 = slope(q + dt / 2 * q1, v + dt / 2 * v1)
                q3, v3 = slope(q + dt / 2 * q2, v + dt / 2 * v2)
                q4, v4 = slope(q + dt * q3, v + dt * v3)
                q, v = q + dt / 6 * (q1 + 2 * q2 + 2 * q3 + q4), v + dt / 6 * (v1 + 2 * v2 + 2 * v3 + v4)
                if not np.isfinite(v).all():
                    return np.full_like(q, np.nan)
                for place in self.places:
                    if place.kind in ("free", "ball"):
                        turn = slice(place.q.stop - 4, place.q.stop)
                        q[turn] /= np.linalg.norm(q[turn])
        return q


def _places(theirs: pinocchio.Model, ours: catena.Model, robot) -> list[Place]:
    if robot.kind == "mjcf":
        return _places_in_order(theirs, ours)
    joint_of = {link: joint for joint, link in robot.link_of.items()}
    places = []
    for link in moving(ours):
        name = joint_of.get(link.name)
        if name is None or not theirs.existJointName(name) or link.joint not in ONE_NUMBER + ("ball", "free"):
            raise Unmatched(f"the {link.joint} joint of link '{link.name}' is none of one joint in Pinocchio")
        joint = theirs.joints[theirs.getJointId(name)]
        places.append(_place(link, joint))
    if sum(place.v.stop - place.v.start for place in places) != theirs.nv:
        raise Unmatched(f"Pinocchio has {theirs.nv} degrees of freedom, catena {ours.nv}")
    return places


def _place(link, joint) -> Place:
    return Place(
        link.joint, link.q, link.v, slice(joint.idx_q, joint.idx_q + joint.nq), slice(joint.idx_v, joint.idx_v + joint.nv)
    )


def _places_in_order(theirs: pinocchio.Model, ours: catena.Model) -> list[Place]:
    """Of MJCF: both number joints as the file has them; several of one body are one composite joint in Pinocchio."""
    links, joints = moving(ours), list(theirs.joints)[1:]
    total = [joint.nv for joint in joints]
    if sum(total) != ours.nv:
        raise Unmatched(f"Pinocchio has {sum(total)} degrees of freedom, catena {ours.nv}")
    places, k = [], 0
    for joint in joints:
        at_q, at_v, end = joint.idx_q, joint.idx_v, joint.idx_v + joint.nv
        while at_v < end:
            link = links[k]
            nv = link.v.stop - link.v.start
            nq = joint.nq if nv == joint.nv else link.q.stop - link.q.start
            if at_v + nv > end:
                raise Unmatched(f"Pinocchio's joints do not stand in the order of the file at link '{link.name}'")
            places.append(Place(link.joint, link.q, link.v, slice(at_q, at_q + nq), slice(at_v, at_v + nv)))
            at_q, at_v, k = at_q + nq, at_v + nv, k + 1
    return places
