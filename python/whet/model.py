"""A model that can be tuned and compiled."""

from __future__ import annotations

import inspect
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from . import program
from .compiled import Compiled
from .lab import Lab
from .program import PathLike
from .records import Records
from .tuning import Progress, Tuned, run_tune

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


def load(path: PathLike, shapes: Optional[Mapping[str, Sequence[int]]] = None, **options: object) -> "Model":
    """Opens a model (of ONNX, PyTorch, TensorFlow, TensorFlow Lite or MXNet), or a built-in network by "zoo:resnet-18".

    shapes   extents of inputs whose dimensions the file leaves open: `{"data": (1, 3, 224, 224)}`
    options  further options of `whet tasks`: `until=`, `entry=`, `batch=`, `image=`, `seed=`

    Raises `Error` with whet's sentence where the file cannot be read.

    >>> whet.load("zoo:mlp")
    whet.load('zoo:mlp'): 4 tasks
    >>> whet.load("zoo:mlq")
    Traceback (most recent call last):
    whet.errors.Error: ...
    """
    return Model(path, shapes, **options)


class Model:
    """A model file and the options that decide its shapes. Made by `load`."""

    def __init__(self, path: PathLike, shapes: Optional[Mapping[str, Sequence[int]]] = None, **options: object) -> None:
        self.path = os.fspath(path)
        bound = [f"{name}={'x'.join(map(str, shape))}" for name, shape in (shapes or {}).items()]
        self._words = [self.path, *program.options({"shape": bound, **options})]
        self._temporary: Optional["tempfile.TemporaryDirectory[str]"] = None
        self._tasks: Dict[Optional[str], List[Task]] = {}
        self.tasks()

    def __repr__(self) -> str:
        return f"whet.load({self.path!r}): {len(self.tasks())} tasks"

    def _on(self, target: Optional[str]) -> List[str]:
        return [*self._words, *program.optional("--target", target)]

    def tasks(self, target: Optional[str] = None) -> List[Task]:
        """The distinct kernels of the model, in the order in which it first runs them.

        target  as `whet tune --target` takes it; None: this machine

        >>> [(task.id, task.name, task.weight) for task in whet.load("zoo:mlp").tasks()][-1]
        (3, 'softmax 1x10', 1)
        """
        if target not in self._tasks:
            listed = program.run_json("tasks", *self._on(target), "--dag")["tasks"]
            self._tasks[target] = [
                Task(each["id"], each["name"], each["key"], each["weight"], each["flops"], each["bytes"],
                     each["share"], each["dag"]) for each in listed
            ]
        return list(self._tasks[target])

    def default_records(self) -> str:
        """The record file that `tune` takes where none is named: the model's name with .jsonl, in the working folder.

        >>> whet.load("zoo:mlp").default_records()
        'mlp.jsonl'
        """
        name = self.path[max(self.path.rfind("/"), self.path.rfind(":")) + 1:]
        return (name.rsplit(".", 1)[0] if name.rfind(".") > 0 else name) + ".jsonl"

    def tune(self,
             minutes: Optional[float] = None,
             trials: Optional[int] = None,
             records: Optional[PathLike] = None,
             target: Optional[str] = None,
             devices: Optional[Sequence[str]] = None,
             on_progress: Optional[Callable[[Progress], Optional[bool]]] = None,
             progress: bool = True,
             **options: object) -> Tuned:
        """Searches for faster kernels on this machine, or on `devices`, and appends what it measures to `records`.

        minutes, trials  when to end; without both, 64 trials a task
        on_progress      called with a `Progress` after every round instead of drawing a bar; False ends the run
        progress         False: draw nothing
        options          further options of `whet tune`, like `threads=2`, `round=16`, `report="page.html"`

        ^C ends the run and keeps its records. A killed Python loses nothing that was measured.

        >>> tuned = whet.load("zoo:mlp").tune(trials=4, records="few.jsonl", progress=False)
        >>> tuned.trials, tuned.interrupted, tuned.records
        (4, False, 'few.jsonl')
        """
        words = [*self._on(target), "-o", os.fspath(records or self.default_records())]
        words += program.optional("--minutes", minutes) + program.optional("--trials", trials)
        words += program.options({"device": list(devices or []), **options})
        return run_tune(words, on_progress, progress)

    def compile(self,
                output: PathLike,
                records: Optional[PathLike] = None,
                target: Optional[str] = None,
                **options: object) -> Compiled:
        """Makes one library of the model and its best records, and opens it.

        records  of `tune`; without, default schedules
        options  further options of `whet compile`
        """
        words = [*self._on(target), *program.optional("--records", None if records is None else os.fspath(records))]
        program.run("compile", *words, "-o", os.fspath(output), "-q", *program.options(options))
        return Compiled(output)

    def report(self, output: PathLike, records: Optional[PathLike] = None, target: Optional[str] = None,
               **options: object) -> Path:
        """Writes a page about the tuned model (HTML, one file), and returns its path."""
        words = [*self._on(target), "--records", os.fspath(records or self.default_records())]
        program.run("report", *words, "-o", os.fspath(output), *program.options(options))
        return Path(output)

    def explain(self, task: int, records: Optional[PathLike] = None, target: Optional[str] = None) -> str:
        """What limits a task, and its best candidates, as text."""
        words = ["task", str(task), "--model", *self._on(target)]
        return program.run("explain", *words, "--records", os.fspath(records or self.default_records()))

    def lab(self, records: Optional[PathLike] = None, target: Optional[str] = None, **options: object) -> Lab:
        """Spaces, samples and measurements of the tasks, for search strategies of your own: see `Lab`."""
        words = [*self._on(target), "-o", os.fspath(records or self.default_records()), *program.options(options)]
        return Lab(words)

    def records(self, path: Optional[PathLike] = None) -> Records:
        """The record file of the model."""
        return Records(path or self.default_records())


def from_torch(module: Any, args: Tuple[Any, ...], dynamic: Any = None,
               shapes: Optional[Mapping[str, Sequence[int]]] = None, **options: object) -> Model:
    """A model from a `torch.nn.Module` and example inputs: exported (torch 2.1 and newer), or traced.

    The module should be in `eval()` mode.

    dynamic  `dynamic_shapes` of `torch.export.export`; `shapes` binds what they leave open
    shapes, options  as `load` takes them
    """
    import torch  # here alone: it takes seconds

    folder = tempfile.TemporaryDirectory(prefix="whet-")
    if hasattr(torch, "export") and hasattr(torch.export, "save"):
        path = os.path.join(folder.name, "model.pt2")
        exported = torch.export.export(module, args, **({} if dynamic is None else {"dynamic_shapes": dynamic}))
        torch.export.save(exported, path)
    else:
        path = os.path.join(folder.name, "model.pt")
        torch.jit.save(torch.jit.trace(module, args), path)
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
