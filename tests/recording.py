"""Recordings through h5py, as docs/recording.md tells people to read them: of a run that ended, and of runs that were killed; and a
rollout, read along and killed.

    recording.py CATENA SCENE RECORDING.MD

Exit status 77 (skipped) without h5py."""
import os, signal, subprocess, sys, tempfile, time

try:
    import h5py
    import numpy as np
except ImportError:
    print("skipped: no h5py")
    sys.exit(77)

catena, scene, page = sys.argv[1:]
folder = tempfile.TemporaryDirectory()
os.chdir(folder.name)


def check_texts(f):
    """attributes are str or numbers; texts in datasets say that they are UTF-8"""
    seen = []

    def look(name, thing):
        for key, value in thing.attrs.items():
            assert isinstance(value, (str, np.number, np.ndarray)) and not isinstance(value, np.bytes_), (name, key, value)
            seen.append(key)
        if isinstance(thing, h5py.Dataset) and thing.dtype.kind in "SO":
            assert h5py.check_string_dtype(thing.dtype).encoding == "utf-8", name

    look("/", f)
    f.visititems(look)
    assert {"scene", "dt", "unit", "about", "path", "hash"} <= set(seen), seen


def check(f, whole):
    n = len(f["time"])
    assert n > 0
    t, q, pose = f["time"][:], f["q"][:n], f["pose"][:n]
    assert q.shape == (n, 2, int(f.attrs["nq"])) and np.isfinite(q).all()
    assert (np.diff(t) > 0).all()
    assert np.allclose(t, np.arange(n) * f.attrs["dt"] * f.attrs["every"], rtol=1e-12)
    assert np.allclose(np.linalg.norm(pose[..., 3:], axis=-1), 1, rtol=1e-14)
    assert len(f["stats/residual"]) >= n and len(f["energy/kinetic"]) >= n
    assert f["finished"][()] == whole
    assert f["scene/0"].asstr()[()] == open(scene).read()
    assert f.attrs["format"] == "catena recording" and f.attrs["method"] == "alpha"
    check_texts(f)
    return n


def run(*options):
    return subprocess.Popen([catena, "run", scene, "--worlds", "2", "--quiet", "--out", "r.h5", *options])


assert run("--steps", "300", "--every", "3").wait() == 0
with h5py.File("r.h5", "r") as f:
    assert check(f, 1) == 101

# killed runs: SWMR readers always can open them, others nearly always (docs/recording.md)
ordinary = 0
for k in range(4):
    os.remove("r.h5")
    writer = run("--steps", "1000000000", "--every", "20")
    while True:  # until records of a second flush can be read, live
        assert writer.poll() is None
        try:
            with h5py.File("r.h5", "r", swmr=True) as f:
                if len(f["time"]) > 1:
                    break
        except OSError:
            pass
        time.sleep(0.05)
    with h5py.File("r.h5", "r", swmr=True) as f:  # a reader that stays sees the recording grow
        before = len(f["time"])
        while len(f["time"]) == before:
            assert writer.poll() is None
            time.sleep(0.05)
            for name in ("q", "time"):
                f[name].refresh()
        n = len(f["time"])
        f["q"].refresh()
        assert np.isfinite(f["q"][:n]).all() and (np.diff(f["time"][:n]) > 0).all()
    time.sleep(0.07 * k)
    writer.send_signal(signal.SIGKILL)
    assert writer.wait() == -signal.SIGKILL
    with h5py.File("r.h5", "r", swmr=True) as f:
        n = check(f, 0)
    try:
        with h5py.File("r.h5", "r") as f:
            ordinary += check(f, 0) == n
    except OSError as e:
        print(e)
assert ordinary >= 3, ordinary

# a rollout: a reader that stays sees worlds come, whole ones; they are there after a kill too
writer = subprocess.Popen([catena, "rollout", scene, "--worlds", "1000000", "--steps", "4", "--stride", "2", "--hash", "--quiet", "--out", "w.h5"],
                          stderr=subprocess.DEVNULL)
f = None
while f is None:
    assert writer.poll() is None
    try:
        f = h5py.File("w.h5", "r", swmr=True)
    except OSError:
        time.sleep(0.02)
seen = 0
for k in range(3):
    while True:
        assert writer.poll() is None
        f["status"].refresh()
        done = int((f["status"][:] >= 0).sum())
        if done > seen:
            break
        time.sleep(0.02)
    for name in ("q", "v", "hash"):
        f[name].refresh()
    assert np.isfinite(f["q"][seen:done]).all() and np.isfinite(f["v"][seen:done]).all() and (f["hash"][seen:done] != 0).all()
    seen = done
f.close()
writer.send_signal(signal.SIGKILL)
assert writer.wait() == -signal.SIGKILL
with h5py.File("w.h5", "r", swmr=True) as f:
    assert f.attrs["format"] == "catena rollout"
    check_texts(f)
    done = int((f["status"][:] >= 0).sum())
    assert seen <= done < 1000000 and np.isfinite(f["q"][:done]).all()

# the page's example runs as it stands
example = open(page).read().split("```python\n")[1].split("```")[0]
assert run("--steps", "30").wait() == 0
os.rename("r.h5", "arm.h5")
exec(compile(example, page, "exec"))
os.chdir("/")
