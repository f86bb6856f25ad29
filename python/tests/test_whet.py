"""Tests of the package over the program that $WHET names (the build's), with nothing but numpy.

Run by `python3 -m unittest discover python/tests`; what needs more than is installed is skipped with a line."""
import dataclasses
import doctest
import gc
import importlib.util
import inspect
import json
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
import typing
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


class OwnOperators(InAFolder):
    """whet.op, whose text the program reads."""

    @staticmethod
    def product(rows=6, depth=5, columns=7):
        op = whet.op
        a, b, c = op.input("a", rows, depth), op.input("b", depth, columns), op.input("c", rows, columns)
        i, j, k = op.axis("i", rows), op.axis("j", columns), op.axis("k", depth)
        product = op.compute("product", (i, j), op.sum(a[i, k] * b[k, j], over=k))
        return op.compute("out", (i, j), product[i, j] + c[i, j])

    @staticmethod
    def answer(tensor, *inputs):
        return whet.load(tensor).compile()(*inputs)

    def test_are_models(self):
        rng = np.random.default_rng(1)
        a, b, c = (rng.random(shape, dtype=np.float32) for shape in ((6, 5), (5, 7), (6, 7)))
        np.testing.assert_allclose(self.answer(self.product(), a, b, c), a @ b + c, rtol=1e-5)

    def test_have_the_roles_of_a_product(self):
        self.assertIn("# matmul i:row j:out_channel k:in_channel", whet.load(self.product()).tasks()[0].dag.replace("i0", "i").replace("i1", "j"))

    def test_compute_what_numpy_computes(self):
        op, rng = whet.op, np.random.default_rng(2)
        x = rng.standard_normal((4, 9)).astype(np.float32)
        t, i, j, k = op.input("x", 4, 9), op.axis("i", 4), op.axis("j", 9), op.axis("k", 9)

        def maps(value):
            return op.compute("y", (i, j), value)

        for tensor, want in [
            (maps(2 * t[i, j] - 1), 2 * x - 1),
            (maps(1 - t[i, j] / 4), 1 - x / 4),
            (maps(-t[i, j]), -x),
            (maps(op.maximum(t[i, j], 0)), np.maximum(x, 0)),
            (maps(op.where((j % 2 == 0) & ~(j == 4), t[i, j], 0)), np.where((np.arange(9) % 2 == 0) & (np.arange(9) != 4), x, 0)),
            (maps(op.where(j > 0, t[i, j - 1], 5.5)), np.concatenate([np.full((4, 1), 5.5), x[:, :-1]], axis=1)),
            (maps(t[i, 8 - j]), x[:, ::-1]),
            (maps(t[i, op.minimum(j // 2, 3)]), x[:, np.minimum(np.arange(9) // 2, 3)]),
            (maps(op.exp(op.minimum(t[i, j], 0.0)) + op.absolute(t[i, j])), np.exp(np.minimum(x, 0)) + np.abs(x)),
            (op.compute("most", i, op.max(t[i, k], over=k)), x.max(axis=1)),
            (op.compute("all", (), op.sum(t[i, k], over=(i, k))), x.sum()),
        ]:
            with self.subTest(str(op.define(tensor))):
                np.testing.assert_allclose(self.answer(tensor, x), want, rtol=1e-5, atol=1e-6)

    def test_read_rows_that_an_input_names(self):
        op = whet.op
        table, rows = op.input("table", 5, 3), op.input("rows", 4, dtype="i32", below=5)
        i, j = op.axis("i", 4), op.axis("j", 3)
        x, which = np.arange(15, dtype=np.float32).reshape(5, 3), np.array([4, 0, 2, 2], dtype=np.int32)
        np.testing.assert_array_equal(self.answer(op.compute("taken", (i, j), table[rows[i], j]), x, which), x[which])

    def test_of_bfloat16_take_floats_or_bits_and_give_floats(self):
        op = whet.op
        x, i = op.input("x", 4, dtype="bf16"), op.axis("i", 4)
        exe = whet.load(op.compute("y", i, x[i] + 1)).compile()
        self.assertEqual([exe.inputs[0].dtype, exe.outputs[0].type], ["bfloat16", "bfloat16[4]"])
        given = np.array([0.5, 1 / 3, -257, np.nan], np.float32)
        expected = np.array([1.5, 1.3359375, -255, np.nan], np.float32)  # of 0.333984375 and -256
        bits = np.array([0x3f00, 0x3eab, 0xc380, 0x7fc0], np.uint16)
        for value in (given, given.astype(np.float64), bits, bits.view("V2"), given.tolist()):
            answer = exe(value)
            self.assertEqual(answer.dtype, np.float32)
            np.testing.assert_array_equal(answer, expected)
        out = np.empty(4, np.uint16)
        exe(given, out=out)
        np.testing.assert_array_equal(out[:3], [0x3fc0, 0x3fab, 0xc37f])
        with self.assertRaisesRegex(whet.UsageError, r"float32\[3\] was given; the model takes bfloat16\[4\]"):
            exe(given[:3])
        self.assertGreater(exe.benchmark(seconds=0.01).median_ms, 0)
    def test_are_measured_with_ones_own_rows(self):
        op = whet.op
        table, rows = op.input("table", 64, 8), op.input("rows", 32, dtype="i32", below=64)
        i, j = op.axis("i", 32), op.axis("j", 8)
        taken = op.compute("taken", (i, j), table[rows[i], j])
        np.save("rows.npy", np.arange(32, dtype=np.int32) * 2)
        whet.load(taken, input="rows=rows.npy").tune(trials=4, records="rows.jsonl", progress=False)
        lines = [json.loads(line) for line in Path("rows.jsonl").read_text().splitlines()]
        hashes = {line["task"].get("inputs") for line in lines if "task" in line}
        self.assertEqual(len(hashes), 1)
        self.assertRegex(hashes.pop(), "^[0-9a-f]{16}$")
        model = whet.load(taken)
        with self.assertWarnsRegex(whet.Note, "records of other inputs"):
            model.compile(records="rows.jsonl")
        with warnings.catch_warnings():
            warnings.simplefilter("error", whet.Note)
            whet.load(taken, input="rows=rows.npy").compile(records="rows.jsonl")
            model.compile(records="rows.jsonl", any_inputs=True)

    def test_are_nodes_of_a_network(self):
        nodes = [{"op": "null", "name": "data", "attrs": {"__shape__": "(2, 3)"}, "inputs": []},
                 {"op": "Scale", "name": "a", "attrs": {"alpha": "3"}, "inputs": [[0, 0, 0]]},
                 {"op": "Shift", "name": "b", "inputs": [[1, 0, 0]]}]
        Path("net-symbol.json").write_text(json.dumps({"nodes": nodes, "arg_nodes": [0], "heads": [[2, 0, 0]]}))
        x = whet.op.input("x")
        scale = "x = PLACEHOLDER []\ny() = (x[]*{alpha}f)\nreturn y\n"
        data = np.arange(6, dtype=np.float32).reshape(2, 3)
        shift = whet.op.compute("shift", (), x[()] + 1)
        model = whet.load("net-symbol.json", define={"Scale": scale, "Shift": shift})
        np.testing.assert_allclose(model.compile()(data), data * 3 + 1)
        Path("scale.dag").write_text(scale)
        self.assertEqual(whet.load("net-symbol.json", define={"Scale": Path("scale.dag"), "Shift": shift}).tasks()[0].key, model.tasks()[0].key)
        with self.assertRaisesRegex(whet.Error, "--define Scale=FILE.dag defines it"):
            whet.load("net-symbol.json", define={"Shift": shift})

    def test_have_constants_whose_values_are_given(self):
        op, rng = whet.op, np.random.default_rng(3)
        x, w = rng.random((2, 3), dtype=np.float32), rng.random((3, 4), dtype=np.float32)
        np.save("w.npy", w)
        a, b = op.input("a", 2, 3), op.input("w", 3, 4, const=True)
        i, j, k = op.axis("i", 2), op.axis("j", 4), op.axis("k", 3)
        model = whet.load(op.compute("y", (i, j), op.sum(a[i, k] * b[k, j], over=k)), input="w=w.npy")
        np.testing.assert_allclose(model.compile()(x), x @ w, rtol=1e-5)

    def test_have_several_outputs(self):
        op = whet.op
        x, i, k = op.input("x", 3, 4), op.axis("i", 3), op.axis("k", 4)
        both = op.define(op.compute("total", i, op.sum(x[i, k], over=k)), op.compute("most", i, op.max(x[i, k], over=k)))
        total, most = whet.load(both).compile()(np.arange(12, dtype=np.float32).reshape(3, 4))
        np.testing.assert_array_equal(total, [6, 22, 38])
        np.testing.assert_array_equal(most, [3, 7, 11])

    def test_have_sizes_by_name(self):
        op, rng = whet.op, np.random.default_rng(4)

        def multiply(n):
            j, k, i = op.axis("j", 3), op.axis("k", 5), op.axis("i", n)
            x, w = op.input("x", n, 5), op.input("w", 5, 3)
            return op.compute("y", (i, j), op.sum(x[i, k] * w[k, j], over=k))

        product, bounded, i = multiply(op.size("n")), multiply(op.size("n", 1, 16, at=9)), op.axis("i", 3)
        a, b = rng.random((16, 5), dtype=np.float32), rng.random((5, 3), dtype=np.float32)
        exe = whet.load(product, shapes={"x": (9, 5)}).compile()
        np.testing.assert_allclose(exe(a[:9], b), a[:9] @ b, rtol=1e-5)
        np.testing.assert_allclose(whet.load(bounded, shapes={"x": (3, 5)}).compile()(a[:3], b), a[:3] @ b, rtol=1e-5)
        exe = whet.load(bounded).compile(sizes={"n": (1, 16)})
        for rows in (1, 7, 16):
            np.testing.assert_allclose(exe(a[:rows], b), a[:rows] @ b, rtol=1e-5)
        with self.assertRaisesRegex(whet.Error, "no value for size n; give --shape x=nx5"):
            whet.load(product).compile()
        for wrong in (lambda: op.size("a b"), lambda: op.axis("i", i), lambda: op.input("x", i + 1)):
            with self.assertRaises(whet.UsageError):
                wrong()

    def test_may_have_any_names(self):
        op = whet.op
        x, i = op.input("for", 3), op.axis("a b", 3)
        np.testing.assert_array_equal(self.answer(op.compute('in"', i, x[i] + 1), np.zeros(3, dtype=np.float32)), np.ones(3))

    def test_are_refused_with_what_is_wrong(self):
        op = whet.op
        x, i, j = op.input("x", 3, 4), op.axis("i", 3), op.axis("j", 4)
        for wrong, sentence in [
            (lambda: x[i], "x has 2 dimensions and is read at 1"),
            (lambda: x[i, x[i, j]], "an index is an integer"),
            (lambda: x[i, j] + i, "whet.op.cast gives them one type"),
            (lambda: i / 2, "/ is for floats"),
            (lambda: bool(i < 2), "whet.op.where chooses"),
            (lambda: op.exp(i), "exp is of floats"),
            (lambda: op.input("x", 3, dtype="f8"), "expected one of f32"),
            (lambda: op.define(), "an operator has an output"),
            (lambda: str(op.define(op.compute("x", i, x[i, 0]))), "two tensors are called 'x'"),
        ]:
            with self.assertRaisesRegex(whet.UsageError, re.escape(sentence)):
                wrong()
        with self.assertRaisesRegex(whet.Error, r"y reads x at \(j \+ 1\) in dimension 1.*0 \.\. 3"):
            whet.load(op.compute("y", (i, j), x[i, j + 1]))

    def test_are_deleted_with_the_model(self):
        model = whet.load(self.product())
        file = Path(model.path)
        self.assertTrue(file.exists())
        del model
        gc.collect()
        self.assertFalse(file.exists())


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

    def test_leaves_sizes_open_for_tune_and_compile(self):
        subprocess.run([sys.executable, ROOT / "examples/sizes/models.py", "."], check=True)
        model = whet.load("encoder.onnx")
        self.assertEqual(repr(model), "Model(encoder.onnx: its sizes are open)")
        model.tune(sizes={"n": (2, 16)}, tuning_sizes=[4], trials=4, no_network=True, progress=False)
        exe = model.compile(sizes={"n": (2, 16)}, records=model.default_records())
        self.assertEqual([exe(np.zeros((1, n), np.int64)).shape for n in (2, 16)], [(1, 64)] * 2)
        for call in (model.tasks, model.compile):
            with self.assertRaisesRegex(whet.Error, "its dimensions are not fixed"):
                call()

    def test_takes_a_shape_without_a_name_for_the_only_input(self):
        wanted = whet.load(ROOT / "tests/models/ppocr_cls.onnx", shapes={"x": (1, 3, 48, 192)}).tasks()
        for shapes in ((1, 3, 48, 192), [np.int64(1), 3, 48, 192], "1x3x48x192", "x=1x3x48x192", {"x": "1x3x48x192"}):
            with self.subTest(shapes=shapes):
                self.assertEqual(whet.load(ROOT / "tests/models/ppocr_cls.onnx", shapes=shapes).tasks(), wanted)
        two = ROOT / "tests/models/torch/index.pt2"
        for path, shapes, sentence in [
                (two, (1, 3), 'inputs are "a_0", "a_1"; expected whose it is, like shapes={\'a_0\': \'1x3\'}'),
                (ROOT / "tests/models/ppocr_cls.onnx", (1, 3), 'input "x" is given as 1x3; the model says'),
                (ROOT / "tests/models/ppocr_cls.onnx", (None, 3), "expected an input's name and positive extents"),
                ("nowhere.onnx", "1x3", 'cannot read "nowhere.onnx"'), ("zoo:mlp", (1, 3), "--shape is for model files")]:
            with self.subTest(path=path), self.assertRaisesRegex(whet.Error, re.escape(sentence)):
                whet.load(path, shapes=shapes)

    def test_takes_paths(self):
        shutil.copy(ROOT / "tests/models/ppocr_cls.onnx", "m.onnx")
        model = whet.load(Path("m.onnx"), shapes="1x3x48x192")
        self.assertEqual((model.path, model.default_records()), ("m.onnx", "m.jsonl"))
        for call in (lambda: whet.load(None), lambda: whet.open(3), lambda: whet.Records(None), lambda: model.report(None),
                     lambda: model.tune(1, records=[])):
            with self.assertRaisesRegex(whet.UsageError, "is no path; expected a string or a pathlib.Path"):
                call()

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

    def test_says_so_where_numpy_is_missing(self):
        code = textwrap.dedent("""
            import sys

            class NoNumpy:
                def find_spec(self, name, path=None, target=None):
                    if name.split(".")[0] == "numpy":
                        raise ModuleNotFoundError("No module named 'numpy'", name="numpy")

            sys.meta_path.insert(0, NoNumpy())
            import whet
            """)
        env = dict(os.environ, PYTHONPATH=str(ROOT / "python"))
        ended = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("\nModuleNotFoundError: whet needs numpy: `pip install numpy`, or", ended.stderr)
        self.assertNotIn("During handling", ended.stderr)

    def test_explains(self):
        self.assertIn("wrong_answer", whet.explain("error", 5))


class Options(InAFolder):
    """The options that an editor knows are the program's."""

    COMMANDS = {"tune": whet.TuneOptions, "compile": whet.CompileOptions, "report": whet.ReportOptions, "repro": whet.ReproOptions,
                "serve": whet.LabOptions}
    ELSEWHERE = {"help", "json", "quiet", "verbose", "events",  # Python has them as values, bars and callbacks
                 "quick", "shape", "sizes", "tuning_sizes", "lengths", "target", "minutes", "seconds", "trials", "device", "records", "output", "model",
                 "origin", "name", "header", "templates", "objective", "weights_only", "like", "samples"}  # parameters of the functions

    @staticmethod
    def of_help(command):
        text = (ROOT / "tests/golden/help.txt").read_text().split(f"$ whet {command} --help\n")[1].split("\n$ whet ")[0]
        return dict(re.findall(r"^  (?:-\w, )?--([\w-]+)(?: (TEXT|WORD|N|NUMBER)\b)?", text, re.MULTILINE))

    def test_are_those_of_the_help(self):
        loading = set(whet.LoadOptions.__annotations__)
        for command, options in self.COMMANDS.items():
            with self.subTest(command=command):
                named = {name.replace("-", "_") for name in self.of_help(command)}
                self.assertEqual((set(options.__annotations__) | loading) - self.ELSEWHERE, named - self.ELSEWHERE)
        self.assertLessEqual(loading, {name.replace("-", "_") for name in self.of_help("tasks")})

    def test_have_the_types_of_the_help(self):
        kinds = {"": bool, "N": int, "NUMBER": float}
        for command, options in [*self.COMMANDS.items(), ("tune", whet.LoadOptions)]:
            for name, kind in self.of_help(command).items():
                known = options.__annotations__.get(name.replace("-", "_"))
                if known is not None:
                    with self.subTest(command=command, name=name):
                        self.assertEqual(known in kinds.values(), kind in kinds)
                        self.assertIs(kinds.get(kind, known), known)

    def test_have_the_words_that_the_program_takes(self):
        script = program.run("completion", "bash")
        for command, options in [*self.COMMANDS.items(), ("tune", whet.LoadOptions)]:
            case = re.search(rf"^    {command}\)\n(.*?)^      ;;", script, re.MULTILINE | re.DOTALL)[1]
            words = {name.replace("-", "_"): tuple(words.split()) for name, words in re.findall(r'--([\w-]+)\) words="(.+)"', case)}
            known = {name: typing.get_args(kind) for name, kind in options.__annotations__.items()
                     if typing.get_origin(kind) is typing.Literal}
            self.assertEqual(known, {name: words.get(name) for name in known})
            self.assertEqual(set(words) & set(options.__annotations__), set(known))

    def test_are_shown(self):
        for function, options, more in [
                (whet.Model.tune, whet.TuneOptions, {"minutes", "seconds", "trials", "records", "target", "devices", "on_progress", "progress",
                                                     "templates", "rules", "only_templates", "sizes", "tuning_sizes", "lengths", "inputs", "samples"}),
                (whet.tune, whet.TuneOptions, {"models", "minutes", "seconds", "trials", "records", "target", "devices", "on_progress",
                                               "progress", "objective"}),
                (whet.Model.compile, whet.CompileOptions, {"output", "records", "target", "quick", "devices", "sizes", "tuning_sizes", "lengths", "inputs"}),
                (whet.Model.archive, whet.CompileOptions, {"output", "name", "header", "records", "target"}),
                (whet.Model.write_weights, whet.CompileOptions, {"output", "like", "records", "target"}),
                (whet.Model.report, whet.ReportOptions, {"output", "records", "target"}),
                (whet.Model.lab, whet.LabOptions, {"records", "target", "sizes", "tuning_sizes", "lengths"}),
                (whet.Model.repro, whet.ReproOptions, {"records", "target", "devices", "seconds", "sizes", "tuning_sizes", "lengths"}),
                (whet.Model.admit, whet.ReproOptions, {"base", "output", "origin", "target", "devices", "seconds"}),
                (whet.load, whet.LoadOptions, {"path", "shapes"}),
                (whet.open_lab, whet.LabOptions, {"records", "target"}),
                (whet.from_torch, whet.LoadOptions, {"module", "args", "dynamic", "shapes"})]:
            shown = set(inspect.signature(function).parameters) - {"self"}
            self.assertEqual(shown, set(options.__annotations__) | more)
        self.assertIn("early_stop: int = None", str(inspect.signature(whet.Model.tune)))

    def test_that_there_are_not_are_refused_with_the_nearest(self):
        model = whet.load("zoo:mlp")
        for call, sentence in [(lambda: model.tune(trials=1, early_stopp=3), 'did you mean "--early-stop"'),
                               (lambda: model.compile("m.so", precisoin="f16"), 'did you mean "--precision"'),
                               (lambda: whet.load("zoo:mlp", sed=3), 'did you mean "--seed"')]:
            with self.assertRaisesRegex(whet.UsageError, sentence):
                call()

    def test_may_be_lists_or_none(self):
        self.assertEqual(program.options({"tasks": [0, 2], "device": ("a", "b"), "round": None, "exact": False, "no_pin": True}),
                         ["--tasks", "0,2", "--device", "a", "--device", "b", "--no-pin"])
        tuned = whet.load("zoo:mlp", seed=1).tune(trials=8, tasks=[2, 3], seed=2, round=4, early_stop=None, no_network=True, progress=False)
        self.assertLessEqual({record.task for record in whet.Records(tuned.records)}, {"dense+add 1x10", "softmax 1x10"})


class Reprs(unittest.TestCase):
    """One line each, however long names, paths and texts are."""

    def test_are_short(self):
        long = "name/of/many/words/" * 30
        task = whet.Task(3, long, long, 2, 1e9, 1e6, 0.25, "a\nb\n" * 1000)
        record = whet.Record(long, long, long, 1.2345e-5, 0, "", "tile", {"oc": [1] * 100}, "split\n" * 100, 3, "now", 1.2e-5)
        failed = dataclasses.replace(record, outcome=5, message="no\n" * 100)
        tuned = whet.Tuned(2.0, 1.0, 64, 12.3, True, long, {"tasks": [1] * 1000})
        values = [task, record, failed, tuned, dataclasses.replace(tuned, untuned_ms=None), whet.Tensor(long, (1, 784), "float32"),
                  whet.Benchmark(812, 0.0123, 0.0121, 0.011, 0.0131, 0.02), whet.compiled.Step(long, long, 0.5, 0.4, None, 1, 1, True)]
        for value in values:
            with self.subTest(value=repr(value)):
                self.assertLess(len(repr(value)), 200)
                self.assertNotIn("\n", repr(value))
        short = whet.shown.short(long)
        self.assertEqual([repr(value) for value in values[:7]], [
            f"Task(3: {short}, 2x, 25% of the operations)", f"Record({short}: 0.01235 ms)",
            f"Record({short}: error 5, {whet.shown.short('no ' * 100)})",
            f"Tuned(2 ms -> 1 ms, 2.00x; 64 trials in 12 s, interrupted; {short})",
            f"Tuned(not measured as a whole; 64 trials in 12 s, interrupted; {short})", f"Tensor({short}: float32[1, 784])",
            "Benchmark(median 0.0121 ms, 90% within 0.0131 ms, least 0.011 ms, 812 runs)"])


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

    def test_takes_inputs_in_a_dict(self):
        wanted = self.exe(self.x)
        out = np.empty_like(wanted)
        np.savez("inputs.npz", data=self.x)
        with np.load("inputs.npz") as inputs:
            for given in ({"data": self.x}, types.MappingProxyType({"data": self.x}), inputs):
                np.testing.assert_array_equal(self.exe(given), wanted)
        self.assertIs(self.exe({"data": self.x}, out=out), out)
        self.assertGreaterEqual(self.exe.benchmark({"data": self.x}, seconds=0).runs, 3)
        self.assertEqual(len(self.exe.profile({"data": self.x}, runs=1)), 4)
        for given, named, sentence in [({}, {}, "0 inputs were given; the model takes data"),
                                       ({"dta": self.x}, {}, 'no input "dta".* did you mean "data"'),
                                       ({0: self.x}, {}, 'no input "0"'), ({"data": None}, {}, "data: None was given"),
                                       ({"data": self.x}, {"data": self.x}, "data is given twice: in the dict and by its name")]:
            with self.assertRaisesRegex(whet.UsageError, sentence):
                self.exe(given, **named)

    def test_takes_names_that_are_no_words(self):
        exe = whet.load(ROOT / "tests/models/blazeface_front.onnx").compile()
        x = np.load(ROOT / "tests/models/blazeface_front.in.npy")
        self.assertEqual(len(exe({"input:0": x})), len(exe(**{"input:0": x})))
        for call in (lambda: exe(image=x), exe, lambda: exe(x, x)):
            with self.assertRaisesRegex(whet.UsageError, re.escape('by name in a dict, as in exe({"input:0": array})')):
                call()

    def test_says_how_several_inputs_are_given(self):
        exe = whet.load(ROOT / "tests/models/torch/index.pt2").compile()
        values = [np.zeros(tensor.shape, tensor.dtype) for tensor in exe.inputs]
        with self.assertRaisesRegex(whet.UsageError, r"a_1 missing; a list is one input: exe\(\*list\) gives its elements"):
            exe(values)
        np.testing.assert_equal(exe(*values), exe(dict(zip(("a_0", "a_1"), values))))
        self.assertRegex(repr(exe), r"index.*, 2 inputs -> ")

    def test_is_one_line(self):
        self.assertRegex(repr(self.exe), r"^Compiled\(.*m\.so: mlp, float32\[1, 784\] -> float32\[1, 10\], for cpu .*\)$")
        self.assertEqual(repr(self.exe.session(threads=1)), "Session(mlp, 1 thread)")
        self.assertEqual(self.exe.session(threads=2, pin=False).threads, 2)

    def test_takes_tensors_by_dlpack(self):
        class Foreign:
            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **options):
                return self.array.__dlpack__(**options)

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

        class Recorded(Foreign):
            """As torch does with what records gradients."""

            def detach(self):
                return Foreign(self.array)

            def __dlpack__(self, **options):
                raise BufferError("Can't export tensors that require gradient, use tensor.detach()")

        for value in (Foreign(self.x), Recorded(self.x)):
            np.testing.assert_array_equal(self.exe(value), self.exe(self.x))

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
                signal.alarm(120)
                os._exit(0 if self.exe._session()._lock.acquire(timeout=60) else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_refuses_what_is_no_array(self):
        class OfAGpu:
            device = "cuda:0"

            def detach(self):
                return self

            def cpu(self):
                raise AssertionError("whet copies nothing behind the caller's back")

            def __dlpack__(self, **options):
                raise BufferError("memory of a GPU")

            def __dlpack_device__(self):
                return (2, 0)

        class OfAnother(OfAGpu):
            device = cpu = property()  # it has none

        for value, sentence in [("abc", "input data: str is no array here: it holds no numbers"),
                                ([[1.0, 2.0], [3.0]], "input data: list is no array here: its rows differ in length"),
                                ([[1.0, 2.0]], r"input data: float32\[1, 2\] was given; the model takes float32\[1, 784\]"),
                                (OfAGpu(), "input data: OfAGpu is no array here: it lies on cuda:0; `.cpu\\(\\)` copies it"),
                                (OfAnother(), "it lies on device 2:0; numpy.asarray copies it")]:
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


class SeveralSizes(InAFolder):
    """One library for several sizes."""

    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.path = os.path.join(cls.kept.name, "sizes.so")
        whet.load("zoo:mlp").compile(cls.path, sizes={"batch": [3, 1, 8]})

    @classmethod
    def tearDownClass(cls):
        cls.kept.cleanup()

    def test_have_the_answers_of_libraries_for_one(self):
        exe = whet.open(self.path)
        self.assertEqual([(size.name, size.input, size.dimension, size.values, size.usual) for size in exe.sizes],
                         [("batch", 0, 0, (1, 3, 8), 1)])
        self.assertEqual(exe.inputs[0].shape, (1, 784))
        rng = np.random.default_rng(0)
        for n in (8, 1, 3, 3, 8):
            x = rng.random((n, 784), np.float32)
            y = exe(x)
            self.assertEqual(y.shape, (n, 10))
            alone = whet.load("zoo:mlp", batch=n).compile()
            np.testing.assert_allclose(y, alone(x), rtol=2e-5, atol=2e-6)

    def test_of_a_range_have_the_answers_of_libraries_for_one(self):
        exe = whet.load("zoo:mlp").compile(sizes={"batch": (1, 9)})
        size, = exe.sizes
        self.assertEqual((size.values, size.min, size.max, size.step, size.usual), ((), 1, 9, 1, 1))
        rng = np.random.default_rng(0)
        for n in (9, 1, 4, 7):
            x = rng.random((n, 784), np.float32)
            np.testing.assert_allclose(exe(x), whet.load("zoo:mlp", batch=n).compile()(x), rtol=2e-5, atol=2e-6)
        with self.assertRaisesRegex(whet.UsageError, "batch is 1..9"):
            exe(np.zeros((10, 784), np.float32))

    def test_of_a_range_are_timed_quickly(self):
        exe = whet.load("zoo:mlp").compile(sizes={"batch": (1, 8)}, tuning_sizes=[2, 8], quick=30, records="quick_range.jsonl", no_base=True)
        with open("quick_range.jsonl", encoding="utf-8") as records:
            self.assertIn('"range":', records.read())
        self.assertEqual(exe(np.zeros((5, 784), np.float32)).shape, (5, 10))

    def test_of_a_range_take_any_shape_in_every_call(self):
        exe = whet.load("zoo:mlp").compile(sizes={"batch": (2, 8, 2)})
        self.assertEqual([(size.min, size.max, size.step) for size in exe.sizes], [(2, 8, 2)])
        first, second = exe.session(), exe.session()
        for n in (8, 2, 6, 4):
            x = np.random.default_rng(n).random((n, 784), np.float32)
            np.testing.assert_array_equal(first(x), exe({"data": x}))
            second(np.zeros((2, 784), np.float32))  # sessions have sizes of their own
            self.assertEqual(first(x).shape, (n, 10))
        with self.assertRaisesRegex(whet.UsageError, "batch is 2..8:2"):
            exe(np.zeros((3, 784), np.float32))

    def test_are_asked_for_by_numbers_tuples_and_lists(self):
        model = whet.load("zoo:mlp")
        for sizes, told in [({"batch": 4}, ((4,), 4, 4, 0)), ({"batch": (1, 4)}, ((), 1, 4, 1)), ({"batch": (1, 7, 3)}, ((), 1, 7, 3)),
                            ({"batch": [4, 2]}, ((2, 4), 2, 4, 0)), ({"batch": range(1, 4)}, ((1, 2, 3), 1, 3, 0)),
                            ({"batch": np.int64(3)}, ((3,), 3, 3, 0)), ({"batch": np.array([1, 5])}, ((1, 5), 1, 5, 0))]:
            with self.subTest(sizes=sizes):
                size, = model.compile(sizes=sizes).sizes
                self.assertEqual((size.values, size.min, size.max, size.step), told)
        for sizes, sentence in [({"batch": (4, 1)}, "batch=4..1"), ({"height": 4}, "height"), ({"batch": []}, "batch={}")]:
            with self.subTest(sizes=sizes), self.assertRaisesRegex(whet.Error, sentence):
                model.compile(sizes=sizes)

    def test_are_tuned_in_a_lab(self):
        with whet.load("zoo:mlp").lab("lab.jsonl", sizes={"batch": (1, 8)}, lengths=np.array([2, 2, 8]), no_base=True) as lab:
            sizes = [each for task in lab.tasks for each in task.sizes]
            self.assertEqual({at["batch"] for at, runs in sizes}, {2, 8})
            for task in lab.tasks:
                task.tune(trials=2, strategy="random")
            events = []
            told = lab.time_ranges(events.append)
            self.assertGreater(told["ladder"]["times"], 0)
            self.assertEqual({each["event"] for each in events}, {"ladder", "at_sizes"})
            exe = lab.compile()
            self.assertEqual(exe(np.zeros((5, 784), np.float32)).shape, (5, 10))
        with whet.load("zoo:mlp").lab("one.jsonl") as lab, self.assertRaisesRegex(whet.Error, "the session's model has no ranges"):
            lab.time_ranges()

    def test_write_into_arrays_that_are_given(self):
        session = whet.open(self.path).session()
        session.reserve()
        for n in (1, 8):
            x, y = np.ones((n, 784), np.float32), np.zeros((n, 10), np.float32)
            session(x, out=y)
            np.testing.assert_allclose(y.sum(axis=1), np.ones(n), rtol=1e-5)
            self.assertEqual(session.outputs[0].shape, (n, 10))
        with self.assertRaisesRegex(whet.UsageError, r"expected an array float32\[8, 10\] in `out`"):
            session(np.ones((8, 784), np.float32), out=np.zeros((3, 10), np.float32))

    def test_refuse_others_and_go_on(self):
        exe = whet.open(self.path)
        with self.assertRaisesRegex(whet.UsageError, 'input "data" is 2x784; batch is 1, 3 or 8'):
            exe(np.zeros((2, 784), np.float32))
        with self.assertRaisesRegex(whet.UsageError, 'input "data" is 8x783; it must be 8x784'):
            exe(np.zeros((8, 783), np.float32))
        with self.assertRaisesRegex(whet.UsageError, r"float32\[784\] was given; the model takes float32\[1, 784\]"):
            exe(np.zeros(784, np.float32))
        self.assertEqual(exe(np.zeros((8, 784), np.float32)).shape, (8, 10))
        self.assertEqual(exe.benchmark(np.zeros((1, 784), np.float32), seconds=0.01).runs >= 3, True)
        self.assertTrue(exe.profile(np.zeros((8, 784), np.float32), runs=2))

    def test_are_none_of_a_library_for_one(self):
        exe = whet.load("zoo:mlp").compile()
        self.assertEqual(exe.sizes, ())
        exe.session().reserve()


class Libraries(InAFolder):
    """Compiled models are closed when nobody uses them any more."""

    X = np.random.default_rng(3).random((1, 784), np.float32)

    @staticmethod
    def mapped(path):
        return os.path.abspath(path) in Path("/proc/self/maps").read_text()

    def test_are_closed_with_the_last_session(self):
        exe = whet.load("zoo:mlp").compile("m.so")
        session = exe.session(threads=2)
        exe(self.X)
        wanted = session(self.X)
        del exe
        gc.collect()
        self.assertTrue(self.mapped("m.so"))
        np.testing.assert_array_equal(session(self.X), wanted)
        del session
        self.assertFalse(self.mapped("m.so"))

    def test_are_closed_in_order_when_they_are_garbage(self):
        exe = whet.load("zoo:mlp").compile("m.so")
        exe.itself, exe.more = exe, exe.session(threads=2)
        exe.more.exe = exe
        exe(self.X)
        del exe
        gc.collect()
        self.assertFalse(self.mapped("m.so"))

    def test_that_cannot_be_opened_are_closed(self):
        whet.load("zoo:mlp").compile("m.so")
        with unittest.mock.patch.object(whet.compiled, "_API_VERSION", 9), self.assertRaisesRegex(whet.Error, "needs version 9"):
            whet.open("m.so")
        gc.collect()
        self.assertFalse(self.mapped("m.so"))

    def test_that_were_replaced_are_opened_anew(self):
        first = whet.load("zoo:mlp", seed=1).compile("m.so")
        answer = first(self.X)
        second = whet.load("zoo:mlp", seed=2).compile("m.so")
        self.assertFalse(np.array_equal(second(self.X), answer))
        np.testing.assert_array_equal(first(self.X), answer)
        third = whet.load("zoo:mlp", seed=1).compile("m.so")
        del first, second
        np.testing.assert_array_equal(third(self.X), answer)
        np.testing.assert_array_equal(whet.open("m.so")(self.X), answer)

    def test_without_a_path_are_temporary(self):
        exe = whet.load("zoo:mlp").compile()
        path, session = exe.path, exe.session()
        wanted = exe(self.X)
        child = os.fork()
        if child == 0:  # whose end deletes nothing of its parent's
            del exe, session
            gc.collect()
            os._exit(0)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        del exe
        gc.collect()
        self.assertTrue(os.path.exists(path) and self.mapped(path))
        np.testing.assert_array_equal(session(self.X), wanted)
        del session
        self.assertFalse(os.path.exists(os.path.dirname(path)) or self.mapped(path))

    def test_without_a_path_are_deleted_at_the_end_of_python(self):
        code = "import whet; exe = whet.load('zoo:mlp').compile(); session = exe.session(); session.benchmark(seconds=0); print(exe.path)"
        env = dict(os.environ, PYTHONPATH=str(ROOT / "python"), TMPDIR=os.getcwd())
        ended = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
        self.assertTrue(ended.stdout.startswith(os.getcwd()))
        self.assertEqual((os.listdir("."), ended.stderr), ([], ""))


class Archives(InAFolder):
    def test_are_linked_and_not_opened(self):
        model = whet.load("zoo:mlp")
        self.assertEqual(model.archive("libnet.a", header="net.h"), Path("libnet.a"))
        self.assertTrue(Path("libnet.a").read_bytes().startswith(b"!<arch>\n"))
        self.assertIn("const whet_api* whet_net_v1(void);", Path("net.h").read_text())
        with self.assertRaisesRegex(whet.UsageError, "Model.archive makes one"):
            model.compile("libnet.a")
        with self.assertRaisesRegex(whet.UsageError, "expected libNAME.a"):
            model.archive("net.so")
        with self.assertRaisesRegex(whet.UsageError, 'expected a name of C'):
            model.archive("libnet.a", name="a-b")


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
        self.assertRegex(exe.kernels_from, r"^[1-9]\d* of \d+ tasks from records")

    def test_tunes_several_models_together(self):
        tuned = whet.tune(["zoo:mlp", (whet.load("zoo:mlp"), 2)], "both.jsonl", trials=8, progress=False, objective="geomean")
        self.assertEqual([network["model"] for network in tuned.details["networks"]], ["mlp", "mlp"])
        self.assertEqual(len(tuned.details["tasks"]), 4)
        with self.assertRaisesRegex(whet.UsageError, "several models"):
            whet.tune(["zoo:mlp"], "one.jsonl")
        with self.assertRaisesRegex(whet.UsageError, "was loaded with options"):
            whet.tune([whet.load("zoo:mlp", batch=2), "zoo:mlp"], "both.jsonl")
        with self.assertRaisesRegex(whet.UsageError, "leave out how often one runs"):
            whet.tune(["zoo:mlp", ("zoo:mlp", 2)], "both.jsonl", objective="worst")

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


class OnSamples(InAFolder):
    """A precision for each layer, and answers judged on a user's data."""

    def samples(self, count=8):
        return np.random.default_rng(56).random((count, 1, 784), dtype=np.float32)

    def test_are_checked_in_every_form(self):
        model, rows = whet.load("zoo:mlp"), self.samples()
        np.save("rows.npy", rows)
        for samples in ["rows.npy", Path("rows.npy"), rows, np.asfortranarray(rows), list(rows), {"data": rows},
                        [{"data": row} for row in rows]]:
            checked = model.check(samples, ["1%", "top1>=99%"])
            self.assertTrue(checked.kept)
            self.assertEqual(checked.samples, 8)
            self.assertEqual([limit.measure for limit in checked.limits], ["relative L2", "top1"])
            self.assertEqual(repr(checked), "Checked(within the limits on 8 samples)")

    def test_judge_a_library(self):
        model = whet.load("zoo:mlp")
        exe = model.compile("m.so")
        self.assertTrue(model.check(self.samples(), "1%", library=exe).kept)
        other = whet.load("zoo:mlp", seed=7).compile("other.so")
        checked = model.check(self.samples(), "1%", library=other.path)
        self.assertFalse(checked.kept)
        self.assertGreater(checked.limits[0].share, 1)
        self.assertIn("broken", repr(checked.limits[0]))

    def test_that_are_none_are_refused(self):
        model = whet.load("zoo:mlp")
        with self.assertRaisesRegex(whet.UsageError, "empty list"):
            model.check([], "1%")
        with self.assertRaisesRegex(whet.Error, "input data wants"):
            model.check(self.samples()[:, :, :5], "1%")
        with self.assertRaisesRegex(whet.UsageError, "give --max-error or --tolerance, not both"):
            model.check(self.samples(), "1%", tolerance=1e-3)
        with self.assertRaisesRegex(whet.UsageError, "--precision auto needs --samples and --max-error"):
            model.tune(trials=1, precision="auto", samples=self.samples(), progress=False)
        with self.assertRaisesRegex(whet.UsageError, "--precision int8 needs --samples"):
            model.tune(trials=1, precision="int8", progress=False)

    def test_give_the_ranges_of_bytes(self):
        model = whet.load("zoo:mlp")
        tuned = model.tune(trials=16, records="int8.jsonl", precision="int8", samples=self.samples(), progress=False)
        self.assertTrue(tuned.precision["adopted"], tuned.precision["why_not"])
        self.assertEqual((tuned.precision["uniform"], tuned.precision["allowed"]), ("u8", []))
        self.assertGreater(tuned.precision["lowered_to"]["u8"], 0)
        exe = model.compile("int8.so", records="int8.jsonl", precision="int8")
        self.assertTrue(model.check(self.samples(), "20%", library=exe).kept)

    def test_choose_a_precision_for_each_layer(self):
        flags = re.search(r"^flags\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
        if flags is None or "avx512_bf16" not in flags[1].split():
            self.skipTest("this processor has no products of bf16")
        model = whet.load("zoo:mlp")
        tuned = model.tune(trials=24, records="auto.jsonl", precision="auto", samples=self.samples(), max_error="3%", progress=False)
        self.assertEqual(tuned.precision["layers"], tuned.precision["errors"] + tuned.precision["known_errors"])
        self.assertTrue(tuned.precision["by_layer"])
        self.assertEqual(tuned.precision["adopted"], tuned.precision["why_not"] == "")
        if tuned.precision["adopted"]:
            exe = model.compile("auto.so", records="auto.jsonl", precision="auto")
            self.assertTrue(model.check(self.samples(), "3%", library=exe).kept)
        self.assertIsNone(model.tune(trials=4, records="f32.jsonl", progress=False).precision)


class Again(InAFolder):
    """Records and record bases, measured again."""

    def setUp(self):
        super().setUp()
        self.model = whet.load("zoo:mlp")
        self.model.tune(trials=24, records="r.jsonl", no_base=True, no_network=True, progress=False)

    def test_says_whether_records_are_true(self):
        found = self.model.repro("r.jsonl", within=1000)
        self.assertEqual((found.verdict, found.holds, found.interrupted), ("reproduced", True, False))
        self.assertIn("Good for this machine", found.sentence)
        self.assertTrue(found.tasks)
        self.assertGreater(found.tasks[0].schedules[0]["now_ms"], 0)
        Path("old.jsonl").write_text(re.sub('"steps":"[^"]*"', '"steps":"split l99 2"', Path("r.jsonl").read_text()))
        found = self.model.repro("old.jsonl")
        self.assertEqual((found.verdict, found.holds), ("not reproduced", False))
        with self.assertRaisesRegex(whet.Error, "this model does not have"):
            whet.load("zoo:mlp", batch=2).repro("r.jsonl")

    def test_packs_and_admits_a_base(self):
        self.assertEqual(whet.pack(["r.jsonl"], "base.jsonl", model=self.model, name="net"), "base.jsonl")
        found = self.model.admit("base.jsonl", "admitted.jsonl", origin="net", within=1000)
        self.assertGreater(len(found.entries), 0)
        self.assertEqual(found.stay + found.out, len(found.entries))  # which of them stay is the machine's business
        self.assertEqual('"network":"net"' in Path("admitted.jsonl").read_text(), found.stay > 0)
        whet.pack([Path("base.jsonl")], "none.jsonl", without=["net"])
        self.assertNotIn('"network":"net"', Path("none.jsonl").read_text())
        exe = self.model.compile(base="base.jsonl")
        self.assertRegex(exe.kernels_from, r"by default schedules · base base .* \(1 network\)")
        whet.pack(["r.jsonl"], "own.jsonl", model=self.model)
        for call, sentence in [(lambda: self.model.repro("own.jsonl"), "is a record base; Model.admit"),
                               (lambda: whet.pack(["r.jsonl"], "b.jsonl"), "give the model of its records"),
                               (lambda: self.model.admit("base.jsonl"), "taught nothing that is in")]:
            with self.assertRaisesRegex(whet.Error, sentence):
                call()

    def test_a_lab_knows_a_base(self):
        base = whet.pack(["r.jsonl"], "base.jsonl", model=self.model)
        with self.model.lab("own.jsonl", base=base) as lab:
            self.assertIn("(1 network)", lab.base)
            for transfer in [each for task in lab.tasks for each in task.transfers()]:
                self.assertGreater(transfer.gain, 0)
        with self.model.lab("own.jsonl", no_base=True) as lab:
            self.assertEqual((lab.base, lab.tasks[1].transfers()), ("", []))


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

    def test_templates_are_searched(self):
        @whet.template(name="own-tiles")
        def tiles(task):
            if len(task.ops[-1].axes) < 2:
                return None
            rows, vectors = task.split(task.ops[-1].axes[1].name, of=task.ops[-1].name), task.choose("vectors", [0, 1])

            def steps(choice):
                s = whet.Schedule(task)
                outer, inner = s.split(s.loops(task.ops[-1].name)[1], choice[rows][-1])
                if choice[vectors] and choice[rows][-1] > 64:
                    return None
                return s.vectorize(inner) if choice[vectors] else s

            return steps

        model = whet.load("zoo:mlp")
        template = tiles.of(model.tasks()[0])
        self.assertEqual(template.decisions["vectors"], [0, 1])
        tuned = model.tune(trials=12, records="own.jsonl", templates=[tiles], only_templates=True, no_network=True, strategy="random",
                           progress=False)
        self.assertEqual(tuned.trials, 12)
        sketches = {record.sketch for record in whet.Records("own.jsonl")}
        self.assertIn("own-tiles", sketches)
        self.assertLessEqual(len(sketches - {"own-tiles"}), 4, "only default schedules beside them")
        exe = model.compile("own.so", records="own.jsonl")
        self.assertEqual(exe(np.zeros((1, 784), np.float32)).shape, (1, 10))
        with model.lab("own.jsonl") as lab:
            task = lab.tasks[0]
            count = task.add_template(tiles)
            self.assertEqual(count, len(template.all()))
            self.assertIn("own-tiles", [sketch.name for sketch in task.space()])
            rounds = []
            found = task.tune(trials=4, strategy="descent", on_round=rounds.append)
            self.assertLessEqual(found.trials, 4)
            self.assertEqual({each["event"] for each in rounds}, {"round"})
            self.assertEqual(task.best()[0], found.best)
            self.assertEqual(lab.compile("lab.so")(np.zeros((1, 784), np.float32)).shape, (1, 10))

    def test_rules_choose_by_ops(self):
        template = whet.Template({"factor": [1, 2, 3]}, lambda choice: f"split l0 {choice['factor']} guard", "own-halves")
        seen = []

        @whet.rule(alone=True)
        def softmax(op):
            seen.append(op)
            return template if op.family == "softmax" else None

        model = whet.load("zoo:mlp")
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always")
            model.tune(trials=8, records="own.jsonl", rules=[softmax], only_templates=True, no_network=True, progress=False)
        self.assertTrue(all(not op.is_input for op in seen))
        self.assertIn("rows like it are left out (2 of 3)", str(notes[0].message))
        self.assertEqual({record.task for record in whet.Records("own.jsonl")}, {"softmax 1x10"})

    def test_templates_are_refused_with_what_is_wrong(self):
        model = whet.load("zoo:mlp")
        of = whet.template(name="own")
        for templates, sentence in [
            ([of(lambda task: task.split("q"))], "has no axis 'q'"),
            ([of(lambda task: (task.choose("n", [1]), task.choose("n", [2])))], "two decisions that are called n"),
            ([of(lambda task: None)], "for none of the tasks"),
            ([whet.Template({}, lambda choice: None)], "writes steps for no choice"),
            ([whet.Template({"n": ["a"]}, lambda choice: "")], "neither an integer nor a list"),
            ([whet.Template({}, lambda choice: ""), whet.Template({}, lambda choice: "")], "two templates"),
            ([whet.Template({}, lambda choice: "vectorize l99")], "no row of template own"),
            ([], "there are none"),
        ]:
            with self.subTest(sentence=sentence), self.assertRaisesRegex(whet.Error, re.escape(sentence)):
                model.tune(trials=1, records="own.jsonl", templates=templates, only_templates=True, progress=False)

    def test_schedules_know_their_loops(self):
        task = whet.load("zoo:mlp").tasks()[0]
        name = next(op.name for op in task.ops if any(axis.reduced for axis in op.axes))
        s = whet.Schedule(task)
        first, second, reduced = s.loops(name)
        outer, inner = s.split(second, 8)
        with self.assertRaisesRegex(whet.UsageError, "is there no more after the step"):
            s.unroll(second)
        with self.assertRaisesRegex(whet.UsageError, "is no loop of this schedule"):
            s.unroll(whet.Loop(99, "x"))
        with self.assertRaisesRegex(whet.UsageError, "has no op 'nowhere'"):
            s.loops("nowhere")
        s.reorder(outer, reduced, inner).vectorize(inner)
        with whet.load("zoo:mlp").lab("own.jsonl") as lab:
            outcome = lab.tasks[0].measure([whet.Candidate("own", {}, str(s))])[0][1]
        self.assertTrue(outcome.ok, outcome.message)

    def test_a_large_template_is_sampled(self):
        template = whet.Template({"a": range(300), "b": range(300)}, lambda choice: "")
        with self.assertWarnsRegex(whet.Note, "20000 of 90000 choices, drawn at random"):
            table = template.table()
        self.assertEqual(len(table["rows"]), 20000)
        self.assertEqual(len({(row[0], row[1]) for row in table["rows"]}), 20000)

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


class TorchBackend(InAFolder):
    """Parts of modules of a torch that is there; `torch.compile` itself where it is 2.1 or newer."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        try:
            import torch
            import torch.fx
        except ImportError:
            raise unittest.SkipTest("torch is missing")
        cls.torch = torch
        torch.manual_seed(5)
        cls.net = torch.nn.Sequential(torch.nn.Linear(16, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4)).eval()
        cls.x = torch.rand(2, 16)

    def part(self):
        return self.torch.fx.symbolic_trace(self.net)

    def test_runs_a_part(self):
        from whet.torch import backend
        with self.torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("error", whet.Note)
            call = backend(self.part(), [self.x], options={"no_base": True})
            np.testing.assert_allclose(call(self.x)[0].numpy(), self.net(self.x).numpy(), atol=1e-5)
            self.net[0].bias.add_(1)
            np.testing.assert_allclose(call(self.x)[0].numpy(), self.net(self.x).numpy(), atol=1e-5)

    def test_leaves_to_torch_what_it_does_not_compile(self):
        from whet.torch import backend
        part = self.part()
        for values, why in [([self.x.clone().requires_grad_()], "gradients are wanted"), ([self.x, 3], "its shapes change"),
                            ([self.torch.empty(2, 16, device="meta")], "a tensor is on meta")]:
            with self.assertWarnsRegex(whet.Note, "torch runs a part itself: " + why):
                call = backend(part, values)
            self.assertEqual(call, part.forward)

    def test_is_a_backend_of_torch_compile(self):
        if tuple(int(word) for word in self.torch.__version__.split(".")[:2]) < (2, 1):
            self.skipTest(f"torch.compile for whet needs torch 2.1, and this is {self.torch.__version__}")
        import whet.torch
        fast = self.torch.compile(self.net, backend=whet.torch.backend)
        with self.torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("error", whet.Note)
            np.testing.assert_allclose(fast(self.x).numpy(), self.net(self.x).numpy(), atol=1e-5)


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

    def test_counts_the_phases_behind_the_rounds(self):
        told, shown = [], []
        common = {"v": 1, "trials": 3, "allowed_trials": None, "default_ms": 2.0, "best_ms": 1.0}
        events = [{**common, "event": "round", "seconds": 6.0, "allowed_seconds": 10.0, "left_seconds": 4.0},
                  {"v": 1, "event": "compiling", "done": 1, "all": 2, "left_seconds": 1.0},
                  {"v": 1, "event": "compiling", "done": 2, "all": 2, "left_seconds": None}]
        whet.tuning._read_events([json.dumps(event) for event in events], told.append, shown.append)
        self.assertEqual([progress.part for progress in told], [0.6])
        self.assertEqual([progress.part for progress in shown], [0.9])


class Types(unittest.TestCase):
    @unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not installed")
    def test_are_strict(self):
        with tempfile.TemporaryDirectory() as cache:
            found = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, "whet"], cwd=ROOT / "python",
                                   capture_output=True, text=True, check=False)
        self.assertEqual(found.returncode, 0, found.stdout)

    @unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not installed")
    def test_hold_the_options_of_callers(self):
        right = """
            import whet
            model = whet.load("model.onnx", shapes=(1, 3, 224, 224), seed=3)
            model = whet.load("model.onnx", shapes={"x": "1x3"}, until=["a", "b"])
            tuned: whet.Tuned = model.tune(minutes=0.5, threads=[1, 2], strategy="xgb", report="page.html")
            exe: whet.Compiled = model.compile(precision="f16")
            """
        wrong = """
            import whet
            model = whet.load("model.onnx", sed=3)
            model.tune(round="many")
            model.tune(strategy="best")
            model.compile(early_stop=3)
            """
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("right", right), ("wrong", wrong)):
                Path(folder, f"{name}.py").write_text(textwrap.dedent(text))
            found = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--config-file", ROOT / "python/pyproject.toml",
                                    "--cache-dir", os.path.join(folder, "cache"), "right.py", "wrong.py"], cwd=folder,
                                   env=dict(os.environ, MYPYPATH=str(ROOT / "python")), capture_output=True, text=True, check=False)
        errors = re.findall(r"^(\w+\.py):(\d+): error", found.stdout, re.MULTILINE)
        self.assertEqual(errors, [("wrong.py", str(line)) for line in (3, 4, 5, 6)], found.stdout)


class Docstrings(InAFolder):
    """Their examples give the results that they show, in the order of the modules, with numpy and whet at hand."""

    def test_run(self):
        tried = 0
        for module in (whet.errors, whet.model, whet.compiled, whet.records, whet.repro, whet.op, whet.lab, whet.schedule, whet.templates,
                       whet.tuning, whet.shown):
            with self.subTest(module=module.__name__):
                found = doctest.testmod(module, extraglobs={"np": np, "whet": whet}, optionflags=doctest.ELLIPSIS)
                self.assertEqual(found.failed, 0)
                tried += found.attempted
        self.assertGreater(tried, 15)


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
