"""Flies scenes/quadrotor.yaml around a square: a controller for `catena run --control`.

Before each step it finds the force that brings the quadrotor to where it is to be, and the torque that turns its rotors' axis to
that force, and shares both out among four rotors, which only pull, and not too hard.
"""
import json
import sys

CORNERS = [(0, 0, 2), (2, 0, 2), (2, 1.5, 2.5), (0, 1.5, 2.5)]  # m, each one for three seconds
MASS, GRAVITY = 1.52, 9.81  # kg, with what hangs on it; m/s^2
INERTIA = (0.012, 0.012, 0.022)  # kg m^2
DRAG = 0.02  # m: a rotor's torque for each N that it pulls
ROTORS = [(0.18, 0.18, 1), (0.18, -0.18, -1), (-0.18, -0.18, 1), (-0.18, 0.18, -1)]  # x, y (m), which way its torque is


def matrix(w, x, y, z):
    return [[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]]


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def limited(low, x, high):
    return max(low, min(high, x))


def pulls(time, q, v, R, most):
    """what each rotor pulls, N, at most so much"""
    corner = CORNERS[(int(time / 3) + 1) % len(CORNERS)]
    force = [MASS * (4 * limited(-1.2, corner[k] - q[k], 1.2) - 3.2 * v[k]) for k in range(3)]
    force[2] += MASS * GRAVITY
    axis = [R[k][2] for k in range(3)]
    lift = sum(axis[k] * force[k] for k in range(3))
    size = sum(x * x for x in force) ** 0.5
    tilt = cross(axis, force)
    turn = [sum(R[k][i] * tilt[k] for k in range(3)) / size for i in range(2)] + [-R[1][0]]  # in the frame's axes, rad
    stiff, damp = (150, 150, 8), (22, 22, 5)
    torque = [INERTIA[i] * (stiff[i] * turn[i] - damp[i] * v[3 + i]) for i in range(3)]
    return [limited(0, lift / 4 + torque[0] / (4 * y) - torque[1] / (4 * x) + s * torque[2] / (4 * DRAG), most) for x, y, s in ROTORS]


hello = json.loads(sys.stdin.readline())
most = hello['motors'][0]['limits'][1]
for line in sys.stdin:
    state = json.loads(line)
    q, v = state['q'], state['v']
    print(json.dumps({'target': pulls(state['time'], q, v, matrix(*q[3:7]), most)}), flush=True)
