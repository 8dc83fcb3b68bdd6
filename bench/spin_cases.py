"""What spins or rolls, for bench/spin: every case as bodies, written as a scene of catena and as a model of MuJoCo from the same numbers.

Parameters of flywheel to spinaxis are those of tests/golden/spin/cases.h where that has the case. Bodies are listed depth first, so
that q and v have one layout in both programs. What a case looks at are numbers of a state: what is asked for (a rate, a speed) comes
first, then what else may be wrong. Attitudes are compared as matrices or axes, with 1 for a radian.
"""
import math
from dataclasses import dataclass

import numpy as np

G = 9.81
X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)
SIZES = {'revolute': (1, 1), 'universal': (2, 2), 'ball': (4, 3), 'free': (7, 6)}


@dataclass
class Body:
    name: str
    joint: str
    mass: float
    inertia: tuple            # about the centre of mass, three axes of the body
    parent: str = None
    at: tuple = (0, 0, 0)     # in the parent
    axis: tuple = Z
    axis2: tuple = X
    com: tuple = (0, 0, 0)
    damping: float = 0.0
    stiffness: float = 0.0
    q0: tuple = None
    v0: tuple = None
    torque: float = None      # N m, of a motor
    servo: tuple = None       # kd, rad/s
    ball: float = None        # radius of the sphere that touches the ground

    def start(self):
        nq, nv = SIZES[self.joint]
        rest = (*self.at, 1, 0, 0, 0) if self.joint == 'free' else (1, 0, 0, 0) if self.joint == 'ball' else (0,) * nq
        return list(self.q0 or rest), list(self.v0 or (0,) * nv)


@dataclass
class Case:
    what: str                 # moves
    looks: str                # at what the error is of
    bodies: list
    duration: float
    look: object              # (q, v) -> numbers
    scales: object            # what these are to be compared with: a number for all, or one each
    right: object = None      # the numbers, where there is a closed form
    unit: str = 'rad/s'
    gravity: tuple = (0, 0, -G)
    slope: float = None       # rad; None: no ground
    friction: float = 0.6

    def start(self):
        q, v = zip(*(b.start() for b in self.bodies))
        return sum(q, []), sum(v, [])


def turn(q):
    """matrix of a quaternion w x y z"""
    w, x, y, z = np.array(q) / np.linalg.norm(q)
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def turned(r):
    """matrix of a rotation vector"""
    a = np.linalg.norm(r)
    return turn((math.cos(a / 2), *(math.sin(a / 2) / a * np.array(r))))


def bar(name, length, mass, axis, parent=None, at=(0, 0, 0), thick=0.02, **more):
    across, along = mass * length**2 / 12 + mass * thick**2 / 4, mass * thick**2 / 2
    return Body(name, 'revolute', mass, (along, across, across), parent, at, axis, com=(length / 2, 0, 0), **more)


def disc(name, mass, across, along, axis=Z, parent=None, at=(0, 0, 0), **more):
    return Body(name, 'revolute', mass, tuple(along if a else across for a in axis), parent, at, axis, **more)


# The cases

def wheel(what, duration, right, **more):
    return Case(what, 'rate', [disc('wheel', 2, 0.01, 0.02, **more)], duration, lambda q, v: [v[0]], right, lambda: [right])


def attitude(q, v, rate):
    """of a free body: one component of its rate, the others, how it lies"""
    return [v[3 + rate], *np.delete(v[3:6], rate), *turn(q[3:7]).ravel()]


def free(what, inertia, rates, duration, biggest, right=None):
    """a body in space that turns about nothing but itself"""
    body = Body('body', 'free', 1, inertia, v0=(0, 0, 0, *rates))
    return Case(what, 'rates, attitude', [body], duration, lambda q, v: attitude(q, v, biggest), [abs(rates[biggest])] * 3 + [1] * 9, right,
                gravity=(0, 0, 0))


def top():
    """R(t) = exp(t L/I_across) R exp(t w_along (1 - I_along/I_across)): precession in space, and the turn about its own axis"""
    inertia, rates, t = np.array([1.0, 1.0, 2.0]), np.array([2.0, 0.0, 10.0]), 5.0
    own = rates[2] * (1 - inertia[2] / inertia[0]) * np.array(Z)
    R = turned(t * inertia * rates / inertia[0]) @ turned(t * own)
    w = turned(-t * own) @ rates
    return free('a symmetric top in space, precessing', tuple(inertia), tuple(rates), t, 2, lambda: [w[2], *w[:2], *R.ravel()])


def spinaxis():
    """momentum stays what it is, in space"""
    inertia, rates = np.array([0.02, 0.05, 0.06]), np.array([0.05, 0.05, 8.0])
    body = Body('handle', 'free', 1, tuple(inertia), v0=(0, 0, 0, *rates))

    def look(q, v):
        L = turn(q[3:7]) @ (inertia * v[3:6])
        return [np.linalg.norm(L), *L]
    L = inertia * rates
    return Case('a free body about its third axis, nearly', 'angular momentum', [body], 300, look, float(np.linalg.norm(L)),
                lambda: [np.linalg.norm(L), *L], 'N m s', gravity=(0, 0, 0))


def heavy_top():
    body = Body('top', 'ball', 0.5, (4e-4, 4e-4, 7e-4), com=(0, 0, 0.06), q0=(math.cos(0.25), math.sin(0.25), 0, 0), v0=(0, 0, 120))
    return Case('a heavy top on its tip, let go: it nods', 'spin, way of its axis', [body], 5, lambda q, v: [v[2], *turn(q)[:, 2]], [120, 1, 1, 1])


def gyroscope():
    yoke = disc('yoke', 0.1, 1e-4, 1e-4, v0=(G * 0.1 / (0.005 * 100),))
    arm = disc('arm', 0.1, 1e-4, 1e-4, Y, 'yoke', q0=(0.2,))
    rotor = disc('rotor', 1, 0.0025, 0.005, X, 'arm', (0.1, 0, 0), v0=(100,))
    return Case('a gyroscope on a turntable, held on one side', 'spin, way of its axis', [yoke, arm, rotor], 5, lambda q, v: [
        v[2], math.cos(q[0]) * math.cos(q[1]), math.sin(q[0]) * math.cos(q[1]), math.sin(q[1])], [100, 1, 1, 1])


def wheel_arm():
    bodies = [bar('arm', 0.5, 1, Y), disc('wheel', 0.5, 0.002, 0.004, Y, 'arm', (0.5, 0, 0), v0=(60,))]
    return Case('a wheel on an arm that swings from the horizontal', "wheel's rate in space, arm", bodies, 2,
                lambda q, v: [v[0] + v[1], q[0]], [60, 1])


def rover_bodies(radius, **more):
    chassis = Body('chassis', 'free', 10, (0.1, 0.3, 0.35), at=(0, 0, radius if more else 0), com=(0.02, 0, 0.05))
    wheels = [disc(f'wheel{i}', 0.8, 0.002, 0.004, Y, 'chassis', (0.25 if i % 2 else -0.25, 0.2 if i // 2 else -0.2, 0), v0=(10 / radius,), **more)
              for i in range(4)]
    return [chassis, *wheels]


def rover():
    """wheels of the mass and inertia of discs, that touch as spheres: what has corners would roll on a polygon"""
    bodies = rover_bodies(0.1, ball=0.1)
    bodies[0].v0 = (10, 0, 0, 0, 0, 0)
    return Case('a rover of four wheels, coasting', 'speed', bodies, 60, lambda q, v: [v[0]], 10, lambda: [10], 'm/s', slope=0, friction=0.8)


def rover_flying():
    bodies = rover_bodies(0.1)
    bodies[0].v0 = (10, 0, 0, 0.2, 0, 0.5)
    return Case('the rover in space, turning', "wheels' rates, chassis", bodies, 5, lambda q, v: [*v[6:10], *v[3:6], *turn(q[3:7]).ravel()],
                [100] * 4 + [1] * 12, gravity=(0, 0, 0))


def fan():
    """turns about a mast that stands on springs in two directions and sways, damped"""
    mast = Body('mast', 'universal', 1, (1 / 12, 1 / 12, 2e-4), axis=X, axis2=Y, com=(0, 0, 0.5), stiffness=20, damping=0.3, q0=(0.2, 0.1))
    blades = disc('fan', 0.1, 0.55e-3, 1.1e-3, X, 'mast', (0.1, 0, 1), v0=(500,))
    return Case('a fan on a mast that sways', "fan's rate, mast", [mast, blades], 5, lambda q, v: [v[2], *q[:2]], [500, 1, 1])


def quadrotor():
    bodies = [Body('trunk', 'free', 1, (0.008, 0.008, 0.014), v0=(0, 0, 0, 2, -1, 3))]
    bodies += [disc(f'rotor{i}', 0.02, 1.5e-5, 3e-5, Z, 'trunk', (0.17 if i % 2 else -0.17, 0.17 if i // 2 else -0.17, 0.03),
                    v0=(600 * (1, -1, -1, 1)[i],)) for i in range(4)]
    return Case('a quadrotor that tumbles', "rotors' rates, trunk", bodies, 5, lambda q, v: [*v[6:10], *v[3:6], *turn(q[3:7]).ravel()],
                [600] * 4 + [3.74] * 3 + [1] * 9, gravity=(0, 0, 0))


def roll(what, across, along, right, slope, duration, speed=0.0, friction=0.6):
    """a body that touches as a sphere of 0.1 m; inertia in units of m r^2, along: its axis, y"""
    m, r = 3.351032163829113, 0.1
    n = np.array([-math.sin(slope), 0, math.cos(slope)])
    body = Body('ball', 'free', m, (across * m * r * r, along * m * r * r, across * m * r * r), at=tuple(r * n), ball=r, v0=(speed, 0, 0, 0, 0, 0))
    return Case(what, 'speed', [body], duration, lambda q, v: [math.hypot(v[0], v[2])], right, lambda: [right], 'm/s', slope=slope,
                friction=friction)


def downhill(what, across, along):
    slope = math.radians(15)
    return roll(what, across, along, G * math.sin(slope) / (1 + along) * 4, -slope, 4)


def whirl():
    bodies = [bar('arm', 0.3, 1, Z, v0=(20,)), bar('forearm', 0.3, 0.5, Y, 'arm', (0.3, 0, 0), damping=0.02)]
    return Case('an arm of two links that whirls', 'rate, elbow', bodies, 5, lambda q, v: [v[0], q[1]], [20, 1])


CASES = {
    'flywheel': lambda: wheel('a wheel that nothing drives', 60, 30, v0=(30,)),
    'spin-up': lambda: wheel('a wheel under 1 N m, damped: three times its time constant', 6, 100 * (1 - math.exp(-3)), torque=1, damping=0.01),
    'servo': lambda: wheel('a wheel on a servo', 30, 60 * (1 - math.exp(-0.05 * 30 / 0.02)), servo=(0.05, 60)),
    'top': top,
    'spinaxis': spinaxis,
    'flip': lambda: free('a free body that turns over', (1, 2, 2.5), (0.5, 8, 0.5), 3, 1),
    'heavy-top': heavy_top,
    'gyroscope': gyroscope,
    'wheel-arm': wheel_arm,
    'fan': fan,
    'whirl': whirl,
    'quadrotor': quadrotor,
    'rover-flying': rover_flying,
    'rover': rover,
    'roll': lambda: downhill('a ball down 15 degrees', 0.4, 0.4),
    'coin': lambda: downhill('a coin down 15 degrees, on its edge', 0.25, 0.5),
    'hoop': lambda: downhill('a hoop down 15 degrees', 0.5, 1.0),
    'slide': lambda: roll('a ball that slides at 5 m/s, then rolls', 0.4, 0.4, 5 / 1.4, 0, 20, 5.0, 0.3),
}
QUICK = ('flywheel', 'top', 'gyroscope', 'rover-flying', 'roll')


# The files

def scene(case):
    """of catena; what it says of the method is left to the command line"""
    links, motors = [], []
    for b in case.bodies:
        joint = {'type': b.joint} | ({'axis': list(b.axis)} if b.joint in ('revolute', 'universal') else {})
        joint |= {'axis2': list(b.axis2)} if b.joint == 'universal' else {}
        joint |= {key: getattr(b, key) for key in ('damping', 'stiffness') if getattr(b, key)}
        link = {'name': b.name, 'position': list(b.at), 'joint': joint, 'mass': b.mass, 'com': list(b.com), 'inertia': [*b.inertia, 0, 0, 0]}
        link |= {'parent': b.parent} if b.parent else {}
        link |= {'shapes': [{'type': 'sphere', 'radius': b.ball}]} if b.ball else {}
        links.append(link)
        if b.torque:
            motors.append({'joint': b.name, 'type': 'torque', 'target': b.torque})
        if b.servo:
            motors.append({'joint': b.name, 'type': 'velocity', 'kd': b.servo[0], 'target': b.servo[1]})
    q, v = case.start()
    ground = {} if case.slope is None else {'ground': {'normal': [-math.sin(case.slope), 0.0, math.cos(case.slope)]},
                                           'contact': {'friction': case.friction}}
    return {'catena': 1, 'gravity': list(case.gravity)} | ground | {'links': links} | ({'motors': motors} if motors else {}) | {
        'state': {'q': q, 'v': v}, 'duration': case.duration}


def words(numbers):
    return ' '.join(f'{x:.17g}' for x in numbers)


def mjcf(case):
    """the twin. Its contact is as hard as the step allows (MuJoCo takes two steps for the least time of one), its friction too"""
    children = {}
    for b in case.bodies:
        children.setdefault(b.parent, []).append(b)

    def written(b):
        hinge = lambda axis, name: f'<joint {name} axis="{words(axis)}" damping="{b.damping}" stiffness="{b.stiffness}"/>'
        joints = {'free': lambda: '<freejoint/>', 'ball': lambda: f'<joint type="ball" damping="{b.damping}"/>',
                  'revolute': lambda: hinge(b.axis, f'name="{b.name}"'), 'universal': lambda: hinge(b.axis, '') + hinge(b.axis2, '')}[b.joint]()
        geom = f'<geom size="{b.ball}" contype="1" conaffinity="0"/>' if b.ball else ''
        return (f'<body name="{b.name}" pos="{words(b.at)}">{joints}<inertial pos="{words(b.com)}" mass="{b.mass}" diaginertia="{words(b.inertia)}"/>'
                f'{geom}{"".join(map(written, children.get(b.name, [])))}</body>\n')
    plane = '' if case.slope is None else (f'<geom type="plane" size="0 0 1" zaxis="{words((-math.sin(case.slope), 0, math.cos(case.slope)))}" '
                                           'contype="0" conaffinity="1"/>\n')
    drives = [(f'<motor joint="{b.name}"/>', b.torque) if b.torque else (f'<velocity joint="{b.name}" kv="{b.servo[0]}"/>', b.servo[1])
              for b in case.bodies if b.torque or b.servo]
    q, v = case.start()
    return (f'<mujoco><option gravity="{words(case.gravity)}" impratio="10"/>\n'
            f'<default><geom friction="{case.friction} 0 0" solref="0.002 1"/></default>\n<worldbody>\n{plane}'
            f'{"".join(map(written, children[None]))}</worldbody>\n<actuator>{"".join(d for d, _ in drives)}</actuator>\n'
            f'<keyframe><key name="home" qpos="{words(q)}" qvel="{words(v)}" ctrl="{words(c for _, c in drives)}"/></keyframe></mujoco>\n')
