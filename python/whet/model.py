"""A model that can be tuned and compiled."""

from __future__ import annotations

import inspect
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import program
from .checked import Checked, Samples, run_check, samples_path
from .compiled import Compiled
from .errors import Error, UsageError
from .lab import Lab
from .op import Definition, Tensor
from .op import define as define_tensors
from .options import CompileOptions, LabOptions, LoadOptions, Precision, ReportOptions, ReproOptions, TuneOptions, Words, shown
from .program import PathLike
from .records import Records
from .repro import Admission, Reproduction, run_admission, run_repro
from .schedule import TaskOp, ops_of
from .shown import short
from .sizes import Lengths, Sizes, TuningSizes, words_of_sizes
from .templates import AnyTemplate, Rule, write_tables
from .tuning import Progress, Tuned, run_tune

if TYPE_CHECKING:
    from typing_extensions import Unpack

Shape = Union[str, int, Sequence[int]]  #: (1, 3, 224, 224) or "1x3x224x224"
Shapes = Union[Mapping[str, Shape], Shape]
Inputs = Mapping[str, Any]  #: arrays of numpy, or files: {"ptr": csr.indptr, "col": "col.npy"}


@dataclass(frozen=True)
class Task:
    """A distinct kernel of a model."""

    id: int  #: its number in the model
    name: str  #: "conv2d+bias+relu 1x56x56x64 k3 s1 p1"
    key: str  #: finds its records
    weight: int  #: how often the model runs it
    flops: float  #: floating point operations of one run, by the direct algorithm
    bytes: float  #: of inputs, constants and outputs, each once
    share: float  #: of the model's operations, 0 to 1
    dag: str  #: what it computes, as text
    ops: List[TaskOp] = field(default_factory=list, repr=False)  #: the same op by op, for schedules of your own

    def __repr__(self) -> str:
        return f"Task({self.id}: {short(self.name)}, {self.weight}x, {100 * self.share:.3g}% of the operations)"


@shown(LoadOptions)
def load(path: Union[PathLike, Tensor, Definition], shapes: Optional[Shapes] = None, **options: Unpack[LoadOptions]) -> "Model":
    """Opens a model (of ONNX, PyTorch, TensorFlow, TensorFlow Lite or MXNet), a built-in network by "zoo:resnet-18", or an
    operator that `whet.op` defines.

    shapes   extents of inputs whose dimensions the file leaves open: `{"data": (1, 3, 224, 224)}`; of a model with one
             input `(1, 3, 224, 224)` or "1x3x224x224". Without them such a model is tuned and compiled for the sizes that
             `tune(sizes=...)` and `compile(sizes=...)` name
    options  see `whet.LoadOptions`

    Raises `Error` with whet's sentence where the file cannot be read.

    >>> whet.load("zoo:mlp")
    Model(zoo:mlp: 4 tasks)
    >>> whet.load("zoo:mlq")
    Traceback (most recent call last):
    whet.errors.Error: ...
    """
    if not isinstance(path, (Tensor, Definition)):
        return Model(path, shapes, **options)
    definition = define_tensors(path) if isinstance(path, Tensor) else path
    folder = program.Folder()
    file = folder.path / (re.sub(r"[^A-Za-z0-9_.]", "_", definition.name) + ".dag")
    file.write_text(str(definition))
    model = Model(file, shapes, **options)
    model._temporary = folder  # the file lives as long as the model
    return model


def _extents(shape: Shape) -> str:
    """(1, 3, 224, 224) -> "1x3x224x224"."""
    if isinstance(shape, str):
        return shape
    return "x".join(map(str, [shape] if isinstance(shape, int) else shape))


def _only_input(path: str, options: Mapping[str, object], shape: str) -> str:
    """The name of the model's input, which the program tells who asks for another one."""
    try:
        program.run("tasks", path, *program.options({**options, "shape": " =1"}))
    except Error as error:
        inputs = re.search(r"its inputs are (.*?)(; did you mean .*)?$", str(error))
        if inputs is None:
            raise
    else:
        raise Error(f"{path}: tells no names of its inputs")
    names = re.findall(r'"(.*?)"', inputs[1])
    if len(names) != 1:
        raise UsageError(f"shapes is {shape}, but the model's inputs are {inputs[1]}; expected whose it is, like "
                         f"shapes={{{names[0] if names else 'data'!r}: {shape!r}}}")
    return str(names[0])


def _bound(path: str, options: Mapping[str, object], shapes: Optional[Shapes]) -> List[str]:
    """The values of `--shape`."""
    if shapes is None:
        return []
    if isinstance(shapes, Mapping):
        return [f"{name}={_extents(shape)}" for name, shape in shapes.items()]
    extents = _extents(shapes)
    return [extents if "=" in extents else f"{_only_input(path, options, extents)}={extents}"]


def _definition_files(define: Mapping[str, object], folder: Path) -> List[str]:
    """The values of `--define`: what is no file yet is written into the folder."""
    words = []
    for number, (operator, definition) in enumerate(define.items()):
        if isinstance(definition, Tensor):
            definition = define_tensors(definition)
        if isinstance(definition, Definition) or (isinstance(definition, str) and "\n" in definition):
            file = folder / f"{number}-{re.sub(r'[^A-Za-z0-9_.]', '_', operator)}.dag"
            file.write_text(str(definition))
            definition = file
        words.append(f"{operator}={program.file(definition, f'the definition of {operator}')}")
    return words


def _inputs(inputs: Optional[Inputs], before: object, folders: List[program.Folder]) -> Optional[List[str]]:
    """The values of `--input`: arrays become files, whose folder then goes into `folders`."""
    words = [before] if isinstance(before, str) else list(before or [])  # type: ignore[call-overload]
    for name, value in (inputs or {}).items():
        if not isinstance(value, (str, os.PathLike)):
            folders.append(program.Folder())
            file = folders[-1].path / "input.npy"
            np.save(file, np.asarray(value))
            value = file
        words.append(f"{name}={program.file(value, f'the input {name}')}")
    return words or None


class Model:
    """A model file and the options that decide its shapes. Made by `load`."""

    def __init__(self, path: PathLike, shapes: Optional[Shapes] = None, **options: Unpack[LoadOptions]) -> None:
        self.path = program.file(path, "the model")
        self._options: Dict[str, object] = {**options}
        self._definitions = program.Folder() if options.get("define") else None  # the files live as long as the model
        if self._definitions:
            self._options["define"] = _definition_files(options["define"], self._definitions.path)
        self._options["shape"] = _bound(self.path, self._options, shapes)
        self._temporary: Optional[program.Folder] = None
        self._tasks: Dict[Optional[str], List[Task]] = {}
        self._is_open = False  # the file leaves sizes open: tune and compile are told which
        try:
            self.tasks()
        except Error:
            self._is_open = shapes is None and self._leaves_sizes_open()
            if not self._is_open:
                raise

    def _leaves_sizes_open(self) -> bool:
        try:
            return any(size["usual"] is None for size in program.run_json("sizes", *self._words(None))["sizes"])
        except Error:
            return False

    def __repr__(self) -> str:
        if self._is_open:
            return f"Model({short(self.path)}: its sizes are open)"
        count = len(self.tasks())
        return f"Model({short(self.path)}: {count} task{'' if count == 1 else 's'})"

    def _words(self, target: Optional[str], options: Optional[Mapping[str, object]] = None) -> List[str]:
        """The model for the program, with options of a command, which win over the model's."""
        return [self.path, *program.options({**self._options, "target": target, **(options or {})})]

    def _records(self, records: Optional[PathLike]) -> str:
        return self.default_records() if records is None else program.file(records, "records")

    def tasks(self, target: Optional[str] = None) -> List[Task]:
        """The distinct kernels of the model, in the order in which it first runs them.

        target  as `whet tune --target` takes it; None: this machine

        >>> [(task.id, task.name, task.weight) for task in whet.load("zoo:mlp").tasks()][-1]
        (3, 'softmax 1x10', 1)
        """
        if target not in self._tasks:
            listed = program.run_json("tasks", *self._words(target), "--dag")["tasks"]
            self._tasks[target] = [
                Task(each["id"], each["name"], each["key"], each["weight"], each["flops"], each["bytes"],
                     each["share"], each["dag"], ops_of(each["ops"])) for each in listed
            ]
        return list(self._tasks[target])

    def default_records(self) -> str:
        """The record file that `tune` takes where none is named: the model's name with .jsonl, in the working folder.

        >>> whet.load("zoo:mlp").default_records()
        'mlp.jsonl'
        """
        name = self.path[max(self.path.rfind("/"), self.path.rfind(":")) + 1:]
        return (name.rsplit(".", 1)[0] if name.rfind(".") > 0 else name) + ".jsonl"

    @shown(TuneOptions)
    def tune(self,
             minutes: Optional[float] = None,
             trials: Optional[int] = None,
             records: Optional[PathLike] = None,
             target: Optional[str] = None,
             devices: Optional[Sequence[str]] = None,
             on_progress: Optional[Callable[[Progress], Optional[bool]]] = None,
             progress: bool = True,
             seconds: Optional[float] = None,
             templates: Sequence[AnyTemplate] = (),
             rules: Sequence[Rule] = (),
             only_templates: bool = False,
             sizes: Optional[Sizes] = None,
             tuning_sizes: Optional[TuningSizes] = None,
             lengths: Optional[Lengths] = None,
             inputs: Optional[Inputs] = None,
             samples: Optional[Samples] = None,
             **options: Unpack[TuneOptions]) -> Tuned:
        """Searches for faster kernels on this machine, or on `devices`, and appends what it measures to `records`.

        minutes, trials  when to end; without a limit, 64 trials a task
        seconds          instead of minutes; both are the time of the whole call
        on_progress      called with a `Progress` after every round instead of drawing a bar; False ends the run
        progress         False: draw nothing
        templates        schedules of your own, which are searched beside whet's: see `whet.template`
        rules            which ops ask for templates: see `whet.rule`
        only_templates   search nothing else, and only tasks that have one
        sizes            of `compile(sizes=...)`: its kernels are tuned at some of these
        tuning_sizes     at which: `[16, 64, 256]`, or of two sizes `[(1, 16), (8, 128)]`
        lengths          the sizes of your requests, `[24, 31, 24, ...]` or a file of them: what is tuned follows them
        inputs           `{"ptr": csr.indptr}`: tensors that an operator of your own is measured with, arrays or files; records keep
                         their hash
        samples          with `precision="auto"` and `max_error="1%"`: your data, by which each layer's precision is chosen: a folder, a
                         file, an array with samples along a new first dimension (of several inputs a dict of such), or a list of
                         samples; `precision` of the result says what became of it. With `precision="int8"` every layer that
                         can multiplies bytes, and `max_error` may be left out
        options          further options of `whet tune`, like `threads=2`, `round=16`, `report="page.html"`: see
                         `whet.TuneOptions`

        ^C ends the run and keeps its records. A killed Python loses nothing that was measured.

        >>> tuned = whet.load("zoo:mlp").tune(trials=4, records="few.jsonl", progress=False)
        >>> tuned.trials, tuned.interrupted, tuned.records
        (4, False, 'few.jsonl')
        >>> tuned = whet.load("zoo:mlp").tune(trials=4, records="sizes.jsonl", progress=False, sizes={"batch": (1, 8)}, tuning_sizes=[2, 8])
        >>> [each["sizes"] for each in tuned.details["sizes"]]
        [{'batch': 2}, {'batch': 8}]
        """
        folders: List[program.Folder] = []  # live as long as the run
        of_sizes = words_of_sizes(sizes, tuning_sizes, lengths, folders)
        own = _inputs(inputs, self._options.get("input"), folders)
        asked: Dict[str, object] = {"minutes": minutes, "seconds": seconds, "trials": trials, "input": own, **of_sizes,
                                    "samples": samples_path(samples, folders), **options}
        if templates or rules:
            folders.append(program.Folder())
            file = folders[-1].path / "templates.jsonl"
            ids = write_tables(file, self.tasks(target), templates, rules, only_templates)
            asked["templates"] = file
            if only_templates and asked.get("tasks") is None:
                asked["tasks"] = ids
        elif only_templates:
            raise UsageError("only_templates=True searches templates, and there are none; give templates= or rules=")
        words = self._words(target, {"output": self._records(records), "device": devices, **asked})
        return run_tune(words, on_progress, progress)

    @shown(CompileOptions)
    def compile(self,
                output: Optional[PathLike] = None,
                records: Optional[PathLike] = None,
                target: Optional[str] = None,
                quick: Union[bool, float] = False,
                devices: Optional[Sequence[str]] = None,
                sizes: Optional[Sizes] = None,
                tuning_sizes: Optional[TuningSizes] = None,
                lengths: Optional[Lengths] = None,
                inputs: Optional[Inputs] = None,
                **options: Unpack[CompileOptions]) -> Compiled:
        """Makes one library of the model and its best records, and opens it.

        output   the library; None: a temporary one, deleted when nobody uses the compiled model any more
        records  of `tune`; tasks without records run by what the record base knows of similar tasks, or by default schedules
        quick    True, or seconds: first times the default schedule of each task and what the record base knows beside it, the
                 heaviest first, here or on `devices`; of ranges of sizes also kernels for all of them. `records` then keeps the figures
        sizes    one library for several sizes: `{"x.0": [1, 2, 4, 8]}` of dimension 0 of input x, or by the name that the file
                 has for a dimension; a tuple is a range, `{"n": (1, 512)}` or with a step `(64, 960, 32)`. The compiled model
                 takes arrays of any of them; a session begins at the smallest
        tuning_sizes, lengths
                 with `records`, for which sizes of a range schedules are chosen, as `tune` takes them; without them for those of
                 which there are records
        inputs   values of inputs that become part of the library, and the tensors that `tune(inputs=...)` measured with: only records
                 of the same ones count, or all with `any_inputs=True`
        options  see `whet.CompileOptions`; `no_base=True` leaves the record base out

        >>> exe = whet.load("zoo:mlp").compile(sizes={"batch": [1, 4]})
        >>> [exe(np.zeros((n, 784), np.float32)).shape for n in (4, 1)]
        [(4, 10), (1, 10)]
        >>> exe = whet.load("zoo:mlp").compile(sizes={"batch": (1, 6)})
        >>> exe.sizes, exe(np.zeros((5, 784), np.float32)).shape
        ((Size(batch: 1..6),), (5, 10))

        >>> whet.load("zoo:mlp").compile().inputs
        (Tensor(data: float32[1, 784]),)
        """
        if output is not None and str(output).endswith(".a"):
            raise UsageError("compile opens what it makes, and an archive is linked; Model.archive makes one")
        folder = program.Folder() if output is None else None
        library = str(folder.path / "model.so") if folder else program.file(output, "the library")
        of_tune = None if records is None else program.file(records, "records")
        timed = ["--quick" if quick is True else f"--quick={quick}"] if quick else []
        requests: List[program.Folder] = []
        named: Dict[str, object] = {"output": library, "records": of_tune, "device": devices,
                                    **words_of_sizes(sizes, tuning_sizes, lengths, requests),
                                    "input": _inputs(inputs, self._options.get("input"), requests), **options}
        program.run("compile", *self._words(target, named), *timed, "-q")
        return Compiled(library, options.get("weights_file"), folder)

    @shown(CompileOptions)
    def write_weights(self, output: PathLike, like: PathLike, records: Optional[PathLike] = None, target: Optional[str] = None,
                      **options: Unpack[CompileOptions]) -> Path:
        """Writes this model's weights for a library of a model that differs in them alone, and returns their path. The library, which
        `compile(weights_file=...)` made, stays as it is.

        like     the library
        records  those that it was compiled with; options likewise
        options  with `samples` and `max_error`, which a library that rounds (`precision`) asks for, the answers are judged first

        >>> exe = whet.load("zoo:mlp").compile("swapped.so", weights_file="swapped.weights")
        >>> other = whet.load("zoo:mlp", seed=7)
        >>> x = np.ones((1, 784), np.float32)
        >>> swapped = whet.open("swapped.so", weights=other.write_weights("other.weights", like="swapped.so"))
        >>> bool(np.allclose(swapped(x), other.compile()(x))), bool(np.allclose(swapped(x), exe(x)))
        (True, False)
        """
        weights = program.file(output, "the weights")
        named: Dict[str, object] = {"output": weights, "like": program.file(like, "the library"), "weights_only": True,
                                    "records": None if records is None else program.file(records, "records"), **options}
        program.run("compile", *self._words(target, named), "-q")
        return Path(weights)

    @shown(CompileOptions)
    def archive(self, output: PathLike, name: Optional[str] = None, header: Optional[PathLike] = None,
                records: Optional[PathLike] = None, target: Optional[str] = None, **options: Unpack[CompileOptions]) -> Path:
        """Makes a static archive of the model and its best records, for a program in C or C++, and returns its path.

        output   "libNAME.a"
        name     in C: the archive exports whet_NAME_v1; None: that of the file
        header   a C header to write too
        records  of `tune`, as for `compile`
        """
        archive = program.file(output, "the archive")
        if not archive.endswith(".a"):
            raise UsageError(f"archive: the output is {archive!r}; expected libNAME.a")
        named: Dict[str, object] = {"output": archive, "name": name, "header": None if header is None else program.file(header, "the header"),
                                    "records": None if records is None else program.file(records, "records"), **options}
        program.run("compile", *self._words(target, named), "-q")
        return Path(archive)

    @shown(ReportOptions)
    def report(self, output: PathLike, records: Optional[PathLike] = None, target: Optional[str] = None,
               **options: Unpack[ReportOptions]) -> Path:
        """Writes a page about the tuned model (HTML, one file), and returns its path."""
        page = program.file(output, "the page")
        program.run("report", *self._words(target, {"output": page, "records": self._records(records), **options}))
        return Path(page)

    def check(self, samples: Samples, max_error: Optional[Words] = None, library: Union[None, PathLike, Compiled] = None,
              records: Optional[PathLike] = None, target: Optional[str] = None, precision: Optional[Precision] = None,
              threads: Optional[int] = None, tolerance: Optional[float] = None) -> Checked:
        """Compares answers on your data with those of this model in f32.

        samples    as `tune` takes them
        max_error  what each sample may err by: "1%" (relative L2 of each output), "boxes:abs<=2", "scores:top1>=99%", or a list
        library    whose answers; None: those of this model, compiled with `records` at `precision`
        tolerance  instead of `max_error`: the largest difference, as a part of the largest magnitude

        >>> checked = whet.load("zoo:mlp").check(np.random.default_rng(0).random((4, 1, 784), np.float32), "1%")
        >>> checked.kept, checked.samples, [limit.measure for limit in checked.limits]
        (True, 4, ['relative L2'])
        """
        folders: List[program.Folder] = []  # live as long as the check
        asked: Dict[str, object] = {"samples": samples_path(samples, folders), "max_error": max_error, "precision": precision,
                                    "tolerance": tolerance, "threads": threads,
                                    "records": None if records is None else program.file(records, "records")}
        if library is None:
            return run_check(self._words(target, asked))
        path = library.path if isinstance(library, Compiled) else program.file(library, "the library")
        return run_check([path, "--against", *self._words(target, asked)])

    @shown(ReproOptions)
    def repro(self, records: Optional[PathLike] = None, target: Optional[str] = None, devices: Optional[Sequence[str]] = None,
              seconds: Optional[float] = None, sizes: Optional[Sizes] = None,
              tuning_sizes: Optional[TuningSizes] = None, lengths: Optional[Lengths] = None,
              **options: Unpack[ReproOptions]) -> Reproduction:
        """Measures the best of a record file again, here or on `devices`: whether its times and choices are true.

        seconds  no task but the first begins after this time; the heaviest go first
        sizes, tuning_sizes, lengths
                 as `tune` took them: the tasks of the sizes at which the model was tuned; times of kernels for ranges are not
                 measured again
        options  see `whet.ReproOptions`
        """
        folders: List[program.Folder] = []  # live as long as the run
        of_sizes = words_of_sizes(sizes, tuning_sizes, lengths, folders)
        asked: Dict[str, object] = {"device": devices, "seconds": seconds, **of_sizes, **options}
        return run_repro(self._records(records), self._words(target, asked))

    @shown(ReproOptions)
    def admit(self, base: PathLike, output: Optional[PathLike] = None, origin: Optional[str] = None,
              target: Optional[str] = None, devices: Optional[Sequence[str]] = None, seconds: Optional[float] = None,
              **options: Unpack[ReproOptions]) -> Admission:
        """Measures again what this model taught a record base, and writes the base without what is not true.

        output  the base that is admitted; None: none is written
        origin  what the base calls the model; None: the model's name
        """
        admitted = None if output is None else program.file(output, "the record base")
        asked: Dict[str, object] = {"output": admitted, "origin": origin, "device": devices, "seconds": seconds, **options}
        return run_admission(program.file(base, "the record base"), self._words(target, asked))

    def explain(self, task: int, records: Optional[PathLike] = None, target: Optional[str] = None) -> str:
        """What limits a task, and its best candidates, as text."""
        return program.run("explain", "task", str(task), "--model", *self._words(target, {"records": self._records(records)}))

    @shown(LabOptions)
    def lab(self,
            records: Optional[PathLike] = None,
            target: Optional[str] = None,
            sizes: Optional[Sizes] = None,
            tuning_sizes: Optional[TuningSizes] = None,
            lengths: Optional[Lengths] = None,
            **options: Unpack[LabOptions]) -> Lab:
        """Spaces, samples and measurements of the tasks, for search strategies of your own: see `Lab`.

        sizes, tuning_sizes, lengths
                 as `tune` takes them: the tasks are then those of the sizes at which the model is tuned

        >>> with whet.load("zoo:mlp").lab("lab_sizes.jsonl", sizes={"batch": (1, 8)}, tuning_sizes=[2, 8]) as lab:
        ...     lab.tasks[0].sizes
        [({'batch': 2}, 1)]
        """
        folders: List[program.Folder] = []  # live as long as the lab
        of_sizes = words_of_sizes(sizes, tuning_sizes, lengths, folders)
        return Lab(self._words(target, {"output": self._records(records), **of_sizes, **options}), folders)

    def records(self, path: Optional[PathLike] = None) -> Records:
        """The record file of the model."""
        return Records(self._records(path))


@shown(TuneOptions)
def tune(models: Sequence[Union[PathLike, Model, Tuple[Union[PathLike, Model], int]]],
         records: PathLike,
         minutes: Optional[float] = None,
         trials: Optional[int] = None,
         target: Optional[str] = None,
         devices: Optional[Sequence[str]] = None,
         on_progress: Optional[Callable[[Progress], Optional[bool]]] = None,
         progress: bool = True,
         seconds: Optional[float] = None,
         objective: str = "sum",
         **options: Unpack[TuneOptions]) -> Tuned:
    """Tunes several models together: a kernel that they share is one task, and all share trials and time.

    models     paths, or what `load` gives without options of shapes; a pair of one and a number says how often it runs
    records    the file of all of them
    objective  what is made small: "sum" of the latencies, their "geomean", or the "worst" gain
    the others as `Model.tune` takes them; layouts and templates are searched by runs of one model

    `details["networks"]` of the result has the times of each network.

    >>> tuned = whet.tune(["zoo:mlp", ("zoo:mlp", 3)], "both.jsonl", trials=4, no_network=True, progress=False)
    >>> tuned.trials, len(tuned.details["tasks"])
    (4, 4)
    """
    words: List[str] = []
    for each in models:
        model, runs = each if isinstance(each, tuple) else (each, 1)
        if isinstance(model, Model) and any(model._options.values()):
            raise UsageError(f"{model!r} was loaded with options; models that are tuned together have none")
        path = model.path if isinstance(model, Model) else program.file(model, "a model")
        words.append(path if runs == 1 else f"{path}:{runs}")
    if len(words) < 2:
        raise UsageError("whet.tune tunes several models together; Model.tune tunes one")
    asked: Dict[str, object] = {"output": program.file(records, "records"), "target": target, "device": devices, "minutes": minutes,
                                "seconds": seconds, "trials": trials, "objective": objective, **options}
    return run_tune([*words, *program.options(asked)], on_progress, progress)


@shown(LoadOptions)
def from_torch(module: Any, args: Tuple[Any, ...], dynamic: Any = None, shapes: Optional[Shapes] = None,
               **options: Unpack[LoadOptions]) -> Model:
    """A model from a `torch.nn.Module` and example inputs: exported (torch 2.1 and newer), or traced.

    The module should be in `eval()` mode.

    dynamic  `dynamic_shapes` of `torch.export.export`; `shapes` binds what they leave open
    shapes, options  as `load` takes them
    """
    import torch  # here alone: it takes seconds

    folder = program.Folder()
    if hasattr(torch, "export") and hasattr(torch.export, "save"):
        path = folder.path / "model.pt2"
        exported = torch.export.export(module, args, **({} if dynamic is None else {"dynamic_shapes": dynamic}))
        torch.export.save(exported, str(path))
    else:
        path = folder.path / "model.pt"
        torch.jit.save(torch.jit.trace(module, args), str(path))
        if shapes is None:  # a file of torch 1 has no sizes
            names = list(inspect.signature(module.forward).parameters)
            shapes = {name: tuple(arg.shape) for name, arg in zip(names, args) if hasattr(arg, "shape")}
    model = Model(path, shapes, **options)
    model._temporary = folder  # the file lives as long as the model
    return model


def explain(*topic: object) -> str:
    """The text of `whet explain`.

    >>> whet.explain("error", 5)
    '5 wrong_answer: The kernel ran, but its results differ from the reference ...'
    """
    return program.run("explain", *map(str, topic))
