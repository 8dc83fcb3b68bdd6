"""searches for controllers that are killed at any time: --resume, as often as need be, comes to the scene and the table of one that was not"""
import os, signal, time

METHODS = ('cma', 'cma', 'likelihood', 'ppo', 'shac')
IN_A_ROUND = 2
MOST_KILLS = 12


def text(rng, method):
    """an arm on two motors, of which worlds differ, that is to be somewhere"""
    gradient = method != 'cma'
    controller = (f'{{type: tanh, sensors: all, hidden: [{rng.randint(2, 8)}], range: [-3, 3], every: 0.04}}' if gradient or rng.random() < 0.5
                  else f'{{type: spline, knots: 3, {rng.choice(("period: 1", "duration: 0.5"))}, range: [-3, 3], every: 0.04}}')
    how = [f'method: {method}', f'generations: {rng.randint(6, 20)}', f'seed: {rng.randrange(1000)}']
    if gradient:
        how += [f'worlds: {rng.randint(3, 9)}']
        how += ['critic: [8]', f'horizon: {rng.choice((0.12, 0.2, 0.4))}'] if method != 'likelihood' else []
    else:
        how += [f'population: {rng.randint(4, 9)}', f'worlds: {rng.randint(1, 3)}', f'covariance: {rng.choice(("full", "separable", "decoded"))}']
    return f'''catena: 1
links:
  - {{name: a, joint: {{type: revolute, axis: [0, 1, 0], damping: 0.1}}, mass: 1, com: [0.2, 0, 0], inertia: [0.01, 0.02, 0.02, 0, 0, 0]}}
  - {{name: b, parent: a, position: [0.4, 0, 0], joint: {{type: revolute, axis: [0, 1, 0], damping: 0.1}}, mass: 1, com: [0.2, 0, 0],
     inertia: [0.01, 0.02, 0.02, 0, 0, 0]}}
motors: [{{joint: a, type: torque, effort: 5}}, {{joint: b, type: position, kp: 5, kd: 0.5}}]
sensors: [{{name: x, type: joint_position, joint: a}}, {{name: w, type: joint_velocity, joint: a}}, {{name: y, type: joint_position, joint: b}}]
controller: {controller}
reward:
  - {{term: height, link: b, point: [0.4, 0, 0], weight: 1}}
  - {{term: effort, weight: -0.01}}
sample: {{q: {{a: {{uniform: [-1, 1]}}}}}}
search: {{{', '.join(how)}}}
integrator: {{method: {rng.choice(('collocation', 'radau', 'alpha'))}, dt: 0.02}}
duration: {rng.choice((0.4, 0.8, 1.2))}
'''


def kept(t, name):
    with open(t.path(name), 'rb') as f:
        return f.read()


def trial(t):
    method = t.random.choice(METHODS)
    t.write('s.yaml', text(t.random, method))
    begun = time.monotonic()
    t.catena('search', 's.yaml', '--out', 'whole.yaml', '--quiet', limit=30, ok=(0,))
    whole_time = time.monotonic() - begun
    kills = 0
    words = ['search', 's.yaml', '--out', 'killed.yaml', '--quiet', '--threads', str(t.random.randint(1, 2))]
    while kills < MOST_KILLS and not os.path.exists(t.path('killed.yaml')):
        resume = ['--resume'] if os.path.exists(t.path('killed.yaml.checkpoint')) else []
        with t.started([t.bench.catena, *words, *resume]) as process:
            time.sleep(t.random.random() * whole_time)
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                kills += 1
            t.outcome(process, 20, sent=signal.SIGKILL)
    resume = ['--resume'] if os.path.exists(t.path('killed.yaml.checkpoint')) else []
    t.catena(*words, *resume, limit=30, ok=(0,))
    for end in ('', '.csv'):
        t.expect(kept(t, 'killed.yaml' + end) == kept(t, 'whole.yaml' + end),
                 f'{method}: after {kills} kills killed.yaml{end} is another than whole.yaml{end}')
    t.note(method)
    t.note(f'killed {min(kills, 3)}{" or more" if kills >= 3 else ""} times')
