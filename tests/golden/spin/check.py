"""Checks the prototype: its plain form against the product's golden steps, its forms A, B, C against steps in a folder of golden/spin.
usage: check.py PROGRAM GOLDEN [SPIN]     GOLDEN: tests/golden, SPIN: a folder of gyro.json and others"""
import json, os, subprocess, sys, tempfile
import numpy as np, yaml
def quat(q): w, x, y, z = q; return np.array([[1-2*(y*y+z*z), 2*(x*y-w*z), 2*(x*z+w*y)], [2*(x*y+w*z), 1-2*(x*x+z*z), 2*(y*z-w*x)], [2*(x*z-w*y), 2*(y*z+w*x), 1-2*(x*x+y*y)]])
def euler(e):
    cx, cy, cz = np.cos(e); sx, sy, sz = np.sin(e)
    return np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])@np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])@np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
KIND = dict(revolute=0, prismatic=1, ball=2, free=5, hinge=0, slide=1, translation=3)
def text(scene, q, v):
    names = {}; out = [' '.join(map(repr, scene.get('gravity', [0, 0, -9.81]))), str(len(scene['links']))]
    for i, l in enumerate(scene['links']):
        names[l['name']] = i; j = l['joint']; j = j if isinstance(j, dict) else {'type': j}
        R = euler(l['euler']) if 'euler' in l else quat(l['rotation']) if 'rotation' in l else np.eye(3); a = np.array(j.get('axis', [0, 0, 1]), float)
        if j['type'] in ('revolute', 'prismatic'): a = a/np.linalg.norm(a)
        row = [names.get(l.get('parent'), -1), KIND[j['type']], *R.T.ravel(), *l.get('position', [0, 0, 0]), *a, l['mass'], *l.get('com', [0, 0, 0]), *l['inertia'], j.get('damping', 0), j.get('armature', 0), j.get('stiffness', 0), j.get('rest', 0)]
        out.append(' '.join(repr(float(x)) if k > 1 else str(x) for k, x in enumerate(row)))
    return '\n'.join(out + [' '.join(map(repr, q)), ' '.join(map(repr, v))]) + '\n'
def run(program, scene, q, v, method, form, dt, n):
    with tempfile.NamedTemporaryFile('w', suffix='.txt') as f:
        f.write(text(scene, q, v)); f.flush()
        o = subprocess.run([program, 'steps', f.name, method, form, repr(dt), str(n)], capture_output=True, text=True).stdout
    return [np.array(list(map(float, l.split()))) for l in o.splitlines() if l and l[0] != 'd']
def unit(q, p):   # signs of quaternions
    return np.minimum(abs(q-p), abs(q+p))
program, golden = sys.argv[1:3]; worst = 0
for c in ('pendulum', 'double-pendulum', 'chain5', 'ball5', 'flying-tree5'):
    scene = yaml.safe_load(open(f'{golden}/{c}/scene.yaml'))
    for f in ('steps', 'alpha_steps'):
        if not os.path.exists(f'{golden}/{c}/{f}.json'): continue
        for r in json.load(open(f'{golden}/{c}/{f}.json'))['runs']:
            if r['method'] not in ('order2', 'radau', 'alpha') or 'dt_from_step_11' in r: continue
            m = dict(order2='order2', radau=f"radau{r.get('stages')}", alpha=f"alpha{r.get('rho')}")[r['method']]
            if m == 'radau4': continue
            s = r['steps']; nq = len(s[0]['q']); o = run(program, scene, s[0]['q'], s[0]['v'], m, 'plain+g', r['dt'], len(s)-1); d = 0
            for x, y in zip(o, s[1:]): d = max(d, unit(x[:nq], np.array(y['q'])).max(), (abs(x[nq:]-y['v'])/(1+np.abs(y['v']))).max())
            print(f"{c:16} {m:9} {r['dt']:5} {len(o)} of {len(s)-1} steps, off by {d:.1e}", {k: x for k, x in r.items() if k not in ('method', 'stages', 'rho', 'dt', 'steps')})
if len(sys.argv) > 3:
    for c in ('spinup', 'wheelarm', 'gyro', 'tumble'):
        g = json.load(open(f'{sys.argv[3]}/{c}.json'))
        for r in g['runs']:
            s = r['steps']; nq = len(s[0]['q']); form = {'plain+r': 'A', 'tree+r': 'A+C', 'top': 'plain+B'}[r['form']]
            o = subprocess.run([program, 'steps', c, r['method'], form, repr(r['dt']), str(len(s)-1)], capture_output=True, text=True).stdout
            o = [np.array(list(map(float, l.split()))) for l in o.splitlines()]
            d = max(max(unit(x[:nq], np.array(y['q'])).max(), (abs(x[nq:]-y['v'])/(1+np.abs(y['v']))).max()) for x, y in zip(o, s[1:]))
            print(f"{c:10} {r['method']:9} {r['dt']:5} form {form:8} {len(o)} steps, off by {d:.1e}")
