"""The example of docs/rollouts.md: its command makes the file that its Python reads.

    rollouts.py CATENA SOURCE-FOLDER ROLLOUTS.MD

Exit status 77 (skipped) without h5py and pandas."""
import contextlib, io, os, shlex, subprocess, sys, tempfile

try:
    import h5py
    import numpy as np
    import pandas
except ImportError as missing:
    print(f"skipped: {missing}; the test wants h5py and pandas")
    sys.exit(77)

catena, source, page = sys.argv[1:]
text = open(page).read()
folder = tempfile.TemporaryDirectory()
os.chdir(folder.name)
os.symlink(os.path.join(source, "scenes"), "scenes")

lines = [line[2:] for line in text.split("```console\n")[1].split("```")[0].splitlines() if line.startswith("$ ")]
assert len(lines) == 1, lines
words = shlex.split(lines[0])
assert words[:2] == ["catena", "rollout"], words
subprocess.run([catena, *words[1:]], check=True)
worlds = int(words[words.index("--worlds") + 1])

printed, names = io.StringIO(), {}
with contextlib.redirect_stdout(printed):
    exec(compile(text.split("```python\n")[1].split("```")[0], page, "exec"), names)

with h5py.File("chains.h5", "r") as f:
    assert f["q"].shape[0] == worlds and (f["status"][:] == 0).all()
    last = f["q"][:, -1]
table = names["table"]
assert table.shape == (worlds, 20) and np.array_equal(table.to_numpy(), last)
assert list(table.columns[:3]) == ["q.rod.0.1", "q.rod.0.2", "q.rod.1.1"], table.columns
assert "q.rod.0.1" in printed.getvalue() and "std" in printed.getvalue(), printed.getvalue()

# its table goes back in as starts: the same numbers, to the last digit
table.to_csv("starts.csv", index=False, float_format="%.17g")
subprocess.run([catena, "rollout", "scenes/chain10-sampled.yaml", "--quiet", "--starts", "starts.csv", "--steps", "1", "--out", "next.h5"],
               check=True)
with h5py.File("next.h5", "r") as f:
    assert np.array_equal(f["q"][:, 0], last)
names["f"].close()
os.chdir("/")
