"""The task of scenes/quadruped-search.yaml for MuJoCo: its robot, reward and sinusoids, out of the scene."""
import os

import mujoco
import numpy as np
import yaml

SCENES = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'scenes')
LONG = 20.0   # s, that walks last
CLOCK = 2.0   # Hz, that policies hear
RATES = 10.0  # rad/s, that they hear as 1
RAN_AWAY = [mujoco.mjtWarning.mjWARN_BADQPOS, mujoco.mjtWarning.mjWARN_BADQVEL, mujoco.mjtWarning.mjWARN_BADQACC]


def numbers(x):
    """numbers of a scene: degrees become radians"""
    if isinstance(x, list):
        return [numbers(y) for y in x]
    return np.radians(float(x[:-4])) if isinstance(x, str) and x.endswith(' deg') else float(x)


def words(x):
    return ' '.join(f'{y:.17g}' for y in np.ravel(x))


class Task:
    """the scene, as both programs have it"""

    def __init__(self):
        with open(os.path.join(SCENES, 'quadruped-search.yaml')) as f:
            self.scene = yaml.safe_load(f)
        entry, = self.scene['include']
        with open(os.path.join(SCENES, entry['file'])) as f:
            self.part = yaml.safe_load(f)
        self.links, self.motors, self.law = self.part['links'], self.part['motors'], self.scene['controller']
        self.place = np.add(numbers(entry['position']), numbers(self.links[0]['position']))
        self.every, self.ramp, self.duration = self.law['every'], self.law['ramp'], float(self.scene['duration'])
        self.range = np.array(numbers(self.law['range']))
        self.middle, self.half = self.range.mean(1), np.ptp(self.range, axis=1) / 2
        self.start = [numbers(l['joint'].get('q0', 0)) for l in self.links[1:]]
        self.terms = self.scene['reward']
        self.low = next(t['above'] for t in self.terms if t['term'] == 'alive')

    def mjcf(self, dt):
        """the same links, joints, motors, shapes and friction"""
        default, inner = self.part['defaults']['joint'], {}
        for l in reversed(self.links):
            xx, yy, zz, xy, xz, yz = l['inertia']
            text = f'<inertial pos="{words(l["com"])}" mass="{l["mass"]}" fullinertia="{words([xx, yy, zz, xy, xz, yz])}"/>\n'
            if l['joint'] == 'free':
                place, joint = self.place, '<freejoint/>\n'
            else:
                place, own = l['position'], default | l['joint']
                joint = (f'<joint name="{l["name"]}" axis="{words(own["axis"])}" range="{words(numbers(own["limits"]))}" '
                         f'damping="{own["damping"]}" armature="{own["armature"]}"/>\n')
            shapes = ''.join(self.geom(s) for s in l['shapes'] if s.get('contact', True))
            body = f'<body name="{l["name"]}" pos="{words(place)}">{joint}{text}{shapes}{inner.pop(l["name"], "")}</body>\n'
            inner[l.get('parent')] = body + inner.get(l.get('parent'), '')
        efforts = {l['name']: (default | l['joint'])['effort'] for l in self.links[1:]}
        servos = ''.join(f'<position name="{m["joint"]}" joint="{m["joint"]}" kp="{m["kp"]}" kv="{m["kd"]}" '
                         f'forcerange="{-efforts[m["joint"]]} {efforts[m["joint"]]}"/>\n' for m in self.motors)
        sensors = ''.join(f'<actuatorfrc actuator="{m["joint"]}"/>' for m in self.motors)
        friction = self.scene['contact']['friction']
        return (f'<mujoco><compiler angle="radian" autolimits="true"/><option timestep="{dt}" integrator="implicitfast"/>\n'
                f'<default><geom contype="1" conaffinity="0" friction="{friction} 0 0"/></default>\n<worldbody>\n'
                f'<geom type="plane" size="0 0 1" contype="0" conaffinity="1" friction="{friction} 0 0"/>\n'
                f'{inner[None]}</worldbody>\n'
                f'<actuator>{servos}</actuator>\n<sensor>{sensors}</sensor>\n'
                f'<keyframe><key name="start" qpos="{words(self.place)} 1 0 0 0 {words(self.start)}"/></keyframe></mujoco>\n')

    @staticmethod
    def geom(s):
        if s['type'] == 'box':
            return f'<geom type="box" pos="{words(s.get("center", [0, 0, 0]))}" size="{words(np.array(s["size"]) / 2)}"/>'
        if s['type'] == 'sphere':
            return f'<geom type="sphere" pos="{words(s["center"])}" size="{s["radius"]}"/>'
        return f'<geom type="{s["type"]}" fromto="{words(s["from"] + s["to"])}" size="{s["radius"]}"/>'

    def model(self, dt):
        model = mujoco.MjModel.from_xml_string(self.mjcf(dt))
        assert abs(model.body_mass.sum() - sum(l['mass'] for l in self.links)) < 1e-12
        assert (model.njnt, model.nu, model.nv) == (len(self.links), len(self.motors), 6 + len(self.motors))
        assert [model.actuator(i).name for i in range(model.nu)] == [l['name'] for l in self.links[1:]]  # one order of all
        return model

    def earned(self, qpos, qvel, force):
        """a second, of states [...][]; quantities of the scene's reward"""
        total = np.zeros(qpos.shape[:-1])
        for t in self.terms:
            if t['term'] == 'speed':
                x = (qvel[..., :3] @ numbers(t['axis']) - t['target']) ** 2
            elif t['term'] == 'upright':
                x = 1 - 2 * (qpos[..., 4] ** 2 + qpos[..., 5] ** 2)
            elif t['term'] == 'alive':
                x = qpos[..., 2] >= t['above']
            else:
                assert t['term'] == 'effort', t
                x = (force ** 2).sum(-1)
            total = total + float(t['weight']) * x
        return total

    def sinusoids(self, x, t):
        """targets at times t [n] of parameters x"""
        a, b, c = np.reshape(x[1:], (-1, 3)).T
        t = np.asarray(t)[:, None]
        return a + np.minimum(t / self.ramp, 1) * b * np.sin(2 * np.pi * (x[0] * t + c))


class World:
    """a dog in MuJoCo, told its targets at every decision"""

    def __init__(self, task, dt):
        self.task, self.m = task, task.model(dt)
        self.each, self.d = round(task.every / dt), mujoco.MjData(self.m)
        self.reset()

    def reset(self):
        mujoco.mj_resetDataKeyframe(self.m, self.d, 0)
        self.k = 0

    def step(self, targets):
        """what it has earned, and whether it has fallen"""
        self.d.ctrl = targets
        mujoco.mj_step(self.m, self.d, self.each)
        self.k += 1
        ok = np.isfinite(self.d.qpos).all() and not any(self.d.warning[w].number for w in RAN_AWAY)
        fallen = not ok or self.d.qpos[2] < self.task.low
        return self.task.earned(self.d.qpos, self.d.qvel, self.d.actuator_force) * self.task.every if ok else 0.0, fallen

    def felt(self):
        """what policies go by: gravity's direction, velocity and rates in the trunk's axes, joints, a clock"""
        q, v = self.d.qpos, self.d.qvel
        turn, phase = np.empty(9), 2 * np.pi * CLOCK * self.k * self.task.every
        mujoco.mju_quat2Mat(turn, q[3:7])
        R = turn.reshape(3, 3)
        return np.concatenate([R[2], R.T @ v[:3], v[3:6], q[7:] - self.task.middle, v[6:] / RATES,
                               [np.sin(phase), np.cos(phase)]]).astype(np.float32)

    def walk(self, act):
        """m ahead and aside after 20 s, whether it fell, and what it earned in the time of the search"""
        self.reset()
        total, fell = 0.0, False
        for k in range(round(LONG / self.task.every)):
            earned, fallen = self.step(act(self, k))
            fell = fell or fallen
            if k < round(self.task.duration / self.task.every) and not fell:
                total += earned
            if fell:
                break
        return {'ahead': self.d.qpos[0], 'aside': self.d.qpos[1], 'fell': fell, 'reward': total}
