"""The window of catena view, driven by keys and mouse under a display of its own.
usage: viewer.py CATENA SOURCE_DIR [LOST_CONTEXT]    (tests/lost_context.c)    exit status 77: Xvfb or xdotool is missing"""
import os, re, shutil, struct, subprocess, sys, tempfile, time, zlib

catena, source = sys.argv[1:3]
lost = "".join(sys.argv[3:])
for program in "Xvfb", "xdotool":
    if not shutil.which(program):
        print("viewer: skipped: there is no", program)
        sys.exit(77)


class Display:
    """An X server without a screen."""
    def __init__(self):
        ready, write = os.pipe()
        self.server = subprocess.Popen(["Xvfb", "-noreset", "-displayfd", str(write), "-screen", "0", "1280x1024x24"], pass_fds=[write],
                                       stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(ready) as number:
            self.name = ":" + number.readline().strip()

    def close(self):
        self.server.terminate()
        self.server.wait()


def wait_for(what, seen, seconds=60):
    end = time.time() + seconds
    while not (result := seen()):
        assert time.time() < end, f"{what}: did not happen"
        time.sleep(0.02)
    return result


class Window:
    """MESA_DEBUG: whatever OpenGL has to say of its use is on stderr, where there must be nothing at the end."""
    def __init__(self, display, folder, *words, id="", **environment):
        """id: of a window that is there already."""
        self.folder = folder
        self.environment = dict(os.environ, DISPLAY=display.name, LIBGL_ALWAYS_SOFTWARE="1", MESA_DEBUG="context",
                                ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":exitcode=23")
        self.process = subprocess.Popen([catena, "view", *words], cwd=folder, env=self.environment | environment, stderr=subprocess.PIPE, text=True)
        self.id = wait_for("the window", lambda: [w for w in self.x("search", "--onlyvisible", "--name", "^catena: ", check=False).split() if w != id])[-1]
        self.focus()

    def x(self, *words, check=True):
        assert self.process.poll() is None, self.process.stderr.read()
        done = subprocess.run(["xdotool", *words], env=self.environment, capture_output=True, text=True)
        assert not check or done.returncode == 0, (words, done.stderr)
        return done.stdout

    def title(self):
        return self.x("getwindowname", self.id).strip()

    def focus(self):
        self.x("windowfocus", "--sync", self.id)

    def key(self, *keys):
        """As from a keyboard: whoever has the focus gets them. (With --window xdotool makes events itself where it finds no focus, and leaves
        keys down where it finds no window any more.)"""
        self.x("key", *keys)

    def mouse(self, *words):
        self.x(*[self.id if w == "WINDOW" else str(w) for w in words])

    def catch_up(self):
        """Waits until all that was done so far has been seen by the window, which is paused: a step and back come after it."""
        before = self.title().split(", ")[1]
        self.key("Right")
        wait_for("a step", lambda: self.title().split(", ")[1] != before)
        self.key("Left")
        wait_for("a step back", lambda: self.title().split(", ")[1] == before)

    def move(self, x, y):
        self.mouse("mousemove", "--window", "WINDOW", x, y)
        self.catch_up()

    def wait_title(self, *parts):
        return wait_for(f"title with {parts} (it is '{self.title()}')", lambda: all(p in (t := self.title()) for p in parts) and t)

    def picture(self, key="F12"):
        before = set(os.listdir(self.folder))
        self.key(key)
        name = wait_for("a picture", lambda: [n for n in os.listdir(self.folder) if n.endswith(".png") and n not in before])[0]
        path = os.path.join(self.folder, name)
        wait_for("its end", lambda: open(path, "rb").read().endswith(b"IEND\xaeB`\x82"))
        return read_png(path)

    def close(self, warnings=""):
        """warnings: what the lines on stderr are, as a pattern."""
        self.key("ctrl+q")
        error = self.process.communicate(timeout=60)[1]  # it may be more than a pipe takes
        status = self.process.returncode
        leaks = "LeakSanitizer" in error
        assert status == (23 if leaks else 0) and (leaks or re.fullmatch(warnings, error)), (status, error)
        for leak in re.split("leak of", error)[1:]:
            frames = re.findall(r"#[1-9]\d* 0x\w+ +(.*)", leak)
            # OpenGL's and X's libraries are unloaded by then: their frames have no function, and some are named after the module below
            # them, ours too. Frames of our own name their function and no library.
            assert frames and not any(frame.startswith("in ") and ".so" not in frame for frame in frames), leak


def read_png(path):
    """Width, height, rows of bytes r g b of an 8-bit RGB file."""
    data = open(path, "rb").read()
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack(">IIBB", body[:10])
            assert (depth, color) == (8, 2)
        if kind == b"IDAT":
            packed += body
        at += 12 + size
    raw, rows, above = zlib.decompress(packed), [], bytearray(3 * width)
    for y in range(height):
        method, row = raw[y * (3 * width + 1)], bytearray(raw[y * (3 * width + 1) + 1:(y + 1) * (3 * width + 1)])
        for i in range(3 * width):
            a, b, c = row[i - 3] if i > 2 else 0, above[i], above[i - 3] if i > 2 else 0
            if method == 1:
                row[i] = row[i] + a & 255
            elif method == 2:
                row[i] = row[i] + b & 255
            elif method == 3:
                row[i] = row[i] + (a + b) // 2 & 255
            elif method == 4:
                p = a + b - c
                pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
                row[i] = row[i] + (a if pa <= pb and pa <= pc else b if pb <= pc else c) & 255
        rows.append(bytes(row))
        above = row
    return width, height, rows


def differing(a, b):
    """Pixels x, y that differ clearly."""
    assert a[:2] == b[:2]
    return [(x, y) for y in range(a[1]) if a[2][y] != b[2][y] for x in range(a[0])
            if max(abs(p - q) for p, q in zip(a[2][y][3 * x:3 * x + 3], b[2][y][3 * x:3 * x + 3])) > 24]


def colored(picture, wanted):
    """Pixels x, y whose red, green and blue are as wanted."""
    return [(x, y) for y in range(picture[1]) for x in range(picture[0]) if wanted(*picture[2][y][3 * x:3 * x + 3])]


def clock(w):
    """A scene that starts paused, goes step by step, and runs."""
    w.wait_title("chain10, 0.000 s, paused", "dt 0.01 s")
    w.key("Right")
    w.wait_title("0.010 s, paused")
    w.key("shift+Right")
    w.wait_title("0.110 s, paused")
    w.key("Left")
    w.wait_title("0.100 s, paused")
    w.key("space")
    wait_for("running", lambda: "paused" not in w.title())
    first = w.title()
    wait_for("another time", lambda: w.title() != first)
    w.key("space")
    w.wait_title("paused")
    w.key("r")
    w.wait_title("0.000 s, paused")


def select_link(w, before, after):
    """Clicks where two pictures of a moving chain differ until a link is selected."""
    moved = differing(before, after)
    assert moved, "nothing moves"
    for x, y in moved[::max(len(moved) // 40, 1)]:  # the chain is among what has changed, with its shadow
        w.move(x, y)
        w.mouse("click", 1)
        w.catch_up()
        if "selected" in w.title():
            break
    w.wait_title("rod.", "selected")
    return x, y


def select_ghost(display):
    """Of runs over each other any can be selected, also one that is seen through: the large step of semi-implicit Euler is soon elsewhere."""
    with tempfile.TemporaryDirectory() as folder:
        scene = os.path.join(source, "scenes", "chain10.yaml")
        w = Window(display, folder, scene, "--paused", "--compare", "collocation:4@0.01,semi-implicit@0.03", "--layout", "overlay", "--size", "400x300",
                   "--camera=-72,14,8")
        w.key("F2")
        w.catch_up()
        apart = w.picture()
        for k in range(8):
            w.key("shift+Right")
        w.wait_title("0.800 s")
        moved = differing(apart, w.picture())
        for x, y in moved[::max(len(moved) // 150, 1)]:
            w.move(x, y)
            w.mouse("click", 1)
            w.catch_up()
            if "of semi-implicit, dt 0.03 s selected" in w.title():
                break
        w.wait_title("of semi-implicit, dt 0.03 s selected")
        w.close()


def look_and_pull(w):
    """Orbit, pan and zoom change the picture; a pull changes the motion, and what is let go moves as before."""
    w.key("F2")  # away with the panel
    still = w.picture()
    assert still[:2] == (400, 300)
    assert len(set(still[2])) > 100, "the picture is blank"
    w.key("shift+Right", "shift+Right")
    w.wait_title("0.200 s")
    free = w.picture()
    x, y = select_link(w, still, free)
    selected = w.picture()
    assert differing(selected, free), "what is selected does not look so"
    w.mouse("keydown", "ctrl")
    w.mouse("mousedown", 1)
    w.move(x + 60, y - 80)
    w.move(x + 80, y - 100)
    w.key("ctrl+shift+Right", "ctrl+shift+Right")
    w.wait_title("0.400 s")
    pulled = w.picture("ctrl+F12")
    assert len(colored(pulled, lambda r, g, b: r > 240 and g > 240 and 60 < b < 160)) > 15, "no number at the pull"
    w.mouse("mouseup", 1)
    w.mouse("keyup", "ctrl")
    w.key("r")
    w.wait_title("0.000 s")
    for _ in range(4):
        w.key("shift+Right")
    w.wait_title("0.400 s")
    let_go = w.picture()
    assert not colored(let_go, lambda r, g, b: r > 240 and g > 240 and 60 < b < 160), "the number stays"
    assert len(differing(pulled, let_go)) > 20, "the pull moved nothing"
    w.key("Escape", "r")
    w.wait_title("0.000 s")
    wait_for("nothing selected", lambda: "selected" not in w.title())
    assert w.picture() == still, "the same state gives another picture"
    for button, name in (1, "orbit"), (3, "pan"):
        before = w.picture()
        w.move(250, 60)
        w.mouse("mousedown", button)
        w.move(280, 70)
        w.move(310, 90)
        w.mouse("mouseup", button)
        w.catch_up()
        assert len(differing(before, w.picture())) > 1000, name
    before = w.picture()
    w.mouse("click", 4)
    w.catch_up()
    assert len(differing(before, w.picture())) > 1000, "zoom"
    w.key("c")
    w.catch_up()
    everything = w.picture()
    w.key("r", "c")
    w.catch_up()
    assert w.picture() == everything, "the view of everything is another one"


def change(w):
    """Time step and integrator change while it runs."""
    w.key("space")
    wait_for("running", lambda: "paused" not in w.title())
    w.key("period")
    w.wait_title("dt 0.02 s")
    w.key("comma", "comma")
    w.wait_title("dt 0.005 s")
    name = w.title().split(" s, ")[1]
    w.key("m")
    wait_for("another method", lambda: w.title().split(" s, ")[1] != name)
    w.key("space")
    w.wait_title("paused")


def reload(w, path):
    """A scene saved with an error: the error is told, the old scene runs on; saved again, it is another one."""
    text = open(path).read()
    open(path, "w").write(text.replace("links:", "lynx:", 1))
    w.wait_title("the file has errors")
    w.key("r", "Right")
    w.wait_title("0.005 s, paused", "the file has errors")
    w.picture("shift+F12")
    open(path, "w").write(text.replace("name: chain10", "name: renamed", 1))
    w.wait_title("renamed, 0.000 s")
    assert "errors" not in w.title()
    os.rename(path, path + ".away")
    w.wait_title("renamed", "the file has errors")
    os.rename(path + ".away", path)
    wait_for("the file again", lambda: "errors" not in w.title())


def size(w):
    w.mouse("windowsize", "WINDOW", 500, 300)
    wait_for("another size", lambda: w.picture()[:2] == (500, 300))
    w.mouse("windowunmap", "WINDOW")
    time.sleep(0.3)  # there is nothing to be seen of it
    w.mouse("windowmap", "WINDOW")
    w.focus()
    w.catch_up()
    assert w.picture()[:2] == (500, 300)
    for key in "F1", "F1", "F2", "F2":
        w.key(key)
    w.key("F11")
    wait_for("the full screen", lambda: w.picture()[:2] == (1280, 1024))
    w.key("F11")
    wait_for("the window", lambda: w.picture()[:2] == (500, 300))


def drop_file(display, w, path):
    """What a file manager does when a file is dropped over the window. [XDND protocol 5]"""
    from Xlib import X, display as x_display
    from Xlib.protocol import event
    x = x_display.Display(display.name)
    atom, target = x.intern_atom, x.create_resource_object("window", int(w.id))
    source = x.screen().root.create_window(0, 0, 1, 1, 0, X.CopyFromParent)
    source.set_selection_owner(atom("XdndSelection"), X.CurrentTime)
    for kind, *data in (("XdndEnter", 5 << 24, atom("text/uri-list"), 0, 0),
                        ("XdndPosition", 0, 100 << 16 | 100, X.CurrentTime, atom("XdndActionCopy")), ("XdndDrop", 0, X.CurrentTime, 0, 0)):
        target.send_event(event.ClientMessage(window=target, client_type=atom(kind), data=(32, [source.id, *data])))
    x.flush()

    def answered():
        done = False
        while x.pending_events():
            e = x.next_event()
            if e.type == X.SelectionRequest:
                e.requestor.change_property(e.property, e.target, 8, f"file://{path}\r\n".encode())
                e.requestor.send_event(event.SelectionNotify(time=e.time, requestor=e.requestor, selection=e.selection,
                                                             target=e.target, property=e.property))
                x.flush()
            done = done or (e.type == X.ClientMessage and e.client_type == atom("XdndFinished"))
        return done
    wait_for("the end of the drop", answered)
    x.close()


def drop(display, w, folder):
    """A scene that is dropped takes the place of the one that is shown; one with errors does not."""
    try:
        import Xlib
    except ImportError:
        return
    bad = os.path.join(folder, "bad one.yaml")
    open(bad, "w").write("catena: 1\nname: bad\nlinks: [{name: a, joint: hinge}]\n")
    drop_file(display, w, bad.replace(" ", "%20"))
    w.wait_title("the file has errors", "renamed")
    drop_file(display, w, os.path.join(source, "scenes", "double-pendulum.yaml"))
    w.wait_title("double-pendulum, ")
    assert "errors" not in w.title()


def fine_display(folder):
    """Where the display says that its pixels are half as large, the window has twice as many, and the mouse still finds what it is over."""
    if not shutil.which("xprop"):
        return
    display = Display()
    try:
        subprocess.run(["xprop", "-root", "-f", "RESOURCE_MANAGER", "8s", "-set", "RESOURCE_MANAGER", "Xft.dpi:\t192\n"],
                       env=dict(os.environ, DISPLAY=display.name), check=True)
        w = Window(display, folder, "chain10.yaml", "--paused", "--size", "400x300", "--dt", "0.02", "--camera=-72,14,8")
        w.key("F2")
        still = w.picture()
        assert still[:2] == (800, 600)
        w.key("shift+Right")
        w.wait_title("0.200 s, paused")
        select_link(w, still, w.picture())
        w.close()
    finally:
        display.close()


def pictures_of(path):
    """How many there are in a movie that can be played to its end."""
    frames = subprocess.run(["ffprobe", "-v", "error", "-count_frames", "-show_entries", "stream=nb_read_frames", "-of", "csv=p=0", path],
                            capture_output=True, text=True)
    assert frames.returncode == 0 and not frames.stderr, frames.stderr
    return int(frames.stdout.strip().strip(","))


def movie(w, folder):
    if not shutil.which("ffprobe"):
        return
    w.key("F9", "space")
    path = os.path.join(folder, "renamed-0001.mp4")
    wait_for("a movie", lambda: os.path.exists(path + ".new"))  # until it is whole
    time.sleep(1)
    w.key("F9", "space")
    w.wait_title("paused")  # keys are taken in order, and the movie is finished while F9 is
    assert not os.path.exists(path + ".new")
    assert pictures_of(path) > 3


def lost_context(display, folder):
    """The driver is reset while a movie is made: the window says so and ends, and the movie is whole."""
    if not lost or not shutil.which("ffprobe"):
        return
    scene = os.path.join(folder, "lost.yaml")
    shutil.copy(os.path.join(source, "scenes", "chain10.yaml"), scene)
    w = Window(display, folder, scene, "--rho", "0.1", "--size", "200x150", LD_PRELOAD=lost, CTN_RESET_FILE="reset",
               ASAN_OPTIONS="verify_asan_link_order=0:detect_leaks=0")
    text = open(scene).read()
    open(scene, "w").write(text.replace("method: alpha", "method: rk4"))
    w.wait_title("the file has errors")  # the option does not go with it: that is said in the window
    w.key("F9")
    path = os.path.join(folder, "chain10-0001.mp4")
    wait_for("a movie", lambda: os.path.exists(path + ".new"))  # until it is whole
    time.sleep(1)
    open(os.path.join(folder, "reset"), "w").close()
    error = w.process.communicate(timeout=60)[1]
    assert w.process.returncode == 1 and error == "error: the OpenGL context is lost: the driver was reset\n", (w.process.returncode, error)
    assert pictures_of(path) > 3


def recording(display, folder, path):
    """A recording runs to its end and no further, and can be looked at step by step."""
    subprocess.run([catena, "run", path, "--steps", "20", "--dt", "0.02", "--out", "a.h5", "-q"], cwd=folder, check=True)
    w = Window(display, folder, "a.h5", "--paused", "--size", "400x300")
    w.wait_title("renamed, 0.000 s, paused")
    w.key("F2")
    first = w.picture()
    w.key("Right", "Right")
    w.wait_title("0.040 s, paused")
    w.key("space")
    w.wait_title("0.400 s, paused")
    assert differing(first, w.picture())
    w.key("r")
    w.wait_title("0.000 s")
    assert w.picture() == first
    w.close()
    subprocess.run([catena, "rollout", os.path.join(source, "scenes", "chain10-sampled.yaml"), "--worlds", "4", "--steps", "9", "--out", "w.h5", "-q"],
                   cwd=folder, check=True)
    w = Window(display, folder, "w.h5", "--world", "2", "--paused", "--size", "400x300")
    one = w.picture()
    w.key("F5", "c")
    w.catch_up()
    assert w.picture() == one, "opened again, it is another world, or more of them"
    w.close()


def middle(w):
    """How far from the left the bodies are on average, as a share of the width: they are what K, other colours, changes."""
    before = w.picture()
    w.key("k")
    w.catch_up()
    places = [x for x, y in differing(before, w.picture())]
    return sum(places) / len(places) / before[0]


def cameras(display, folder):
    """The first look is that of C; a camera of the scene is found again by its name when the file is saved, or left."""
    path = os.path.join(folder, "tree.yaml")
    shutil.copy(os.path.join(source, "scenes", "flying-tree.yaml"), path)
    w = Window(display, folder, "tree.yaml", "--paused", "--size", "600x400")
    first = w.picture()
    w.key("c")
    w.catch_up()
    assert w.picture() == first, "the first look is not that of everything"
    text = open(path).read()

    def save(name, cameras):  # its name tells when it has been read; steps before that are lost, as they should be
        open(path, "w").write(text.replace("name: flying-tree", f"name: {name}", 1) + cameras)
        w.wait_title(f"{name}, 0.000 s, paused")

    one, two = "  - {name: one, azimuth: 10}\n", "  - {name: two, azimuth: 80, elevation: 40}\n"
    save("both", "\ncameras:\n" + one + two)
    w.catch_up()
    assert w.picture() == first, "another look without a key"
    w.key("v")
    w.catch_up()
    assert w.picture() != first, "a camera that shows nothing else"
    w.key("v")
    w.catch_up()
    seen = w.picture()
    save("second", "\ncameras:\n" + two)
    w.catch_up()
    assert w.picture() == seen, "the camera is not found again"
    w.key("n")
    w.catch_up()
    named = w.picture()
    assert named != seen
    other = Window(display, folder, "tree.yaml", "--paused", "--size", "600x400", "--camera", "two", "--show", "names", id=w.id)
    assert other.picture() == named, "another look than that of its camera, with names"
    other.close()
    w.focus()
    w.key("n")
    save("none", "")
    w.catch_up()
    assert w.picture() == first, "not the look at everything"
    w.close()
    humanoid = os.path.join(source, "scenes", "humanoid.yaml")  # it is in the middle of what the panel leaves free, whichever way one looks
    looks = []
    for look in "120,20", "-60,20", "30,20,9":
        w = Window(display, folder, humanoid, "--paused", "--size", "1000x600", "--camera=" + look)
        looks.append(middle(w))
        w.close()
    assert max(looks) - min(looks) < 0.03 and looks[0] > 0.6, looks


def extent(w):
    """Of what K, other colours, changes: left, right, upper and lower edge, as shares of the picture."""
    before = w.picture()
    w.key("k")
    w.catch_up()
    places = differing(before, w.picture())
    return [f(p[i] for p in places) / before[i] for i in (0, 1) for f in (min, max)]


def keeps_in_sight(display, folder):
    """What is there fills the picture at first, and while it runs and falls it does not leave it."""
    scene = os.path.join(source, "scenes", "chain10.yaml")
    w = Window(display, folder, scene, "--paused", "--size", "500x300")
    w.key("F2", "c")
    w.catch_up()
    left, right, upper, lower = extent(w)
    assert right - left > 0.75 and left > 0.01 and right < 0.99, (left, right)
    w.key("space")
    wait_for("half a swing", lambda: float(w.title().split(", ")[1].split()[0]) > 1.2)
    w.key("space")
    w.wait_title("paused")
    time.sleep(3)  # until it has glided there
    w.catch_up()
    left, right, upper, lower = extent(w)
    assert left > 0.01 and right < 0.99 and upper > 0.01 and lower < 0.99, (left, right, upper, lower)
    w.close()


def steers(display, folder):
    """A cart that plans swing up: its clock goes on, pulled at or not; what does not go with it is refused."""
    shutil.copy(os.path.join(source, "scenes", "cartpole-swing-up.yaml"), folder)
    w = Window(display, folder, "cartpole-swing-up.yaml", "--mpc", "--horizon", "0.4", "--paused", "--size", "400x300")
    w.key("Right")
    wait_for("a step", lambda: w.title().split(", ")[1].startswith("0.020"))
    w.key("space")
    wait_for("half a second", lambda: float(w.title().split(", ")[1].split()[0]) > 0.5)
    w.key("r")
    wait_for("the beginning", lambda: float(w.title().split(", ")[1].split()[0]) < 0.5)
    assert "refused" not in w.title() and "errors" not in w.title()
    w.close()
    for words, says in (("--horizon", "1"), "give --mpc with it"), (("--mpc", "--compare", "rk4,radau"), "steers one run"):
        done = subprocess.run([catena, "view", "cartpole-swing-up.yaml", *words], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 2 and says in done.stderr, done.stderr


def compares(display, folder):
    """Compared runs have colours and names of their own by themselves, also over each other."""
    scene = os.path.join(source, "scenes", "double-pendulum.yaml")
    w = Window(display, folder, scene, "--paused", "--size", "600x300", "--compare", "rk4@0.001,radau:3@0.05,collocation")
    w.key("F2")
    for layout in "side by side", "over each other":
        w.catch_up()
        picture = w.picture()
        for share in range(3):  # red, green, blue: bodies, and letters that are paler
            others = [c for c in range(3) if c != share]
            for pale in False, True:
                seen = colored(picture, lambda *c: all(c[share] > 1.25 * c[o] and (c[o] > 130) == pale for o in others) and c[share] > 90)
                assert len(seen) > 20, (layout, share, pale, len(seen))
        w.key("o")
    w.close()


def freezes(display, folder):
    """What froze says what to press, without the panel, too, and goes on after it."""
    w = Window(display, folder, os.path.join(source, "scenes", "chain10.yaml"), "--paused", "--size", "500x300", "--method", "rk4", "--dt", "0.02",
               "--speed", "16", "--camera=-72,14,8")
    w.key("F2")
    w.catch_up()
    time.sleep(5)  # notices are gone by then
    assert not [y for x, y in differing(w.picture(), w.picture("shift+F12")) if y < 60], "something is said of nothing"
    w.key("space")
    def stands():
        before = w.title()
        time.sleep(0.5)
        return w.title() == before
    wait_for("the end", stands)
    box = [y for x, y in differing(w.picture(), w.picture("shift+F12")) if y < 60]
    assert len(box) > 3000, "nothing is said"
    w.key("shift+Left", "shift+Left", "shift+Left", "comma", "comma", "comma")
    w.wait_title("paused", "dt 0.0025 s")
    at = float(w.title().split(", ")[1].split()[0])
    w.key("shift+Right", "shift+Right")
    wait_for("steps", lambda: float(w.title().split(", ")[1].split()[0]) > at + 0.01)
    w.close()


def warns(display, folder):
    """What is too stiff for the method is said by the panel and in the terminal, and of a scene that is calm nothing."""
    yellow = {}
    for name, stiffness in (("calm", 1), ("stiff", 1e7)):
        with open(os.path.join(folder, name + ".yaml"), "w") as f:
            f.write("catena: 1\nintegrator: {method: rk4, dt: 0.01}\nlinks:\n  - {name: a, joint: {type: revolute, axis: [0, 1, 0], "
                    f"stiffness: {stiffness}}}, mass: 1, com: [0.1, 0, 0], inertia: [1, 1, 1, 0, 0, 0]}}\n")
        w = Window(display, folder, name + ".yaml", "--paused", "--size", "500x400")
        w.catch_up()
        picture = w.picture("shift+F12")[2]
        yellow[name] = sum(r > 220 and 170 < g < 240 and b < 140 for row in picture for r, g, b in zip(row[0::3], row[1::3], row[2::3]))
        w.close(warnings="(warning: stiff.yaml:.*\n)+" if name == "stiff" else "")
    assert yellow["stiff"] > yellow["calm"] + 50, yellow


def plots(display, folder):
    """Plots are large enough to read, and say what is under the mouse."""
    w = Window(display, folder, os.path.join(source, "scenes", "chain10.yaml"), "--paused", "--size", "900x800", "--method", "rk4", "--dt", "0.005",
               "--camera=-72,14,8")
    for _ in range(4):
        w.key("shift+Right")
    w.wait_title("0.200 s, paused")
    time.sleep(5)
    w.mouse("mousemove", "--window", "WINDOW", 800, 700)
    w.catch_up()
    picture = w.picture("shift+F12")
    blue = [b > r + 30 for r, g, b in (row[3 * 16:3 * 16 + 3] for row in picture[2])]  # along the left margin of the plots
    runs, start = [], None
    for y, inside in enumerate(blue + [False]):
        if inside and start is None:
            start = y
        elif not inside and start is not None:
            runs.append((y - start, start))
            start = None
    high, top = max(runs)
    assert high >= 60, runs
    w.move(120, top + high // 2)
    time.sleep(0.5)
    told = differing(picture, w.picture("shift+F12"))
    assert len([1 for x, y in told if x > 120 and y < 700]) > 800, "nothing is said of what is under the mouse"
    w.close()


def main():
    display = Display()
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "chain10.yaml")
            shutil.copy(os.path.join(source, "scenes", "chain10.yaml"), path)
            w = Window(display, folder, "chain10.yaml", "--paused", "--size", "400x300", "--method", "collocation", "--dt", "0.01", "--camera=-72,14,8")
            clock(w)
            look_and_pull(w)
            change(w)
            reload(w, path)
            size(w)
            movie(w, folder)
            drop(display, w, folder)
            w.close()
            w = Window(display, folder, "chain10.yaml", "--paused", "--compare", "rk4@0.001,radau:3@0.05,collocation", "--size", "600x300")
            w.wait_title("rk4, dt 0.001 s; radau, stages 3, dt 0.05 s; collocation, order 2, dt")
            apart = w.picture()
            w.key("o")
            wait_for("runs over each other", lambda: len(differing(apart, w.picture())) > 100)
            w.close()
            select_ghost(display)
            recording(display, folder, path)
            cameras(display, folder)
            lost_context(display, folder)
            fine_display(folder)
            keeps_in_sight(display, folder)
            warns(display, folder)
            steers(display, folder)
            compares(display, folder)
            freezes(display, folder)
            plots(display, folder)
    finally:
        display.close()


main()
