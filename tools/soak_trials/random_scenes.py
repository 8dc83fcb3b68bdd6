"""Random scenes: a scene is a dict as its YAML says it, which `text` writes as a file with a link a line (JSON's flow is YAML's, too)."""
import json, math

DOFS = {'fixed': 0, 'revolute': 1, 'prismatic': 1, 'helical': 1, 'universal': 2, 'ball': 3, 'planar': 3, 'free': 6}
METHODS = ([('semi-implicit', {}), ('euler', {}), ('rk2', {}), ('rk3', {}), ('rk4', {}), ('dop853', {})] +
           [('collocation', {'order': k}) for k in range(2, 7)] + [('radau', {'stages': k}) for k in range(1, 5)] +
           [('variational', {'order': k}) for k in (2, 4)] + [('alpha', {'rho': k}) for k in (0, 0.1, 0.2)])


def text(scene):
    lines = []
    for key, value in scene.items():
        if key == 'links':
            lines += ['links:'] + ['  - ' + json.dumps(link, ensure_ascii=False) for link in value]
        else:
            lines.append(f'{key}: {json.dumps(value, ensure_ascii=False)}'.replace('"auto"', 'auto'))  # in quotes it is a text
    return '\n'.join(lines) + '\n'


def quaternion(rng):
    while not 0.1 < (n := math.hypot(*(q := [rng.uniform(-1, 1) for _ in range(4)]))) < 1:
        pass
    return [x / n for x in q]


def axis(rng):
    if rng.random() < 0.5:
        return rng.choice([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, -1]])
    return [rng.gauss(0, 1) for _ in range(3)]


def springs(rng, kind):
    """the passive forces of a joint: half of the joints have none of a sort"""
    j, many = {}, DOFS[kind]
    if rng.random() < 0.5:
        j['damping'] = rng.uniform(0, 0.5)
    if kind == 'free':
        return j
    if rng.random() < 0.5:
        j['stiffness'] = rng.uniform(0, 20)
        j['rest'] = quaternion(rng) if kind == 'ball' else rng.uniform(-0.5, 0.5)
    if rng.random() < 0.5:
        j['armature'] = rng.uniform(0, 0.1)
    if rng.random() < 0.5:
        pair = [-rng.uniform(0.1, 0.8), rng.uniform(0.1, 0.8)]
        j['limits'] = pair[1] if kind == 'ball' else pair if many == 1 else [pair] * many
        if rng.random() < 0.3:
            j['limit_stiffness'] = 10 ** rng.uniform(1, 4)
        if rng.random() < 0.3:
            j['limit_damping'] = rng.uniform(0, 1)
    return j


def start(rng, kind):
    """where a joint begins, and how fast"""
    if kind == 'free':
        q, v = [rng.uniform(-1, 1) for _ in range(3)] + quaternion(rng), [rng.uniform(-2, 2) for _ in range(6)]
    elif kind == 'ball':
        q, v = quaternion(rng), [rng.uniform(-2, 2) for _ in range(3)]
    else:
        n = DOFS[kind]
        q, v = [rng.uniform(-1, 1) for _ in range(n)], [rng.uniform(-2, 2) for _ in range(n)]
        if n == 1:
            q, v = q[0], v[0]
    return {'q0': q, 'v0': v}


def link(rng, i, parent, kinds, passive):
    kind = rng.choice([k for k in kinds if k != 'free' or parent is None])
    joint = {'type': kind}
    if kind in ('revolute', 'prismatic', 'helical'):
        joint['axis'] = axis(rng)
    if kind == 'universal':
        joint['axis'], joint['axis2'] = rng.sample([[1, 0, 0], [0, 1, 0], [0, 0, 1]], 2)
    if kind == 'helical':
        joint['pitch'] = rng.uniform(-0.1, 0.1)
    if kind != 'fixed':
        joint.update(start(rng, kind))
        if passive:
            joint.update(springs(rng, kind))
    one = {'name': f'l{i}'}
    if parent is not None:
        one['parent'] = f'l{parent}'
    one['position'] = [rng.uniform(-0.3, 0.3) for _ in range(3)]
    if rng.random() < 0.5:
        one['rotation'] = quaternion(rng)
    one['joint'] = joint
    size = [rng.uniform(0.05, 0.3) for _ in range(3)]
    one['mass'] = mass = rng.uniform(0.5, 2)
    one['com'] = [rng.uniform(-0.1, 0.1) for _ in range(3)]
    one['inertia'] = [mass * (sum(s * s for s in size) - s0 * s0) / 12 for s0 in size] + [0, 0, 0]
    return one


MOVING = ('revolute', 'revolute', 'prismatic', 'helical', 'universal', 'ball', 'planar', 'free')


def tree(rng, n, kinds=MOVING, passive=True, chain=None):
    """n links, in a chain or with branches"""
    chain = rng.random() < 0.5 if chain is None else chain
    links = []
    for i in range(n):
        parent = None if i == 0 else i - 1 if chain or rng.random() < 0.6 else rng.randrange(i)
        links.append(link(rng, i, parent, kinds + (('fixed',) if i and rng.random() < 0.1 else ()), passive))
    return {'catena': 1, 'links': links}


def loads(rng, scene, forces=True, damped=True):
    """springs from links to the world, forces and torques on links"""
    moving, by_name = [], {one['name']: one for one in scene['links']}
    for one in scene['links']:
        at = one
        while at and at['joint']['type'] == 'fixed':
            at = by_name.get(at.get('parent'))
        if at:
            moving.append(one['name'])

    def point():
        return [rng.uniform(-0.3, 0.3) for _ in range(3)]
    if moving and rng.random() < 0.7:
        scene['springs'] = [{'link': rng.choice(moving), 'point': point(), 'anchor': [rng.uniform(-1, 1) for _ in range(3)],
                             'stiffness': 10 ** rng.uniform(0, 3)} for _ in range(rng.randint(1, 3))]
        for one in scene['springs']:
            if damped and rng.random() < 0.5:
                one['damping'] = rng.uniform(0, 2)
    if moving and forces and rng.random() < 0.5:
        scene['forces'] = [{'link': rng.choice(moving), 'point': point(), 'force': [rng.uniform(-5, 5) for _ in range(3)]}]
        if rng.random() < 0.5:
            scene['forces'][0].update({'torque': [rng.uniform(-1, 1) for _ in range(3)], 'axes': rng.choice(['world', 'link'])})
    return scene


def friction(rng, scene):
    """dry friction of some joints"""
    for one in scene['links']:
        kind = one['joint']['type']
        if DOFS[kind] and kind not in ('ball', 'free') and rng.random() < 0.5:
            one['joint'].update({'friction': 10 ** rng.uniform(-2, 0.5), 'presliding': 10 ** rng.uniform(-2, -1)})
    return scene


def told(rng, size):
    """what a motor is told: a number, or something that moves with time"""
    mean, amplitude = rng.uniform(-size, size), rng.uniform(0, size)
    held = rng.choice(({}, {'hold': rng.choice(('zero', 'first')), 'every': 10 ** rng.uniform(-4, -2)}))
    times, values = [0, 0.01, 0.3, 1], [rng.uniform(-size, size) for _ in range(4)]
    return rng.choice((mean, {'sinusoid': {'mean': mean, 'amplitude': amplitude, 'frequency': rng.uniform(0.1, 10), 'phase': rng.random(),
                                           'ramp': rng.choice((0, 0.001, 1))}, **held},
                       {'spline': {'times': times, 'values': values}, **held},
                       {'table': {'times': times, 'values': values}, 'hold': rng.choice(('zero', 'first'))}))


def motors(rng, scene, damped=True):
    """motors on some joints, most of them told what moves"""
    scene['motors'] = []
    for one in scene['links']:
        kind = one['joint']['type']
        if not DOFS[kind] or kind in ('ball', 'free') or rng.random() < 0.6:
            continue
        motor = {'joint': one['name'], 'dof': rng.randrange(DOFS[kind]), 'type': rng.choice(('position', 'velocity', 'torque'))}
        motor['target'] = told(rng, 1)
        if motor['type'] == 'position':
            motor['kp'] = 10 ** rng.uniform(0, 2)
        if motor['type'] == 'velocity' or motor['type'] == 'position' and damped:
            motor['kd'] = 10 ** rng.uniform(-1, 0.5)
        if motor['type'] != 'torque' and rng.random() < 0.5:
            motor['feedforward'] = told(rng, 2)
        if rng.random() < 0.5:
            motor['effort'] = 10 ** rng.uniform(-1, 2)
        scene['motors'].append(motor)
    if not scene['motors']:
        del scene['motors']
    return scene


def ground(rng, scene):
    """shapes, and a plane below the origin that some of them reach"""
    for one in scene['links']:
        one['shapes'] = [rng.choice(({'type': 'sphere', 'radius': rng.uniform(0.02, 0.2)},
                                     {'type': 'capsule', 'from': [0, 0, 0], 'to': [rng.uniform(-0.3, 0.3) for _ in range(3)], 'radius': 0.03},
                                     {'type': 'box', 'size': [rng.uniform(0.05, 0.3) for _ in range(3)]}))]
    scene['ground'] = {'height': -rng.uniform(0.2, 1), 'normal': rng.choice(([0, 0, 1], [rng.uniform(-0.3, 0.3), 0.1, 1]))}
    scene['contact'] = {'friction': rng.choice((0, rng.uniform(0, 1.5)))}
    return scene


def takes_loads(integrator):
    """collocation of order 2 does, and what is no collocation"""
    return integrator.get('method') != 'collocation' or integrator.get('order', 2) == 2


def sampled(rng, scene):
    """worlds that differ, by section `sample`"""
    scene['sample'] = {'seed': rng.randrange(1000), 'q': {'all': {'uniform': [-0.3, 0.3]}}, 'v': {'all': {'normal': [0, 0.5]}}}
    if rng.random() < 0.5:
        scene['sample']['force'] = {'all': {'uniform': [-0.2, 0.2]}}
    if rng.random() < 0.3:
        scene['sample']['parameters'] = {'mass_scale': {'all': {'uniform': [0.8, 1.2]}}, 'gravity': {'z': {'uniform': [-10, -9]}}}
    return scene


def integrator(rng, dt, methods=METHODS):
    method, extra = rng.choice(methods)
    return {'method': method, 'dt': dt, **extra}


def reach(scene):
    """J between held up as high as can be and hanging as low: weight times twice the way from the first joint"""
    far, total = {}, 0.0
    for one in scene['links']:
        way = far.get(one.get('parent'), 0.0) + math.hypot(*one['position'])
        far[one['name']] = way
        total += 9.81 * one['mass'] * 2 * (way + math.hypot(*one['com']))
    return total
