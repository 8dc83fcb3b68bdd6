#!/usr/bin/env python3
"""An iteration of iterative LQR, catena beside Crocoddyl, in one run on one core: of the seven-joint arm, a quadrotor (--quadrotor), or
chains (--chains).

Arm: tests/golden/control/ddp/iiwa14-reach-semi-implicit.json (64 knots; docs/trajectories.md). Quadrotor: tests/golden/control/ddp/
quadrotor.json (128 knots, RK3): catena's plant has roll, pitch and yaw for coordinates, Crocoddyl's is a free body, whose state costs by
its logarithm, so that costs are near to each other and not the same. Chains: hinges with a motor each that
hang 2 m down and bend, over several numbers of links and knots, semi-implicit steps of 5 ms; catena's radau beside. catena tries
`--alphas` step lengths in each iteration; Crocoddyl goes from the longest to shorter ones. Both begin with the same guess and rho, and
must find the same cost. Time is that of all iterations over their number; the least of `--repeat` runs counts.

usage: bench/optimize.py [--quadrotor | --chains] [--quick] [--catena FILE] [--alphas N] [--iterations N] [--repeat N] [--threads N] [--out DIR]
needs: crocoddyl==3.2.1, pin==4.0.0 (with other versions of pin Crocoddyl's wheel computes wrong accelerations: asserted), numpy, pyyaml;
       gnuplot for the picture of --chains, which goes to docs/figures (optimize-chains.png and .csv)
"""
import argparse
import csv
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time

os.environ["OMP_NUM_THREADS"] = "1"  # Eigen shares large products among threads, which is slower by far where cores are busy

import numpy as np
import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GOLDEN = os.path.join(ROOT, "tests", "golden")
# golden plants: file of links, and where golden coordinates are in it
PLANTS = {"arm": ("iiwa14", range(7)), "quadrotor": ("quadrotor", (0, 1, 2, 5, 4, 3))}
LINKS, KNOTS = (5, 10, 20, 30, 40, 50), (50, 100, 200)
HUES = {50: "#9ecae1", 100: "#3182bd", 200: "#08306b"}


def problem(name):
    with open(os.path.join(GOLDEN, "control", "ddp", name + ".json")) as f:
        p = json.load(f)
    file, order = PLANTS[p["plant"]]
    with open(os.path.join(GOLDEN, file, "scene.yaml")) as f:
        p["links"] = f.read()
    if p["plant"] == "arm":
        p["links"] += "motors: [" + ", ".join("{joint: iiwa_link_%d, type: torque}" % i for i in range(1, 8)) + "]\n"
    where = list(order) + [len(order) + k for k in order]
    for key in ("x0", "goal", "Q", "Q_N"):  # in the scene's order
        sorted_ = [0.0] * len(where)
        for k, x in zip(where, p[key]):
            sorted_[k] = x
        p[key] = sorted_
    return p


def chain(links, knots):
    """rods on hinges about y, one hung on the other, in all 2 m and 2 kg; they are to bend, and to rest at the end"""
    length = 2 / links
    text = "catena: 1\ngravity: [0, 0, -9.81]\nlinks:\n"
    for k in range(links):
        text += (f"  - {{name: l{k}, parent: {f'l{k - 1}' if k else 'world'}, position: [0, 0, {-length if k else 0!r}], "
                 f"joint: {{type: revolute, axis: [0, 1, 0]}}, mass: {length!r}, com: [0, 0, {-length / 2!r}], "
                 f"inertia: [{length**3 / 12!r}, {length**3 / 12!r}, {length * 1e-4!r}, 0, 0, 0]}}\n")
    text += "motors: [" + ", ".join(f"{{joint: l{k}, type: torque}}" for k in range(links)) + "]\n"
    return {"links": text, "integrator": "semi-implicit", "N": knots, "T": 0.005 * knots, "x0": [0.0] * (2 * links),
            "goal": [0.5 / links] * links + [0.0] * links, "Q": [1.0] * links + [1.0] * links, "R": [0.01] * links,
            "Q_N": [10000.0] * links + [1000.0] * links, "u_guess": [0.0] * links, "rho_0": 0.01}


def scene_text(p, alphas, iterations, method=None):
    """The problem as a scene: weights count each second, so those of the problem are divided by a knot."""
    h, n = p["T"] / p["N"], len(p["x0"]) // 2
    numbers = lambda x: "[" + ", ".join("%.17g" % v for v in x) + "]"
    return p["links"] + f"""
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
integrator: {{method: {method or p["integrator"]}, dt: {h!r}}}
duration: {p["T"]}
"""


def run_catena(text, a, threads):
    """Least seconds an iteration, and the cost."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "scene.yaml"), "w") as f:
            f.write(text)
        command = [a.catena, "optimize", "scene.yaml", "--out", "found.yaml", "--quiet", "--threads", str(threads)]
        best = np.inf
        for _ in range(a.repeat):
            subprocess.run(command, cwd=folder, check=True, stderr=subprocess.DEVNULL)
            with open(os.path.join(folder, "found.csv")) as f:
                rows = list(csv.DictReader(f))
            best = min(best, float(rows[-1]["seconds"]) / len(rows))
        return best, float(rows[-1]["cost"])


def pinocchio_model(text):
    """The links of a scene, all on hinges or fixed at the root, as a model of Pinocchio."""
    import pinocchio as pin

    scene = yaml.safe_load(text)
    model, joint = pin.Model(), 0
    model.gravity.linear = np.array(scene["gravity"])
    for link in scene["links"]:
        if link["joint"] == "fixed":
            continue
        kind = {(0, 0, 1): pin.JointModelRZ, (0, 1, 0): pin.JointModelRY}[tuple(link["joint"]["axis"])]
        angles = link.get("euler", [0, 0, 0])  # extrinsic x, y, z
        place = pin.SE3(pin.rpy.rpyToMatrix(*map(float, angles)), np.array(link["position"], dtype=float))
        joint = model.addJoint(joint, kind(), place, link["name"])
        xx, yy, zz, xy, xz, yz = map(float, link["inertia"])
        inertia = pin.Inertia(float(link["mass"]), np.array(link["com"], dtype=float),
                              np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
        model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    return model


WRONG = "Crocoddyl's accelerations are wrong: take pin==4.0.0"  # its wheel beside another Pinocchio is, without a word


def driven_joints(p):
    """State, actuation, first state and goal, and the step of Crocoddyl: hinges with a motor each."""
    import crocoddyl
    import pinocchio as pin

    model, n = pinocchio_model(p["links"]), len(p["x0"]) // 2
    state = crocoddyl.StateMultibody(model)
    x0 = np.array(p["x0"])

    def check(action, data):
        u, probe = np.array(p["u_guess"]), x0 + 0.1 * np.cos(np.arange(2 * n))
        action.calc(data, probe, u)
        expected = pin.aba(model, model.createData(), probe[:n], probe[n:], u)
        assert np.allclose(data.differential.xout, expected, rtol=1e-9, atol=1e-9), WRONG

    return state, crocoddyl.ActuationModelFull(state), x0, np.array(p["goal"]), crocoddyl.IntegratedActionModelEuler, check


def flying_body(p):
    """Likewise: a free body with four thrusters."""
    import crocoddyl
    import pinocchio as pin

    is_ = p["parameters"]
    m, arm, I, kM, g = is_["mass"], is_["arm"], np.array(is_["inertia"]), is_["kM"], is_["gravity"]
    model = pin.Model()
    model.gravity.linear = np.array([0, 0, -g])
    joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root_joint")  # as Crocoddyl wants it
    model.appendBodyToJoint(joint, pin.Inertia(m, np.zeros(3), np.diag(I)), pin.SE3.Identity())
    state = crocoddyl.StateMultibody(model)
    places = [(arm, 0, 0), (0, arm, 0), (-arm, 0, 0), (0, -arm, 0)]
    kinds = [crocoddyl.ThrusterType.CW, crocoddyl.ThrusterType.CCW] * 2
    thrusters = [crocoddyl.Thruster(pin.SE3(np.eye(3), np.array(at, dtype=float)), kM, kind) for at, kind in zip(places, kinds)]
    at = lambda x: np.concatenate([x[:3], [0, 0, 0, 1], x[6:]])  # without turns at both ends

    def check(action, data):
        """against Pinocchio, and Newton and Euler in body axes"""
        u, turn = np.array([1.0, 1.3, 0.9, 1.4]), pin.Quaternion(pin.rpy.rpyToMatrix(0.3, -0.2, 0.5))
        v, w = np.array([0.3, -0.5, 0.2]), np.array([0.4, 0.7, -0.6])
        q = np.concatenate([[1, 2, 3], turn.coeffs()])
        moment = sum(np.cross(place, [0, 0, f]) + np.array([0, 0, sign * kM * f]) for place, f, sign in zip(places, u, (1, -1, 1, -1)))
        force = np.array([0, 0, u.sum()])
        action.calc(data, np.concatenate([q, v, w]), u)
        by_pin = pin.aba(model, model.createData(), q, np.concatenate([v, w]), np.concatenate([force, moment]))
        by_hand = np.concatenate([turn.matrix().T @ [0, 0, -g] + force / m - np.cross(w, v), (moment - np.cross(w, I * w)) / I])
        found = data.differential[0].xout
        assert np.allclose(found, by_pin, rtol=1e-9, atol=1e-9) and np.allclose(found, by_hand, rtol=1e-9, atol=1e-9), WRONG

    step = lambda model, h: crocoddyl.IntegratedActionModelRK(model, crocoddyl.RKType.three, h)
    x0, goal = at(np.array(p["x0"], dtype=float)), at(np.array(p["goal"], dtype=float))
    return state, crocoddyl.ActuationModelFloatingBaseThrusters(state, thrusters), x0, goal, step, check


def run_crocoddyl(p, a, plant=driven_joints):
    """Least seconds an iteration, cost and iterations of each solver."""
    import crocoddyl

    h = p["T"] / p["N"]
    state, actuation, x0, goal, steps, check = plant(p)
    nu = actuation.nu

    def action(weights, control, step):
        costs = crocoddyl.CostModelSum(state, nu)
        reach = crocoddyl.CostModelResidual(state, crocoddyl.ActivationModelWeightedQuad(np.array(weights)),
                                            crocoddyl.ResidualModelState(state, goal, nu))
        costs.addCost("state", reach, 1)
        if control is not None:
            costs.addCost("control", crocoddyl.CostModelResidual(state, crocoddyl.ActivationModelWeightedQuad(np.array(control)),
                                                                 crocoddyl.ResidualModelControl(state, nu)), 1)
        return crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, costs), step

    running = steps(*action(np.array(p["Q"]) / h, np.array(p["R"]) / h, h))  # Crocoddyl multiplies running costs by the step
    last = crocoddyl.IntegratedActionModelEuler(*action(np.array(p["Q_N"]), None, 0))
    u = np.array(p["u_guess"])
    check(running, running.createData())
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


def single(a, name, plant):
    p = problem(name)
    ours = {t: run_catena(scene_text(p, a.alphas, a.iterations), a, t) for t in sorted({1, a.threads})}
    theirs = run_crocoddyl(p, a, plant)
    print("| program | ms an iteration | cost | over catena's |\n|---|---|---|---|")
    for t, (seconds, cost) in ours.items():
        print(f"| catena, {a.alphas} alpha, {t} thread{'s' * (t > 1)} | {1e3 * seconds:.3f} | {cost:.10g} | {seconds / ours[1][0]:.2f} |")
    for name, (seconds, cost, count) in theirs.items():
        print(f"| Crocoddyl {name}, {count} iterations | {1e3 * seconds:.3f} | {cost:.10g} | {seconds / ours[1][0]:.2f} |")


def chains(a):
    import build
    import session

    records, load = [], os.getloadavg()[0]
    print("| links | knots | catena, semi-implicit (ms) | Crocoddyl, the faster of FDDP and DDP (ms) | over catena's | catena, radau (ms) |\n|---|---|---|---|---|---|")
    for links in LINKS[:2] if a.quick else LINKS:
        for knots in KNOTS[:2] if a.quick else KNOTS:
            p = chain(links, knots)
            ours, cost = run_catena(scene_text(p, a.alphas, a.iterations), a, 1)
            radau = run_catena(scene_text(p, a.alphas, a.iterations, "radau"), a, 1)[0]
            theirs = run_crocoddyl(p, a)
            name = min(theirs, key=lambda k: theirs[k][0])
            for solver, found in theirs.items():
                assert abs(found[1] - cost) <= 1e-9 * cost, f"{links} links, {knots} knots: {solver} finds {found[1]}, catena {cost}"
            records.append({"links": links, "knots": knots, "catena_ms": 1e3 * ours, "catena_radau_ms": 1e3 * radau, "cost": cost}
                           | {f"crocoddyl_{solver.lower()}_ms": 1e3 * found[0] for solver, found in theirs.items()})
            print(f"| {links} | {knots} | {1e3 * ours:.3g} | {1e3 * theirs[name][0]:.3g} | {theirs[name][0] / ours:.2f} | {1e3 * radau:.3g} |", flush=True)
    out = a.out or os.path.join(ROOT, *(("build-bench", "results") if a.quick else ("docs", "figures")))
    os.makedirs(out, exist_ok=True)
    name, sets = build.cpu()
    facts = {"device": f"{name}, {os.cpu_count()} cores, {' '.join(sets)}; one thread", "catena": build.commit(ROOT),
             "alphas": a.alphas, "iterations": a.iterations, "crocoddyl": "3.2.1, pin 4.0.0, from PyPI",
             "date": datetime.date.today().isoformat(), "load at the start": "%.2f" % load}
    session.write_csv(os.path.join(out, "optimize-chains.csv"), records, facts)
    blocks, plots = {}, []
    for knots in KNOTS:
        of = [r for r in records if r["knots"] == knots]
        for key, value, look, title in (
                ("o", lambda r: r["catena_ms"], "lw 2 pt 7", "catena, semi-implicit"),
                ("r", lambda r: r["catena_radau_ms"], "lw 2 pt 6 dt 3", "catena, radau"),
                ("c", lambda r: min(r["crocoddyl_fddp_ms"], r["crocoddyl_ddp_ms"]), "lw 2 pt 4 dt 2", "Crocoddyl, semi-implicit")):
            blocks[f"{key}{knots}"] = [(r["links"], value(r)) for r in of]
            plots.append(f'${key}{knots} with linespoints {look} lc rgb "{HUES[knots]}" title "{title}, {knots} knots"')
    session.draw(os.path.join(out, "optimize-chains.png"),
                 'set grid\nset logscale xy\nset title "an iteration of iterative LQR, chains of hinges with a motor each, one thread"\n'
                 f'set xlabel "links"\nset ylabel "ms an iteration"\nset xrange [4.5:55]\nset xtics ({", ".join(map(str, LINKS))})\n'
                 'set key top left\nplot ' + ", ".join(plots), blocks, "1000,700")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--quadrotor", action="store_true")
    which.add_argument("--chains", action="store_true")
    parser.add_argument("--quick", action="store_true", help="of --chains, less of it: to see that it works")
    parser.add_argument("--catena", default=os.path.join(ROOT, "build", "catena"))
    parser.add_argument("--alphas", type=int, default=8)
    parser.add_argument("--iterations", type=int, help="20, of chains 10")
    parser.add_argument("--repeat", type=int, help="20, of chains 7")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", metavar="DIR")
    a = parser.parse_args()
    a.catena = os.path.abspath(a.catena)
    a.iterations = a.iterations or (10 if a.chains else 20)
    a.repeat = a.repeat or (7 if a.chains else 20)
    if a.chains:
        chains(a)
    elif a.quadrotor:
        single(a, "quadrotor", flying_body)
    else:
        single(a, "iiwa14-reach-semi-implicit", driven_joints)


if __name__ == "__main__":
    sys.exit(main())
