"""Objects that go in any order, threads, forked processes, signals, and arguments drawn by chance."""

from __future__ import annotations

import gc
import os
import random
import signal
import tempfile
import threading
import time
import tracemalloc
import unittest

import catena
import numpy

import chance

from support import SCENES, TWO_LINKS, fresh


class Order(unittest.TestCase):
    def test_any_order(self):
        for order in range(24):
            model = catena.load(TWO_LINKS)
            batch = catena.Batch(model, worlds=2)
            tapes = catena.Tapes(model, 2, worlds=2)
            tapes.run(2)
            things = {"model": model, "batch": batch, "tapes": tapes, "view": tapes.q(2)}
            del model, batch, tapes
            names = list(things)
            random.Random(order).shuffle(names)
            while names:
                del things[names.pop()]
                gc.collect()
                if "view" in things:
                    self.assertTrue(numpy.isfinite(things["view"]).all())
                if "batch" in things:
                    things["batch"].step()
                    self.assertEqual(things["batch"].model.nq, 5)
                if "model" in things:
                    self.assertEqual(len(things["model"].links), 2)

    def test_arrays_outlive_what_they_came_from(self):
        batch = catena.Batch(catena.load(TWO_LINKS), worlds=3)
        q, contacts, links = batch.q, batch.contacts(), batch.model.links
        expected = q.copy()
        del batch
        gc.collect()
        self.assertTrue((q == expected).all())
        self.assertEqual((contacts.shape, links[1].name), ((3, 0), "lower"))

    def test_nothing_leaks(self):
        with open("/proc/self/statm") as file:
            pages = lambda: file.seek(0) or int(file.read().split()[1])

            def work(count):
                for _ in range(count):
                    model = catena.load(TWO_LINKS)
                    batch = catena.Batch(model, worlds=50)
                    batch.step(statistics=True)
                    model.rnea(*batch.state(), batch.v)
                    try:
                        batch.set_state([1])
                    except ValueError:
                        pass

            work(50)
            before = pages()
            work(200)
            self.assertLess(pages() - before, 200, "pages of memory more after 200 times")


    def test_nothing_leaks_of_what_asks_functions(self):
        """Nor do cycles of objects and the functions that know of them."""
        searched, steered = catena.load(chance.SEARCHED), catena.load(chance.STEERED)
        q, v = steered.initial_state()

        def work(count):
            for _ in range(count):
                cycle = []
                search = catena.Search(searched, reward=lambda moment: 0 * moment.q[:, 0] + len(cycle))
                plan = catena.Optimize(steered, 0.1, lambda knot, x, u: 0.0 * knot * len(cycle), lambda knot, x, u: (None,) * 5)
                cycle += [search, plan]
                search.step()
                plan.step()
                tape, cma = catena.Tape(steered, 2), catena.CMA(q, 0.5)
                tape.run(q, v)
                tape.gradient(dv=numpy.ones((3, 4)))
                cma.tell(cma.ask().sum(1))
                try:
                    cma.tell([1])
                except ValueError:
                    pass

        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        grown = []
        with open("/proc/self/statm") as file:
            for _ in range(12):  # Python itself keeps some, by chance
                pages = file.seek(0) or int(file.read().split()[1])
                held = tracemalloc.get_traced_memory()[0]
                work(20), gc.collect()
                grown.append((tracemalloc.get_traced_memory()[0] - held, (file.seek(0) or int(file.read().split()[1])) - pages))
        # what leaks does so each time
        self.assertLess(min(grown[1:])[0], 2000, "bytes of Python more after 20 times")
        self.assertLess(min(pages for _, pages in grown[1:]), 20, "pages of memory more after 20 times")


class Threads(unittest.TestCase):
    def test_other_threads_run_while_worlds_step(self):
        batch = catena.Batch(catena.load(SCENES / "chain40.yaml"), worlds=8)
        done = threading.Event()
        refused = []

        def step():
            batch.step(150)
            done.set()

        thread = threading.Thread(target=step)
        thread.start()
        turns = 0
        while not done.is_set():
            turns += 1
            try:
                batch.q
            except RuntimeError as error:
                refused.append(str(error))
            time.sleep(0.0005)
        thread.join()
        self.assertGreater(turns, 5)
        self.assertIn("in use", refused[0])
        batch.step()

    def test_many_batches_at_once(self):
        model = catena.load(SCENES / "chain10.yaml")
        hashes = []

        def work(threads):
            batch = catena.Batch(model, worlds=4, threads=threads)
            batch.run(20, control=lambda first, time, q, v: -0.1 * v)
            hashes.append(batch.hashes().tolist())

        threads = [threading.Thread(target=work, args=(1 + k % 3,)) for k in range(6)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.assertEqual([len(hashes), len(set(map(tuple, hashes)))], [6, 1])

    def test_forked(self):
        model = catena.load(TWO_LINKS)
        alone, pooled = catena.Batch(model, worlds=2), catena.Batch(model, worlds=40, threads=2)
        pooled.step(2)
        child = os.fork()
        if not child:
            status = 1
            try:
                alone.step(2)
                try:
                    pooled.step(1)
                except catena.UnavailableError:
                    again = catena.Batch(model, worlds=40, threads=2)
                    again.restore(pooled.save())
                    again.step(1)
                    status = 0 if numpy.isfinite(again.q).all() else 3
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        alone.step(2), pooled.step(1)

    def test_interrupt(self):
        batch = catena.Batch(catena.load(SCENES / "chain40.yaml"), worlds=4)
        before = batch.hashes().tolist()
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        start = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            batch.step(10**7)
        self.assertLess(time.monotonic() - start, 20)
        self.assertEqual(batch.hashes().tolist(), before)
        batch.step(1)


class Chance(unittest.TestCase):
    def test_arguments_by_chance(self):
        with tempfile.TemporaryDirectory() as folder:
            before = os.getcwd()
            self.addCleanup(os.chdir, before)
            os.chdir(folder)
            drawn = chance.Drawn(4)
            for _ in range(4000):
                drawn.once(lambda text: None)
            os.chdir(before)
        self.assertGreater(drawn.made, 200)
        self.assertGreater(drawn.raised, 1000)
        batch = drawn.batch
        batch.set_force(None)
        batch.set_state(*drawn.model.initial_state())
        batch.step()


class Imports(unittest.TestCase):
    def test_nothing_of_pictures_is_loaded(self):
        said = fresh("import catena; print(open('/proc/self/maps').read())")
        self.assertIn("_core", said)
        for library in ("libGL", "libEGL", "libglfw", "libmpi", "libcuda"):
            self.assertNotIn(library, said)

    def test_it_is_typed(self):
        folder = os.path.dirname(catena.__file__)
        self.assertTrue(os.path.exists(os.path.join(folder, "py.typed")))


if __name__ == "__main__":
    unittest.main()
