"""Search strategies and templates of your own, over `whet serve` (docs/formats/serve.md).

    with model.lab("own.jsonl") as lab:
        task = lab.tasks[3]
        for candidate, outcome in task.measure(task.sample(16)):
            print(candidate.choices, outcome.ms)
"""

from __future__ import annotations

import json
import operator
import os
import subprocess
import tempfile
import threading
import warnings
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Type

import numpy as np

from . import program
from .compiled import Compiled
from .errors import Error, Note, UsageError
from .options import LabOptions, shown
from .schedule import TaskOp, ops_of
from .templates import AnyTemplate, Candidate, tables_of

if TYPE_CHECKING:
    from typing_extensions import Unpack


_ROWS_A_REQUEST = 2000  #: of a template: a request is a line of bounded length


@dataclass(frozen=True)
class Decision:
    """A question of a sketch, with all its options."""

    name: str
    meaning: str
    extent: int  #: of the axis that it cuts; 0: none
    options: List[Any]


@dataclass(frozen=True)
class Sketch:
    """A structure of schedules with open decisions."""

    name: str
    share: float  #: of random samples
    decisions: List[Decision]


@dataclass(frozen=True)
class Transfer:
    """A candidate that was good for similar tasks of other networks."""

    candidate: Candidate
    source: str  #: the schedule and the nearest task that it was good for
    distance: float  #: of that task
    gain: float  #: expected over the default schedule
    estimate: float  #: seconds over the default schedule's, by the analytic estimate
    why_not: str  #: why a compile without records does not take it; empty: it does


@dataclass(frozen=True)
class Outcome:
    """What became of a candidate."""

    code: int  #: 0: it ran
    error: Optional[str]
    message: str
    ms: Optional[float]  #: the figure that ranks; None where it did not run
    times_ms: List[float]
    truncated: bool  #: ended early because it was clearly slower than the best
    recorded: bool

    @property
    def ok(self) -> bool:
        """Whether it ran."""
        return self.code == 0


@dataclass(frozen=True)
class Features:
    """What the cost model sees of candidates."""

    names: List[str]  #: of the columns
    rows: Any  #: numpy.ndarray [candidates, names] of float32


@dataclass(frozen=True)
class Searched:
    """What came of `LabTask.tune`. Milliseconds; None where nothing ran."""

    best: Optional[Candidate]
    ms: Optional[float]
    default_ms: Optional[float]  #: by the default schedule
    trials: int  #: of this run
    seconds: float
    used_up: bool  #: no candidate is left
    details: Dict[str, Any] = field(repr=False)  #: the whole answer


class LabTask:
    """A task in a `Lab`."""

    def __init__(self, lab: "Lab", told: Mapping[str, Any]) -> None:
        self._lab = lab
        self.id: int = told["id"]
        self.name: str = told["name"]
        self.weight: int = told["weight"]
        self.flops: float = told["flops"]
        self.dag: str = told["dag"]
        self.ops: List[TaskOp] = ops_of(told["ops"])
        #: of a model with sizes: where it runs, and how often there
        self.sizes: List[Tuple[Dict[str, int], int]] = [(each["sizes"], each["runs"]) for each in told.get("sizes", ())]

    def __repr__(self) -> str:
        return f"task {self.id}: {self.name}"

    def _ask(self, what: str, **members: Any) -> Any:
        return self._lab.ask({"do": what, "task": self.id, **members})

    def space(self) -> List[Sketch]:
        """The sketches of the task, with their decisions."""
        return [
            Sketch(each["sketch"], each["share"],
                   [Decision(d["name"], d["meaning"], d["extent"], d["options"]) for d in each["decisions"]])
            for each in self._ask("space")["sketches"]
        ]

    def seeds(self) -> List[Candidate]:
        """The default schedule, then good guesses."""
        return _candidates(self._ask("seeds"))

    def transfers(self) -> List[Transfer]:
        """What was good for similar tasks of other networks, by the record base; the greatest expected gain first."""
        return [
            Transfer(Candidate(each["sketch"], each["choices"]), each["from"], each["distance"], each["gain"],
                     each["estimate"], each["why_not"]) for each in self._ask("transfers")["transfers"]
        ]

    def sample(self, count: int = 1, seed: int = 0) -> List[Candidate]:
        """Random candidates; the same for the same seed."""
        return _candidates(self._ask("sample", count=count, seed=seed))

    def neighbours(self, candidate: Candidate) -> List[Candidate]:
        """Those that differ in one decision."""
        return _candidates(self._ask("neighbours", candidate=candidate._json()))

    def steps(self, candidates: Iterable[Candidate]) -> List[str]:
        """Their schedules as text."""
        asked = [candidate._json() for candidate in candidates]
        return list(self._ask("steps", candidates=asked)["steps"])

    def measure(self, candidates: Iterable[Candidate], end_early: bool = False) -> List[Tuple[Candidate, Outcome]]:
        """Builds, checks and times candidates on the device, and appends records of them.

        end_early  candidates that are clearly slower than the best record end early
        """
        asked = list(candidates)
        answer = self._ask("measure", candidates=[each._json() for each in asked], end_early=end_early)
        outcomes = [
            Outcome(o["code"], o["error"], o["message"], o["ms"], list(o["times_ms"]), o["truncated"], o["recorded"])
            for o in answer["outcomes"]
        ]
        return list(zip(asked, outcomes))

    def add_template(self, template: AnyTemplate, alone: bool = False) -> int:
        """Adds a template to the task's space: `space`, `sample`, `tune` and the like have its candidates. Gives the number of its schedules;
        those that whet cannot replay are left out, which a note says. Raises `Error` where none is left.

        alone  only templates are searched from now on

        >>> with whet.load("zoo:mlp").lab("templates.jsonl") as lab:
        ...     task = lab.tasks[3]
        ...     count = task.add_template(whet.Template({"n": [1, 2]}, lambda choice: f"split l0 {choice['n']} guard", "halves"))
        >>> count
        1
        """
        there = 0
        for table in tables_of(self, [template], [], alone):
            for begin in range(0, len(table["rows"]), _ROWS_A_REQUEST):
                rows = table["rows"][begin:begin + _ROWS_A_REQUEST]
                answer = self._ask("template", **{**table, "rows": rows})
                there = answer["rows"]
                if answer["why"]:
                    warnings.warn(answer["why"], Note, stacklevel=2)
        if there == 0:
            raise Error(f"no schedule of template {template.name} can be replayed on {self.name}")
        return there

    def tune(self,
             trials: Optional[int] = None,
             minutes: Optional[float] = None,
             seconds: Optional[float] = None,
             strategy: Optional[str] = None,
             on_round: Optional[Callable[[Dict[str, Any]], None]] = None,
             **options: Any) -> Searched:
        """Searches the task's space with its templates, by whet's strategies, and records what it measures.

        trials, minutes, seconds  when to end; without a limit, 64 trials
        on_round                  gets what a round has brought (`round` of docs/formats/events.md)
        options                   `round`, `early_stop` and `no_seeds`, as `whet tune` takes them

        >>> with whet.load("zoo:mlp").lab("searched.jsonl") as lab:
        ...     found = lab.tasks[3].tune(trials=4, strategy="random")
        >>> found.trials <= 4, found.best is not None
        (True, True)
        """
        limits = {"trials": trials, "minutes": minutes, "seconds": seconds, "strategy": strategy, **options}
        asked = {name: value for name, value in limits.items() if value is not None}
        answer = self._lab.ask({"do": "tune", "task": self.id, **asked}, on_round)
        told = answer["tasks"][0]
        best = told["best"]
        found = None if best is None else Candidate(best["sketch"], best["choices"], best["steps"])
        return Searched(found, None if best is None else best["ms"], told["default_ms"], answer["trials"], answer["seconds"],
                        told["used_up"], answer)

    def features(self, candidates: Iterable[Candidate]) -> Features:
        """What whet's cost model sees of candidates, a row each.

        >>> with whet.load("zoo:mlp").lab("features.jsonl") as lab:
        ...     features = lab.tasks[3].features(lab.tasks[3].sample(3))
        >>> features.rows.shape == (3, len(features.names))
        True
        """
        answer = self._ask("features", candidates=[each._json() for each in candidates])
        rows = np.array(answer["features"], np.float32).reshape(-1, len(answer["names"]))
        return Features(list(answer["names"]), rows)

    def best(self) -> Optional[Tuple[Candidate, float]]:
        """The fastest record that counts, and its milliseconds."""
        found = self._ask("best")["best"]
        return None if found is None else (Candidate(found["sketch"], found["choices"], found["steps"]), found["ms"])


@shown(LabOptions)
def open_lab(records: program.PathLike, target: Optional[str] = None, **options: Unpack[LabOptions]) -> "Lab":
    """Measures tasks of your own, which `Lab.define` adds, and appends records of them to `records`.

    target   as `whet tune --target` takes it; None: this machine
    options  further options of `whet serve`
    """
    return Lab(program.options({"output": program.file(records, "records"), "target": target, **options}))


def _text(request: Mapping[str, Any]) -> str:
    try:
        return json.dumps(request, default=operator.index) + "\n"  # integers of numpy
    except (TypeError, ValueError) as error:
        raise UsageError(f"a request holds what JSON does not: {error}") from None


def _candidates(answer: Mapping[str, Any]) -> List[Candidate]:
    return [Candidate(each["sketch"], each["choices"]) for each in answer["candidates"]]


class Lab:
    """Tasks with their spaces, builders and device, in a process that answers one thing at a time. A context manager.

    Threads may share it: each waits for its answer.

    `Model.lab` makes one of a model's tasks, `whet.open_lab` one without tasks; `define` adds tasks of your own.

    >>> with whet.load("zoo:mlp").lab(records="lab.jsonl") as lab:
    ...     task = lab.tasks[3]
    ...     measured = task.measure(task.seeds()[:1])
    >>> task, [outcome.ok for candidate, outcome in measured]
    (task 3: softmax 1x10, [True])
    """

    def __init__(self, words: Sequence[str], folders: Sequence[program.Folder] = ()) -> None:
        self._folders = folders  # of files that the program reads while it runs
        self._turn = threading.Lock()
        self._owner = os.getpid()
        self._ended = False
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8")
        self._process = program.start(["serve", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=self._errors)
        try:
            greeting = self._read()
            self.target: str = greeting["target"]
            self.records: str = greeting["records"]
            self.base: str = greeting["base"]  #: the name of the record base; empty: none
            self.tasks = [LabTask(self, each) for each in self.ask({"do": "tasks"})["tasks"]]
        except BaseException:
            self.close()
            raise

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if line:
            return json.loads(line)
        self._process.wait()
        self._errors.seek(0)
        program.check(self._process.returncode, self._errors.read())
        raise Error("whet serve ended")

    def define(self, dag: str, name: str = "own") -> LabTask:
        """A task of your own, from the text of its computation (docs/formats/dag.md).

        >>> text = '''
        ... a = PLACEHOLDER [16, 64]
        ... b = PLACEHOLDER [64, 32] const
        ... c(i, j) += (a[i, k]*b[k, j]) for i in 16, j in 32, k in 64  # matmul i:row j:out_channel k:in_channel
        ... return c
        ... '''
        >>> with whet.open_lab("own.jsonl") as lab:
        ...     task = lab.define(text, "product")
        ...     measured = task.measure(task.seeds()[:1])
        >>> task, task.flops, measured[0][1].ok
        (task 0: product, 65536.0, True)
        """
        task = LabTask(self, self.ask({"do": "define", "dag": dag, "name": name})["task"])
        if task.id == len(self.tasks):
            self.tasks.append(task)
        return self.tasks[task.id]

    def compile(self, output: Optional[program.PathLike] = None) -> Compiled:
        """Makes one library of the lab's model and the records that there are, and opens it; without `output` a temporary one."""
        folder = program.Folder() if output is None else None
        library = str(folder.path / "model.so") if folder else program.file(output, "the library")
        self.ask({"do": "compile", "output": os.path.abspath(library)})
        return Compiled(library, None, folder)

    def time_ranges(self, on_event: Optional[Callable[[Dict[str, Any]], None]] = None) -> Dict[str, Any]:
        """Of a model with ranges of sizes: times kernels for all sizes, and the network at some, by the records that there are. `compile`
        chooses by these times. Returns the answer of `ranges` (docs/formats/serve.md).

        on_event  gets what happens meanwhile
        """
        answer: Dict[str, Any] = self.ask({"do": "ranges"}, on_event)
        return answer

    def ask(self, request: Mapping[str, Any], on_event: Optional[Callable[[Dict[str, Any]], None]] = None) -> Any:
        """Sends a request, and returns the answer. Raises `Error` with its sentence.

        on_event  gets the lines that come before the answer
        """
        text = _text(request)
        if os.getpid() != self._owner:
            raise Error("the lab belongs to the process that made it; make another one after fork()")
        with self._turn:
            if self._ended:
                raise Error("the lab has ended: its tasks answer while it is open")
            answer = self._answer(text, on_event)
        if "error" in answer:
            raise Error(answer["error"])
        return answer

    def _answer(self, text: str, on_event: Optional[Callable[[Dict[str, Any]], None]]) -> Any:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(text)
            self._process.stdin.flush()
            answer = self._read()
            while "event" in answer:
                if on_event is not None:
                    on_event(answer)
                answer = self._read()
            return answer
        except BrokenPipeError:
            return self._read()
        except BaseException as error:  # half of an answer may be on its way
            self._ended = True
            if not isinstance(error, Error):
                program.interrupt(self._process)
            raise

    def close(self) -> None:
        """Ends the process, after the answer that a thread waits for; its records are there."""
        if os.getpid() != self._owner:
            return
        with self._turn:
            self._ended = True
            self._end()

    def _end(self) -> None:
        if self._process.stdin is not None and not self._process.stdin.closed:
            try:
                self._process.stdin.close()
            except BrokenPipeError:
                pass
        program.wait(self._process)
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._errors.close()

    def __enter__(self) -> "Lab":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if kind is not None and not issubclass(kind, Exception):  # ^C: what is measured just now is not waited for
            program.interrupt(self._process)
        self.close()
