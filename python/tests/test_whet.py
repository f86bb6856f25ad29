"""Tests of the package over the program that $WHET names (the build's), with nothing but numpy.

Run by `python3 -m unittest discover python/tests`; what needs more than is installed is skipped with a line."""
import doctest
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import types
import unittest
import unittest.mock
import warnings
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))

import whet  # noqa: E402
from whet import program  # noqa: E402


class InAFolder(unittest.TestCase):
    """Each test has a working folder of its own."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.before = os.getcwd()
        os.chdir(self.folder.name)

    def tearDown(self):
        os.chdir(self.before)
        self.folder.cleanup()


class Loading(InAFolder):
    def test_lists_tasks(self):
        model = whet.load("zoo:mlp")
        tasks = model.tasks()
        self.assertEqual([task.id for task in tasks], list(range(len(tasks))))
        self.assertAlmostEqual(sum(task.share for task in tasks), 1)
        self.assertTrue(all("\n" in task.dag for task in tasks))

    def test_refuses_with_whets_sentence(self):
        for path, sentence in [("nowhere.onnx", 'cannot read "nowhere.onnx"'), ("zoo:nothing", "the zoo has no network")]:
            with self.assertRaisesRegex(whet.Error, sentence):
                whet.load(path)
        with self.assertRaisesRegex(ValueError, "-mcpu"):
            whet.load("zoo:mlp").tasks(target="cpu -mcpu=haswel")

    def test_binds_shapes_of_a_file(self):
        model = whet.load(ROOT / "tests/models/blazeface_front.onnx")
        self.assertGreater(len(model.tasks()), 10)
        with self.assertRaisesRegex(whet.Error, "nothing"):
            whet.load(ROOT / "tests/models/blazeface_front.onnx", shapes={"nothing": (1, 2)})

    def test_loses_nothing_to_an_output(self):
        shutil.copy(ROOT / "tests/models/blazeface_front.onnx", "model.onnx")
        shutil.copy(ROOT / "tests/golden/records.jsonl", "r.jsonl")
        before = Path("model.onnx").read_bytes(), Path("r.jsonl").read_bytes()
        model = whet.load("model.onnx")
        for write in (lambda: model.compile("model.onnx"), lambda: model.compile("r.jsonl", records="r.jsonl"),
                      lambda: model.report("model.onnx", records="r.jsonl"), lambda: model.tune(1, records="model.onnx"),
                      lambda: model.lab(records="model.onnx")):
            with self.assertRaisesRegex(whet.Error, "which this command reads; give it another name"):
                write()
        self.assertEqual((Path("model.onnx").read_bytes(), Path("r.jsonl").read_bytes()), before)

    def test_refuses_options_of_other_models(self):
        for options in ({"batch": 2}, {"image": 64}, {"layout": "nhwc"}):
            with self.assertRaisesRegex(whet.UsageError, f"--{list(options)[0]} is for built-in networks"):
                whet.load(ROOT / "tests/models/blazeface_front.onnx", **options)
        with self.assertRaisesRegex(whet.UsageError, "--image is for networks of pictures"):
            whet.load("zoo:mlp", image=64)

    def test_says_so_where_there_is_no_program(self):
        kept = os.environ.pop("WHET", None)
        path, os.environ["PATH"] = os.environ["PATH"], ""
        try:
            with self.assertRaisesRegex(whet.Error, "not found"):
                whet.load("zoo:mlp")
        finally:
            os.environ["PATH"] = path
            if kept:
                os.environ["WHET"] = kept

    def test_explains(self):
        self.assertIn("wrong_answer", whet.explain("error", 5))


class Running(InAFolder):
    @classmethod
    def setUpClass(cls):
        cls.built = tempfile.TemporaryDirectory()
        cls.path = os.path.join(cls.built.name, "m.so")
        whet.load("zoo:mlp").compile(cls.path)
        cls.exe = whet.open(cls.path)
        rng = np.random.default_rng(3)
        cls.x = rng.random(cls.exe.inputs[0].shape, np.float32)
        np.save(os.path.join(cls.built.name, "x.npy"), cls.x)

    @classmethod
    def tearDownClass(cls):
        del cls.exe
        cls.built.cleanup()

    def test_gives_a_probability(self):
        y = self.exe(self.x)
        self.assertEqual((y.shape, y.dtype), ((1, 10), np.float32))
        self.assertAlmostEqual(float(y.sum()), 1, places=5)

    def test_gives_what_the_program_gives(self):
        out = os.path.join(self.built.name, "y.npz")
        program.run("run", self.path, "--input", os.path.join(self.built.name, "x.npy"), "-o", out, "-q")
        with np.load(out) as answers:
            np.testing.assert_array_equal(self.exe(self.x), answers[self.exe.outputs[0].name])

    def test_takes_inputs_by_name_and_of_any_strides(self):
        wanted = self.exe(self.x)
        np.testing.assert_array_equal(self.exe(data=self.x), wanted)
        wide = np.repeat(self.x, 2, axis=1)[:, ::2]
        self.assertFalse(wide.flags.c_contiguous)
        np.testing.assert_array_equal(self.exe(wide), wanted)
        np.testing.assert_array_equal(self.exe(self.x.tolist()), wanted)

    def test_takes_tensors_by_dlpack(self):
        class Foreign:
            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **options):
                return self.array.__dlpack__(**options)

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

        np.testing.assert_array_equal(self.exe(Foreign(self.x)), self.exe(self.x))

    def test_reads_and_writes_in_place(self):
        x, out = self.x.copy(), np.empty((1, 10), np.float32)
        first = self.exe(x, out=out)
        self.assertIs(first, out)
        before = out.copy()
        x[:] = 0  # the same memory is read again
        self.exe(x, out=out)
        self.assertFalse(np.array_equal(before, out))
        np.testing.assert_array_equal(out, self.exe(np.zeros_like(x)))

    def test_gives_fresh_arrays(self):
        first = self.exe(self.x)
        kept = first.copy()
        self.exe(np.zeros_like(self.x))
        np.testing.assert_array_equal(first, kept)

    def test_refuses_wrong_inputs(self):
        wrong = [((self.x[:, :5],), r"the model takes float32\[1, 784\]"), ((self.x.astype(np.float64),), "float64"),
                 ((), "0 inputs were given"), ((self.x, self.x), "2 inputs were given")]
        for values, sentence in wrong:
            with self.assertRaisesRegex(whet.UsageError, sentence):
                self.exe(*values)
        with self.assertRaisesRegex(whet.UsageError, "no input \"mask\""):
            self.exe(mask=self.x)
        with self.assertRaisesRegex(whet.UsageError, 'did you mean "data"'):
            self.exe(dta=self.x)
        with self.assertRaisesRegex(whet.UsageError, "data is given twice"):
            self.exe(self.x, data=self.x)
        with self.assertRaisesRegex(whet.UsageError, "output softmax"):
            self.exe(self.x, out=np.empty((1, 10), np.float64))
        read_only = np.empty((1, 10), np.float32)
        read_only.flags.writeable = False
        with self.assertRaisesRegex(whet.UsageError, "cannot be written"):
            self.exe(self.x, out=read_only)

    def test_refuses_none_at_the_first_call_and_later(self):
        for exe in (whet.open(self.path), self.exe):
            for call in (lambda: exe(None), lambda: exe(data=None), lambda: exe.benchmark(None, seconds=0)):
                with self.assertRaisesRegex(whet.UsageError, r"data: None was given; the model takes float32\[1, 784\]"):
                    call()
            exe(self.x)

    def test_looks_at_arrays_anew_at_each_call(self):
        def reshaped(x):
            x.shape = (784, 1)

        def retyped(x):
            x.dtype = np.int32

        def resized(x):
            x.resize((1, 10), refcheck=False)

        def swapped(x):
            x.dtype = ">f4"

        for change in (reshaped, retyped, resized, swapped):
            with self.subTest(change=change.__name__):
                exe = whet.open(self.path)
                x, out = self.x.copy(), np.empty((1, 10), np.float32)
                exe(x, out=out)
                change(x)
                with self.assertRaisesRegex(whet.UsageError, r"input data: .* was given"):
                    exe(x, out=out)
                with self.assertRaisesRegex(whet.UsageError, r"output softmax\w*: "):
                    x = self.x.copy()
                    exe(x, out=out)
                    out.resize((5, 3), refcheck=False)
                    exe(x, out=out)
                np.testing.assert_array_equal(exe(self.x), self.exe(self.x))

    def test_reads_memory_that_moved_in_place(self):
        x = self.x.copy()
        self.exe(x)
        x.resize((1 << 16, 784), refcheck=False)
        x.resize((1, 784), refcheck=False)
        x[:] = self.x
        np.testing.assert_array_equal(self.exe(x), self.exe(self.x.copy()))

    def test_writes_to_memory_of_its_own(self):
        both = np.zeros(784 + 10, np.float32)
        x, over = both[:784].reshape(1, 784), both[780:790].reshape(1, 10)
        for _ in range(2):
            with self.assertRaisesRegex(whet.UsageError, "overlaps the memory of input data"):
                self.exe(x, out=over)
        self.exe(x, out=both[784:].reshape(1, 10))
        read_only = np.empty((1, 10), np.float32)
        self.exe(self.x, out=read_only)

    def test_takes_numbers_that_its_types_hold(self):
        tensor = whet.Tensor("n", (2,), "int32")
        convert = whet.compiled._array
        self.assertEqual(convert([1, 2], tensor).tolist(), [1, 2])
        self.assertEqual(convert((1.0, 2.0), tensor).dtype, np.int32)
        for value in ([1.5, 2], [1 << 40, 0], [1j, 0], [None, None], ["1", "2"], [[1], [2, 3]], {}):
            with self.assertRaisesRegex(whet.UsageError, r"input n: \w+ is no array|was given"):
                convert(value, tensor)
        masked = np.ma.masked_array(np.zeros(2, np.int32), mask=[True, False])
        with self.assertRaisesRegex(whet.UsageError, "elements of the array are masked"):
            convert(masked, tensor)
        for other in (np.zeros(2, object), np.zeros(2, ">i4"), np.zeros((2, 1), np.int32), np.zeros(0, np.int32),
                      np.array(1, np.int32)):
            with self.assertRaisesRegex(whet.UsageError, r"input n: .* was given; the model takes int32\[2\]"):
                convert(other, tensor)

    def test_takes_any_strides_and_alignments(self):
        wanted = self.exe(self.x)
        backwards = self.x[:, ::-1].copy()[:, ::-1]
        bytes_ = b"x" + self.x.tobytes()
        unaligned = np.frombuffer(bytes_, np.float32, offset=1).reshape(1, 784)
        for x in (backwards, unaligned, np.asfortranarray(self.x)):
            np.testing.assert_array_equal(self.exe(x), wanted)
        np.testing.assert_array_equal(self.exe(np.broadcast_to(np.float32(0.5), (1, 784))),
                                      self.exe(np.full((1, 784), 0.5, np.float32)))

    def test_keeps_what_a_session_reads(self):
        x = self.x.copy()
        wanted = self.exe(x)
        session = self.exe.session()
        session(np.frombuffer(bytearray(x.tobytes()), np.float32).reshape(1, 784))
        np.testing.assert_array_equal(session(x), wanted)

    def test_refuses_threads_and_cores_that_there_are_not(self):
        for options, sentence in [({"threads": 1 << 40}, "threads is 1099511627776; expected 0 to 1024"),
                                  ({"threads": -1}, "threads is -1"), ({"threads": 1.5}, "threads is 1.5"),
                                  ({"threads": "2"}, "threads is '2'"), ({"cores": [1 << 32]}, "core is 4294967296"),
                                  ({"cores": [-1]}, "core is -1"),
                                  ({"threads": 2, "cores": [0]}, "2 threads and 1 cores were given")]:
            with self.assertRaisesRegex(whet.UsageError, sentence):
                self.exe.session(**options)
        with self.assertRaisesRegex(whet.UsageError, "runs is 0"):
            self.exe.profile(self.x, runs=0)

    def test_a_child_takes_the_turn_of_a_thread_that_it_does_not_have(self):
        with self.exe._session()._lock:
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                os._exit(0 if self.exe._session()._lock.acquire(timeout=10) else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_refuses_what_is_no_array(self):
        class OfAGpu:
            def __dlpack__(self, **options):
                raise BufferError("memory of a GPU")

            def __dlpack_device__(self):
                return (2, 0)

        for value, sentence in [("abc", "input data: str is no array"), ([[1.0, 2.0], [3.0]], "input data: list is no array"),
                                (OfAGpu(), "input data: OfAGpu is no array .*")]:
            with self.assertRaisesRegex(whet.UsageError, sentence):
                self.exe(value)

    def test_refuses_other_files(self):
        Path("text.so").write_text("no model")
        Path("cut.so").write_bytes(Path(self.path).read_bytes()[:-100])
        whole = Path(self.path).read_bytes()
        Path("twice.so").write_bytes(whole[1000:])
        os.mkfifo("pipe.so")
        for path, sentence in [("nowhere.so", "No such file"), ("text.so", "no compiled model"), ("cut.so", "no compiled model"),
                               ("pipe.so", "is no file"), (".", "is no file"),
                               ("twice.so", "cut short")]:
            with self.assertRaisesRegex(whet.Error, sentence):
                whet.open(path)

    def test_runs_in_several_threads(self):
        wanted = self.exe(self.x)
        answers = {}

        def work(number):
            session = self.exe.session(threads=1, pin=False)
            answers[number] = [session(self.x) for _ in range(50)]

        threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for results in answers.values():
            for result in results:
                np.testing.assert_allclose(result, wanted, rtol=1e-5)

    def test_measures(self):
        found = self.exe.benchmark(self.x, seconds=0.05)
        self.assertGreaterEqual(found.runs, 3)
        self.assertLessEqual(found.min_ms, found.median_ms)
        self.assertLessEqual(found.median_ms, found.p99_ms)
        steps = self.exe.profile(self.x, runs=3)
        self.assertEqual(len(steps), 4)
        self.assertTrue(all(step.ms >= step.min_ms for step in steps))

    def test_measures_with_inputs_that_it_makes_up(self):
        self.assertGreaterEqual(self.exe.benchmark(seconds=0.01).runs, 3)
        self.assertEqual(len(self.exe.profile(runs=2)), len(self.exe.profile(self.x, runs=2)))


class Records(InAFolder):
    FILE = ROOT / "tests/golden/records.jsonl"

    def test_iterates(self):
        records = whet.Records(self.FILE)
        self.assertEqual(len(list(records)), len(records))
        self.assertTrue(all(record.ok == (record.seconds < float("inf")) for record in records))

    def test_knows_the_best_and_the_failures(self):
        records = whet.Records(self.FILE)
        best = records.best()
        self.assertTrue(best and all(record.ok for record in best))
        self.assertEqual(sum(each.count for each in records.failures()), sum(not record.ok for record in records))

    def test_leaves_garbage_out(self):
        lines = self.FILE.read_text().splitlines()
        Path("r.jsonl").write_text("\n".join([lines[0], "{", "[]", "null", '{"outcome": 0}', '{"outcome":0,"target":"","task":3}',
                                              lines[1], '{"plan":{}}', lines[2][:50]]))
        self.assertEqual(len(whet.Records("r.jsonl")), 2)

    def test_ranks_as_the_program_does(self):
        line = '{"v":1,"task":{"key":"k","name":"n"},"target":"t","outcome":0,"seconds":[%s],"pace":%s%s}'
        Path("r.jsonl").write_text("\n".join([line % (4, 2, ""), line % (3, 1, ',"ranks_as":1'), line % (1, 0, "")]))
        self.assertEqual([(record.seconds, record.ranks_by) for record in whet.Records("r.jsonl")], [(2, 2), (3, 1)])

    def test_refuses_no_file(self):
        with self.assertRaisesRegex(whet.Error, "no such record file"):
            whet.Records("nowhere.jsonl")
        os.mkfifo("pipe")
        for path in ["pipe", "."]:
            with self.assertRaisesRegex(whet.Error, "is no file"):
                whet.Records(path)

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is not installed")
    def test_is_a_frame(self):
        frame = whet.Records(self.FILE).frame()
        self.assertIn("seconds", frame.columns)


class Tuning(InAFolder):
    def test_report_of_records(self):
        model = whet.load(ROOT / "tests/models/blazeface_front.onnx")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", whet.Note)
            page = model.report("page.html", ROOT / "tests/golden/records.jsonl", target="cpu -mcpu=haswell -threads=1",
                                no_run=True)
        self.assertIn("<h1>blazeface_front.onnx</h1>", page.read_text())

    def test_wrong_use_is_a_value_error(self):
        with self.assertRaisesRegex(ValueError, "trials"):
            whet.load("zoo:mlp").tune(trials=-3)

    def test_tunes_with_progress(self):
        seen = []
        tuned = whet.load("zoo:mlp").tune(trials=16, on_progress=seen.append)
        self.assertEqual(tuned.trials, 16)
        self.assertEqual(seen[-1].part, 1)
        self.assertGreater(tuned.gain, 0)
        exe = whet.load("zoo:mlp").compile("m.so", records="mlp.jsonl")
        self.assertRegex(exe.kernels_from, "of 4 tasks from records")

    def test_false_ends_the_run(self):
        tuned = whet.load("zoo:mlp").tune(trials=4000, round=8, on_progress=lambda progress: False)
        self.assertTrue(tuned.interrupted)
        self.assertLess(tuned.trials, 4000)

    def test_an_exception_in_the_callback_ends_the_run(self):
        class Own(Exception):
            pass

        def fail(progress):
            raise Own

        with self.assertRaises(Own):
            whet.load("zoo:mlp").tune(trials=100000, on_progress=fail)
        self.assertGreater(len(whet.Records("mlp.jsonl")), 0)

    def test_interrupts_keep_the_records(self):
        code = textwrap.dedent("""
            import whet
            try:
                whet.load("zoo:mlp").tune(trials=100000, on_progress=lambda progress: print("round", flush=True))
            except KeyboardInterrupt:
                print("interrupted", flush=True)
            """)
        env = dict(os.environ, PYTHONPATH=str(ROOT / "python"))
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=env) as process:
            self.assertEqual(process.stdout.readline(), "round\n")
            process.send_signal(signal.SIGINT)
            self.assertTrue(process.stdout.read().endswith("interrupted\n"))
        self.assertGreater(len(whet.Records("mlp.jsonl")), 0)

    def test_a_killed_program_is_an_error_and_loses_nothing(self):
        def kill(progress):
            os.kill(kill.process, signal.SIGKILL)

        start = program.start

        def remembered(*arguments, **options):
            process = start(*arguments, **options)
            kill.process = process.pid
            return process

        model = whet.load("zoo:mlp")
        program.start = remembered
        try:
            with self.assertRaisesRegex(whet.Error, "SIGKILL"):
                model.tune(trials=100000, on_progress=kill)
        finally:
            program.start = start
        self.assertGreater(len(whet.Records("mlp.jsonl")), 0)


class OwnStrategies(InAFolder):
    def test_sample_and_measure(self):
        with whet.load("zoo:mlp").lab("own.jsonl") as lab:
            task = lab.tasks[1]
            self.assertTrue(task.space())
            first, second = task.sample(2, seed=5), task.sample(2, seed=5)
            self.assertEqual(first, second)
            self.assertTrue(task.neighbours(first[0]))
            measured = task.measure(task.seeds()[:1] + first)
            self.assertTrue(all(outcome.ok == (outcome.ms is not None) for _, outcome in measured))
            self.assertEqual(len(whet.Records("own.jsonl")), sum(outcome.recorded for _, outcome in measured))
            self.assertIsNotNone(task.best())

    def test_own_templates(self):
        with whet.load("zoo:mlp").lab("own.jsonl") as lab:
            task = lab.tasks[1]
            steps = task.steps(task.seeds()[:1])[0]
            template = whet.Template({"n": [1, 2]}, lambda choice: steps if choice["n"] == 1 else "split l99 2 overlap")
            outcomes = [outcome for _, outcome in task.measure(template.all())]
            self.assertTrue(outcomes[0].ok)
            self.assertFalse(outcomes[1].ok)

    def test_own_tasks(self):
        dag = """a = PLACEHOLDER [16, 64]
b = PLACEHOLDER [64, 32] const
c(i, j) += (a[i, k]*b[k, j]) for i in 16, j in 32, k in 64  # matmul i:row j:out_channel k:in_channel
return c
"""
        with whet.open_lab("own.jsonl") as lab:
            self.assertEqual(lab.tasks, [])
            task = lab.define(dag, "product")
            self.assertIs(lab.define(dag), task)
            self.assertEqual((task.id, task.name, task.flops), (0, "product", 2 * 16 * 32 * 64))
            template = whet.Template({"j": [8, 16]}, lambda choice: f"split l1 {choice['j']} overlap; reorder l2 l4; vectorize l4")
            measured = task.measure(template.sample(1, seed=3) + template.all())
            self.assertTrue(all(outcome.ok for _, outcome in measured), [outcome.message for _, outcome in measured])
            self.assertEqual({each.task for each in whet.Records("own.jsonl")}, {"product"})
            with self.assertRaisesRegex(whet.Error, "dag"):
                lab.define("c(i) = ")

    def test_threads_share_a_lab(self):
        with whet.load("zoo:mlp").lab("own.jsonl") as lab:
            alone = [lab.tasks[i % 4].sample(3, seed=i) for i in range(12)]
            answers = {}

            def ask(number):
                for _ in range(5):
                    answers[number] = lab.tasks[number % 4].sample(3, seed=number)

            threads = [threading.Thread(target=ask, args=(i,), daemon=True) for i in range(12)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
            self.assertFalse([thread for thread in threads if thread.is_alive()])
            self.assertEqual([answers.get(i) for i in range(12)], alone)

    def test_a_lab_that_ended_says_so(self):
        with whet.load("zoo:mlp").lab("own.jsonl") as lab:
            task = lab.tasks[1]
        for ask in (task.space, task.seeds, task.best, lambda: lab.define("x"), lambda: lab.ask({"do": "tasks"})):
            with self.assertRaisesRegex(whet.Error, "the lab has ended"):
                ask()
        lab.close()

    def test_a_killed_lab_says_so_every_time(self):
        with whet.load("zoo:mlp").lab("own.jsonl") as lab:
            lab._process.kill()
            for _ in range(3):
                with self.assertRaisesRegex(whet.Error, "SIGKILL|the lab has ended"):
                    lab.tasks[0].seeds()

    def test_an_answer_that_nobody_waited_for_is_no_other_answer(self):
        def stop(number, frame):
            raise InterruptedError("enough")

        before = signal.signal(signal.SIGALRM, stop)
        try:
            with whet.load("zoo:mlp").lab("own.jsonl") as lab:
                signal.setitimer(signal.ITIMER_REAL, 0.02)
                with self.assertRaises((InterruptedError, whet.Error)):
                    for _ in range(100):
                        lab.tasks[1].measure(lab.tasks[1].sample(8))
                with self.assertRaisesRegex(whet.Error, "the lab has ended"):
                    lab.tasks[0].seeds()
        finally:
            signal.signal(signal.SIGALRM, before)

    def test_a_lab_belongs_to_its_process(self):
        with whet.load("zoo:mlp").lab("own.jsonl") as lab:
            child = os.fork()
            if child == 0:
                try:
                    lab.tasks[0].seeds()
                except whet.Error as error:
                    lab.close()
                    os._exit(0 if "another one after fork" in str(error) else 2)
                os._exit(1)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            self.assertTrue(lab.tasks[0].seeds())

    def test_requests_hold_integers_of_numpy(self):
        with whet.load("zoo:mlp").lab("own.jsonl") as lab:
            task = lab.tasks[1]
            self.assertEqual(task.sample(np.int64(2), seed=np.int32(5)), task.sample(2, seed=5))
            with self.assertRaisesRegex(whet.UsageError, "what JSON does not"):
                task.sample(count=object())

    def test_mistakes_are_sentences(self):
        with whet.load("zoo:mlp").lab("own.jsonl") as lab:
            with self.assertRaises(whet.Error):
                lab.ask({"do": "nothing"})
            with self.assertRaises(whet.Error):
                lab.tasks[0].measure([whet.Candidate("nowhere", {"oc": [1]})])
        with self.assertRaises(whet.Error):
            whet.load("zoo:mlp").lab("nowhere/own.jsonl")


class Torch(InAFolder):
    """`from_torch` with a module in torch's place that has its functions and saves files which torch wrote."""

    there = np.load(ROOT / "tests/models/torch/acts.npz")

    class Module:
        def forward(self, input):  # as the file calls it
            raise AssertionError("whet calls no module")

    def with_torch(self, **parts):
        stand_in = types.ModuleType("torch")
        stand_in.__dict__.update(parts)
        return unittest.mock.patch.dict(sys.modules, {"torch": stand_in})

    @staticmethod
    def saved(name, seen):
        def save(program, path):
            seen.append(program)
            shutil.copy(ROOT / "tests/models/torch" / name, path)
        return save

    def test_exports(self):
        seen = []
        export = types.SimpleNamespace(export=lambda module, args, **more: (module, args, more),
                                       save=self.saved("acts.pt2", seen))
        module, x = self.Module(), self.there["in0"]
        with self.with_torch(export=export):
            model = whet.from_torch(module, (x,), dynamic={"x": None})
        self.assertEqual(seen, [(module, (x,), {"dynamic_shapes": {"x": None}})])
        exe = model.compile("acts.so")
        np.testing.assert_allclose(exe(x), self.there["out0"], atol=1e-5)

    def test_traces_where_torch_cannot_export(self):
        seen = []
        jit = types.SimpleNamespace(trace=lambda module, args: (module, args), save=self.saved("acts.pt", seen))
        x = self.there["in0"]
        with self.with_torch(jit=jit):
            model = whet.from_torch(self.Module(), (x,))
        self.assertEqual(len(seen), 1)
        self.assertGreater(len(model.tasks()), 0)


class Notebook(unittest.TestCase):
    """The bar of a run, in a notebook's place."""

    def test_bar_is_drawn_once_and_changed(self):
        shown = []

        class HTML:
            def __init__(self, data):
                self.data = data

        class Handle:
            def update(self, page):
                shown.append(("update", page.data))

        def display(page, display_id):
            self.assertTrue(display_id)
            shown.append(("display", page.data))
            return Handle()

        ipython, pages = types.ModuleType("IPython"), types.ModuleType("IPython.display")
        pages.HTML, pages.display = HTML, display
        stand_ins = {"ipykernel": types.ModuleType("ipykernel"), "IPython": ipython, "IPython.display": pages}
        with unittest.mock.patch.dict(sys.modules, stand_ins):
            bar = whet.tuning.Bar()
            event = {"compared": {"tasks": 1, "of_tasks": 2, "default_ms": 2.0, "best_ms": 1.0}}
            for trials in (8, 16):
                bar.show(whet.Progress(1.0, trials, None, 16, 2.0, 3.0, event))
            bar.end()
        self.assertEqual([kind for kind, _ in shown], ["display", "update"])
        self.assertIn("value=0.500", shown[0][1])
        self.assertIn("16 trials", shown[1][1])
        self.assertIn("(2.00x)", shown[1][1])


class Types(unittest.TestCase):
    @unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not installed")
    def test_are_strict(self):
        with tempfile.TemporaryDirectory() as cache:
            found = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, "whet"], cwd=ROOT / "python",
                                   capture_output=True, text=True, check=False)
        self.assertEqual(found.returncode, 0, found.stdout)


class Docstrings(InAFolder):
    """Their examples give the results that they show, in the order of the modules, with numpy and whet at hand."""

    def test_run(self):
        tried = 0
        for module in (whet.errors, whet.model, whet.compiled, whet.records, whet.lab, whet.tuning):
            with self.subTest(module=module.__name__):
                found = doctest.testmod(module, extraglobs={"np": np, "whet": whet}, optionflags=doctest.ELLIPSIS)
                self.assertEqual(found.failed, 0)
                tried += found.attempted
        self.assertGreater(tried, 15)


class Document(InAFolder):
    """Every snippet of docs/python.md runs, in order, in one process."""

    def test_runs(self):
        text = (ROOT / "docs/python.md").read_text()
        snippets = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        self.assertGreater(len(snippets), 3)
        names = {}
        for number, snippet in enumerate(snippets):
            needs = re.match(r"# needs (.*)\n", snippet)
            if needs and importlib.util.find_spec(needs[1]) is None:
                continue
            with self.subTest(snippet=number), warnings.catch_warnings():
                warnings.simplefilter("ignore", whet.Note)
                exec(compile(snippet, f"docs/python.md, snippet {number + 1}", "exec"), names)


class Installing(InAFolder):
    def test_by_pip_without_a_network(self):
        python = os.path.join("venv", "bin", "python")
        made = subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", "venv"], capture_output=True, text=True,
                              check=False)
        if made.returncode != 0:
            self.skipTest("python3-venv is not installed")
        subprocess.run([python, "-m", "pip", "install", "--no-index", "-q", "--no-build-isolation", str(ROOT / "python")], check=True)
        env = dict({name: value for name, value in os.environ.items() if name != "PYTHONPATH"}, WHET=program.path())
        shown = subprocess.run([python, "-c", "import whet; print(whet.__file__, len(whet.load('zoo:mlp').tasks()))"], env=env,
                               capture_output=True, text=True, check=True).stdout
        self.assertIn("site-packages", shown)
        self.assertTrue(shown.endswith(" 4\n"))


if __name__ == "__main__":
    unittest.main()
