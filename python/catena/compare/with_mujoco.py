"""MuJoCo's side of the same robot, in catena's coordinates."""

from __future__ import annotations

import contextlib
import time

import mujoco
import numpy as np

import catena

from .joints import ONE_NUMBER, Place, Unmatched, moving
from .with_catena import Ended, Held

NAME = "MuJoCo"
METHODS = tuple(name[len("mjINT_") :].lower() for name in mujoco.mjtIntegrator.__members__)
VERSION = mujoco.__version__
CHUNKS = 100


@contextlib.contextmanager
def quiet():
    """Without MuJoCo's warnings of runs that blow up: these are looked for, and told on the page."""
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda words: None)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)


class MuJoCo:
    """The mechanics of a robot's file: what is not in Robot.mechanics is switched off here. Unmatched, ValueError."""

    def __init__(self, robot, model: catena.Model) -> None:
        self.ours = model
        self.notes: list[str] = []
        self.model = _read(robot, robot.mechanics, self.notes)
        self.places = _places(self.model, model, robot)
        _mechanics_alone(self.model)
        self.data = mujoco.MjData(self.model)

    def set_gravity(self, gravity) -> None:
        self.model.opt.gravity[:] = gravity

    def _set(self, q: np.ndarray, v: np.ndarray) -> None:
        mujoco.mj_resetData(self.model, self.data)
        for place in self.places:
            self.data.qpos[place.other_q] = q[place.q]
            self.data.qvel[place.other_v] = v[place.v]

    def _state(self) -> tuple[np.ndarray, np.ndarray]:
        q, v = np.zeros(self.ours.nq), np.zeros(self.ours.nv)
        for place in self.places:
            q[place.q] = self.data.qpos[place.other_q]
            v[place.v] = self.data.qvel[place.other_v]
        return q, v

    def _ours(self, of_dofs: np.ndarray) -> np.ndarray:
        """[nv] in catena's order."""
        to = np.zeros(self.ours.nv)
        for place in self.places:
            to[place.v] = of_dofs[place.other_v]
        return to

    def dynamics(self, q: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
        """inertia [nv, nv], bias, passive, acceleration [nv]."""
        self._set(q, v)
        mujoco.mj_forward(self.model, self.data)
        full = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, full)
        order = np.zeros(self.ours.nv, dtype=int)
        for place in self.places:
            order[place.v] = np.arange(place.other_v.start, place.other_v.stop)
        return {
            "inertia": full[np.ix_(order, order)],
            "bias": self._ours(self.data.qfrc_bias),
            "passive": self._ours(self.data.qfrc_passive),
            "acceleration": self._ours(self.data.qacc),
        }

    def mass(self) -> float:
        """Of all that moves."""
        return float(sum(self.model.body_mass[b] for b in range(1, self.model.nbody) if self.model.body_weldid[b] != 0))

    def _begin(self, method: str, dt: float, q: np.ndarray, v: np.ndarray) -> None:
        self.model.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{method.upper()}")
        self.model.opt.timestep = dt
        self._set(q, v)

    def finish(self, method: str, dt: float, steps: int, q: np.ndarray, v: np.ndarray) -> Ended:
        self._begin(method, dt, q, v)
        begin = time.process_time()
        mujoco.mj_step(self.model, self.data, nstep=steps)
        return Ended(*self._state(), time.process_time() - begin)

    def hold_energy(self, method: str, dt: float, duration: float, q: np.ndarray, v: np.ndarray, most: float) -> Held:
        self._begin(method, dt, q, v)
        model, data, start = self.model, self.data, None
        steps = max(1, round(duration / dt))
        for step in range(steps + 1):  # energies are those where the step began
            mujoco.mj_step(model, data)
            energy = data.energy[0] + data.energy[1]
            start = energy if start is None else start
            if not energy - start <= most:
                return Held("gains energy" if np.isfinite(energy) else "not finite", step * dt)
        return Held("", steps * dt)


class WholeFile:
    """All that MuJoCo makes of a robot's file: contact, limits, actuators told what the file's first key or 0 tells them."""

    def __init__(self, robot, model: catena.Model) -> None:
        self.ours = model
        self.model = _read(robot, robot.without_shapes, [])
        self.places = _places(self.model, model, robot)
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
        self.data = mujoco.MjData(self.model)
        self.own = (mujoco.mjtIntegrator(self.model.opt.integrator).name[len("mjINT_") :].lower(), float(self.model.opt.timestep))

    def _begin(self, method: str, dt: float, q: np.ndarray, v: np.ndarray) -> None:
        self.model.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{method.upper()}")
        self.model.opt.timestep = dt
        key = _home(self.model)
        if key is None:
            mujoco.mj_resetData(self.model, self.data)
        else:
            mujoco.mj_resetDataKeyframe(self.model, self.data, key)
        for place in self.places:
            self.data.qpos[place.other_q] = q[place.q]
            self.data.qvel[place.other_v] = v[place.v]

    def _speeds(self) -> np.ndarray:
        v = np.zeros(self.ours.nv)
        for place in self.places:
            v[place.v] = np.abs(self.data.qvel[place.other_v])
        return v

    def hold_speed(self, method: str, dt: float, duration: float, q: np.ndarray, v: np.ndarray, most: np.ndarray) -> Held:
        self._begin(method, dt, q, v)
        steps, done = max(1, round(duration / dt)), 0
        while done < steps:
            count = min(max(1, steps // CHUNKS), steps - done)
            mujoco.mj_step(self.model, self.data, nstep=count)
            done += count
            speeds = self._speeds()
            if not (speeds <= most).all():
                return Held("runs away" if np.isfinite(speeds).all() else "not finite", done * dt)
        return Held("", done * dt)

    def seconds(self, method: str, dt: float, duration: float, q: np.ndarray, v: np.ndarray) -> float:
        """Of computing, for `duration`."""
        self._begin(method, dt, q, v)
        begin = time.process_time()
        mujoco.mj_step(self.model, self.data, nstep=round(duration / dt))
        return time.process_time() - begin

    def top_speeds(self, method: str, dt: float, duration: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        self._begin(method, dt, q, v)
        top = self._speeds()
        for _ in range(round(duration / dt)):
            mujoco.mj_step(self.model, self.data)
            top = np.maximum(top, self._speeds())
        return top


def _read(robot, urdf: str, notes: list[str]) -> mujoco.MjModel:
    """MJCF from its file, URDF from `urdf`; where an inertia is none that a body can have, as MuJoCo makes one of it."""
    if robot.kind == "mjcf":
        return mujoco.MjModel.from_xml_path(str(robot.whole))
    try:
        return mujoco.MjModel.from_xml_string(urdf)
    except ValueError as error:
        balanced = urdf.replace("</robot>", '<mujoco><compiler balanceinertia="true"/></mujoco></robot>')
        try:
            model = mujoco.MjModel.from_xml_string(balanced)
        except ValueError:
            raise error from None
        why = " ".join(str(error).split()).removeprefix("Error: ")
        notes.append(f"MuJoCo refuses the file as it is ({why}), and takes it with balanceinertia, which changes inertias.")
        return model


def _home(model: mujoco.MjModel) -> int | None:
    """The key that catena starts with: the one called home, else the first."""
    keys = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_KEY, k) for k in range(model.nkey)]
    return keys.index("home") if "home" in keys else 0 if keys else None


def _mechanics_alone(model: mujoco.MjModel) -> None:
    off, on = mujoco.mjtDisableBit, mujoco.mjtEnableBit
    model.opt.disableflags |= (
        off.mjDSBL_CONSTRAINT | off.mjDSBL_CONTACT | off.mjDSBL_ACTUATION | off.mjDSBL_SENSOR | off.mjDSBL_AUTORESET
    )
    model.opt.enableflags |= on.mjENBL_ENERGY
    model.opt.density = model.opt.viscosity = 0
    model.body_gravcomp[:] = 0
    model.tendon_stiffness[:] = 0
    model.tendon_damping[:] = 0
    model.tendon_armature[:] = 0


def _places(theirs: mujoco.MjModel, ours: catena.Model, robot) -> list[Place]:
    if robot.kind == "mjcf":
        if (theirs.nq, theirs.nv) != (ours.nq, ours.nv):
            raise Unmatched(f"MuJoCo has nq {theirs.nq}, nv {theirs.nv}; catena nq {ours.nq}, nv {ours.nv}")
        return [Place(link.joint, link.q, link.v, link.q, link.v) for link in moving(ours)]
    places = []
    for link in moving(ours):
        body = mujoco.mj_name2id(theirs, mujoco.mjtObj.mjOBJ_BODY, link.name)
        if body < 0 or theirs.body_jntnum[body] != 1 or link.joint not in ONE_NUMBER + ("ball", "free"):
            raise Unmatched(f"the {link.joint} joint of link '{link.name}' is none of one joint in MuJoCo")
        joint = theirs.body_jntadr[body]
        q, v = int(theirs.jnt_qposadr[joint]), int(theirs.jnt_dofadr[joint])
        nq, nv = link.q.stop - link.q.start, link.v.stop - link.v.start
        places.append(Place(link.joint, link.q, link.v, slice(q, q + nq), slice(v, v + nv)))
    if sum(place.v.stop - place.v.start for place in places) != theirs.nv:
        raise Unmatched(f"MuJoCo has {theirs.nv} degrees of freedom, catena {ours.nv}")
    return places
