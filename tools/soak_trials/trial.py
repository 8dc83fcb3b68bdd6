"""One trial: a folder, chance from a seed, and commands that are run in the folder, kept with what they printed, and held to the promises
that `catena` makes whatever it is given: it ends in time, by no signal, without a sanitizer's report, with status 0, 1 or 2, says why where
that is not 0, and prints nothing that a terminal would obey."""
import contextlib, os, random, re, resource, shlex, signal, subprocess, time
from dataclasses import dataclass

MEMORY = 4 << 30  # bytes of address space for a run, but for a sanitizer's, which reserves terabytes
WRITTEN = 1 << 30  # bytes of a file
SHOWN = 1 << 20  # bytes of what a run printed that are looked at
# C0 but for tab and newline, DEL, C1, bidirectional controls, what has no width
OBEYED = re.compile('[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]')
REPORTS = re.compile(r'(?:Address|Leak|Thread|Memory|UndefinedBehavior)Sanitizer|runtime error:|\*\*\* stack smashing|malloc\(\): |free\(\): ')


# HDF5 leaks what it was reading when it fails (the tests look for leaks of our own), and a trial may preload a library
SANITIZERS = {'ASAN_OPTIONS': 'detect_leaks=0:verify_asan_link_order=0', 'UBSAN_OPTIONS': 'print_stacktrace=1'}


class Failure(Exception):
    """a promise that was not kept"""


@dataclass
class Outcome:
    argv: list
    status: int  # negative: the signal that ended it
    out: str
    err: str
    seconds: float
    sent: int = 0  # the signal that the trial sent, by which it may end

    def last(self):
        lines = self.err.strip().splitlines() or self.out.strip().splitlines()
        return lines[-1] if lines else 'nothing was printed'


@dataclass
class Bench:
    """what all trials of a soak have in common"""
    build: str
    root: str
    patience: float  # times the limits
    sanitized: bool

    @property
    def catena(self):
        return os.path.join(self.build, 'catena')


class Trial:
    def __init__(self, bench, kind, seed, folder):
        self.bench, self.kind, self.seed, self.folder = bench, kind, seed, folder
        self.random = random.Random(f'{kind}:{seed}')
        self.work = os.path.join(folder, 'work')  # where commands run
        self.longest, self.runs = 0.0, 0
        self.left_out, self.notes = set(), {}
        self.unclean = None  # what a terminal would obey was printed: a failure, after all others
        os.makedirs(self.work)

    def path(self, name):
        return os.path.join(self.work, name)

    def write(self, name, text):
        data = text if isinstance(text, bytes) else text.encode('utf-8', 'surrogateescape')
        with open(self.path(name) if isinstance(name, str) else os.path.join(os.fsencode(self.work), name), 'wb') as f:
            f.write(data)
        return name

    def leave_out(self, what):
        """says at the end of the soak what was not tried"""
        self.left_out.add(what)

    def note(self, what, times=1):
        """counts what happened, for the table"""
        self.notes[what] = self.notes.get(what, 0) + times

    def _argv(self, args):
        return [os.fsencode(a) if isinstance(a, str) else a for a in args]

    @contextlib.contextmanager
    def started(self, args, *, stdin=None, stdout=None, env=None, largest=WRITTEN, full_by_error=False):
        """The process, in a group of its own, which is gone afterwards. `full_by_error`: a write beyond `largest` fails instead of killing."""
        self.runs += 1
        argv = self._argv(args)
        log = os.path.join(self.folder, f'{self.runs:03}')
        with open(os.path.join(self.folder, 'commands'), 'ab') as f:
            f.write(f'# {self.runs:03}\n'.encode() + b' '.join(os.fsencode(shlex.quote(os.fsdecode(a))) for a in argv) + b'\n')

        def limit():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
            if not self.bench.sanitized:
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            if full_by_error:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

        with open(log + '.out', 'wb') as out, open(log + '.err', 'wb') as err:
            process = subprocess.Popen(argv, cwd=self.work, stdin=stdin or subprocess.DEVNULL, stdout=stdout or out, stderr=err,
                                       env={**os.environ, **SANITIZERS, **(env or {})}, start_new_session=True, preexec_fn=limit,
                                       restore_signals=not full_by_error)
        process.log, process.begun = log, time.monotonic()
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def outcome(self, process, limit, sent=0):
        """Waits until it has ended, which it must within the limit (s), and holds it to the promises."""
        limit *= self.bench.patience
        begun = time.monotonic()
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            self.longest = max(self.longest, time.monotonic() - begun)
            raise Failure(f'no end within {limit:g} s: {self.shown(process.args)}') from None
        seconds = time.monotonic() - begun
        self.longest = max(self.longest, seconds)
        texts = []
        for ending in '.out', '.err':
            with open(process.log + ending, 'rb') as f:
                texts.append(f.read(SHOWN))
        with open(os.path.join(self.folder, 'commands'), 'a', encoding='utf-8') as f:
            f.write(f'# status {status} after {seconds:.3f} s\n')
        result = Outcome(process.args, status, texts[0].decode('utf-8', 'surrogateescape'), texts[1].decode('utf-8', 'surrogateescape'),
                         seconds, sent)
        self._hold(result)
        return result

    def _hold(self, r):
        said = self.shown(r.argv)
        if found := REPORTS.search(r.err) or REPORTS.search(r.out):
            at = max(r.err.find(found.group()), 0)
            raise Failure(f'{r.err[at:at + 200].strip()}: {said}')
        if r.status < 0 and -r.status != r.sent:
            raise Failure(f'ended by {signal.Signals(-r.status).name}: {said}')
        if r.status > 2:
            raise Failure(f'status {r.status}: {said}')
        for text in r.out, r.err:
            if found := OBEYED.search(text):
                self.unclean = self.unclean or f'prints U+{ord(found.group()):04X}: {said}'
            if any('\ud800' <= c <= '\udfff' for c in text):
                self.unclean = self.unclean or f'prints what is not UTF-8: {said}'

    def run(self, *args, limit=20.0, **how):
        """Any program, to its end."""
        with self.started(args, **how) as process:
            return self.outcome(process, limit)

    def catena(self, *args, limit=20.0, ok=None, **how):
        """The command, to its end. `ok`: the statuses that it may end with, all by default."""
        r = self.run(self.bench.catena, *args, limit=limit, **how)
        if r.status and not re.search(r'^(?:\S+: )?error: \S', r.err, re.M) and not self._summary(r):
            raise Failure(f'status {r.status} without a reason: {self.shown(r.argv)}')
        if ok is not None and r.status not in ok:
            raise Failure(f'status {r.status} ({r.last()}): {self.shown(r.argv)}')
        return r

    @staticmethod
    def _summary(r):
        """whether what was printed says that worlds froze, or that the run was interrupted, or is a list of errors"""
        return re.search(r'frozen|froze|interrupted|"errors":\s*\[\s*[{"]', r.out + r.err, re.M)

    def shown(self, argv):
        words = [os.fsdecode(a) for a in self._argv(argv)]
        words = ['catena' if w == self.bench.catena else w for w in words]
        text = ' '.join(shlex.quote(w) for w in words)
        text = text.replace(self.bench.root + '/', '').encode('unicode_escape').decode()
        return text if len(text) < 300 else text[:297] + '...'

    def expect(self, truth, text):
        if not truth:
            raise Failure(text)


def sanitized(program):
    """whether it was built with the address sanitizer"""
    with open(program, 'rb') as f:
        return b'__asan_init' in f.read()
