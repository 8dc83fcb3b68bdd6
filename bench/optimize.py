#!/usr/bin/env python3
"""An iteration of iterative LQR on the seven-joint arm, catena beside Crocoddyl, in one run on one core.

Problem: tests/golden/control/ddp/iiwa14-reach-semi-implicit.json (64 knots; docs/trajectories.md). catena tries `--alphas` step
lengths in each iteration; Crocoddyl goes from the longest to shorter ones. Both begin with the same guess and rho. Time is that of
all iterations until both are at the optimum, over their number; the least of `--repeat` runs counts.

usage: bench/optimize.py [--catena FILE] [--alphas N] [--iterations N] [--repeat N] [--threads N]
needs: crocoddyl==3.2.1, pin==4.0.0 (with other versions of pin Crocoddyl's wheel computes wrong accelerations: asserted), numpy
"""
import argparse
import csv
import json
import os
import subprocess
import tempfile
import time

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GOLDEN = os.path.join(ROOT, "tests", "golden")


def problem():
    with open(os.path.join(GOLDEN, "control", "ddp", "iiwa14-reach-semi-implicit.json")) as f:
        return json.load(f)


def scene_text(p, alphas, iterations):
    """The problem as a scene: weights count each second, so those of the file are divided by a knot."""
    h, n = p["T"] / p["N"], len(p["x0"]) // 2
    with open(os.path.join(GOLDEN, "iiwa14", "scene.yaml")) as f:
        text = f.read()
    numbers = lambda x: "[" + ", ".join("%.17g" % v for v in x) + "]"
    return text + f"""
motors: [{", ".join("{joint: iiwa_link_%d, type: torque}" % i for i in range(1, n + 1))}]
state: {{q: {numbers(p["x0"][:n])}}}
optimize:
  cost:
    - {{term: posture, weight: {numbers(np.array(p["Q"][:n]) / h)}, end: {numbers(p["Q_N"][:n])}, target: {numbers(p["goal"][:n])}}}
    - {{term: velocity, weight: {numbers(np.array(p["Q"][n:]) / h)}, end: {numbers(p["Q_N"][n:])}}}
    - {{term: control, weight: {numbers(np.array(p["R"]) / h)}, target: 0}}
  guess: {numbers(p["u_guess"])}
  rho: {p["rho_0"]}
  alphas: {alphas}
  iterations: {iterations}
  tolerance: 0
integrator: {{method: semi-implicit, dt: {h!r}}}
duration: {p["T"]}
"""


def run_catena(p, a, threads):
    """Least seconds an iteration, and the cost."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "arm.yaml"), "w") as f:
            f.write(scene_text(p, a.alphas, a.iterations))
        command = [a.catena, "optimize", "arm.yaml", "--out", "found.yaml", "--quiet", "--threads", str(threads)]
        best = np.inf
        for _ in range(a.repeat):
            subprocess.run(command, cwd=folder, check=True, stderr=subprocess.DEVNULL)
            with open(os.path.join(folder, "found.csv")) as f:
                rows = list(csv.DictReader(f))
            best = min(best, float(rows[-1]["seconds"]) / len(rows))
        return best, float(rows[-1]["cost"])


def arm_model():
    """The golden arm as a model of Pinocchio."""
    import pinocchio as pin
    import yaml

    with open(os.path.join(GOLDEN, "iiwa14", "scene.yaml")) as f:
        scene = yaml.safe_load(f)
    model, joint = pin.Model(), 0
    model.gravity.linear = np.array(scene["gravity"])
    for link in scene["links"]:
        if link["joint"] == "fixed":
            continue
        angles = link.get("euler", [0, 0, 0])  # extrinsic x, y, z
        place = pin.SE3(pin.rpy.rpyToMatrix(*map(float, angles)), np.array(link["position"], dtype=float))
        joint = model.addJoint(joint, pin.JointModelRZ(), place, link["name"])
        xx, yy, zz, xy, xz, yz = map(float, link["inertia"])
        inertia = pin.Inertia(float(link["mass"]), np.array(link["com"], dtype=float),
                              np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
        model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    return model


def run_crocoddyl(p, a):
    import crocoddyl
    import pinocchio as pin

    model, h, n = arm_model(), p["T"] / p["N"], len(p["x0"]) // 2
    state = crocoddyl.StateMultibody(model)
    actuation = crocoddyl.ActuationModelFull(state)
    goal, x0 = np.array(p["goal"]), np.array(p["x0"])

    def action(weights, control, step):
        costs = crocoddyl.CostModelSum(state, n)
        reach = crocoddyl.CostModelResidual(state, crocoddyl.ActivationModelWeightedQuad(np.array(weights)),
                                            crocoddyl.ResidualModelState(state, goal, n))
        costs.addCost("state", reach, 1)
        if control is not None:
            costs.addCost("control", crocoddyl.CostModelResidual(state, crocoddyl.ActivationModelWeightedQuad(np.array(control)),
                                                                 crocoddyl.ResidualModelControl(state, n)), 1)
        free = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, costs)
        return crocoddyl.IntegratedActionModelEuler(free, step)

    running = action(np.array(p["Q"]) / h, np.array(p["R"]) / h, h)  # Crocoddyl multiplies running costs by the step
    last = action(np.array(p["Q_N"]), None, 0)
    u = np.array(p["u_guess"])
    data = running.createData()  # a wheel of Crocoddyl beside another Pinocchio is wrong without a word
    running.calc(data, x0, u)
    expected = pin.aba(model, model.createData(), x0[:n], x0[n:], u)
    assert np.allclose(data.differential.xout, expected, atol=1e-9), "Crocoddyl's accelerations are wrong: take pin==4.0.0"
    shooting = crocoddyl.ShootingProblem(x0, [running] * p["N"], last)
    shooting.nthreads = 1
    found = {}
    for name in ("SolverFDDP", "SolverDDP"):
        best = np.inf
        for _ in range(a.repeat):
            solver = getattr(crocoddyl, name)(shooting)
            solver.th_stop = 1e-300
            us = [u] * p["N"]
            xs = shooting.rollout(us)
            began = time.perf_counter()
            solver.solve(xs, us, a.iterations, True)
            best = min(best, (time.perf_counter() - began) / max(1, solver.iter))
        found[name[6:]] = best, solver.cost, solver.iter
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--catena", default=os.path.join(ROOT, "build", "catena"))
    parser.add_argument("--alphas", type=int, default=8)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    a = parser.parse_args()
    p = problem()
    ours = {t: run_catena(p, a, t) for t in sorted({1, a.threads})}
    theirs = run_crocoddyl(p, a)
    print("| program | ms an iteration | cost | over catena's |\n|---|---|---|---|")
    for t, (seconds, cost) in ours.items():
        print(f"| catena, {a.alphas} alpha, {t} thread{'s' * (t > 1)} | {1e3 * seconds:.3f} | {cost:.10g} | {seconds / ours[1][0]:.2f} |")
    for name, (seconds, cost, count) in theirs.items():
        print(f"| Crocoddyl {name}, {count} iterations | {1e3 * seconds:.3f} | {cost:.10g} | {seconds / ours[1][0]:.2f} |")


if __name__ == "__main__":
    main()
