"""Search strategies and templates of your own, over `whet serve` (docs/formats/serve.md).

    with model.lab("own.jsonl") as lab:
        task = lab.tasks[3]
        for candidate, outcome in task.measure(task.sample(16)):
            print(candidate.choices, outcome.ms)
"""

from __future__ import annotations

import itertools
import json
import operator
import os
import random
import subprocess
import tempfile
import threading
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Type

from . import program
from .errors import Error, UsageError
from .options import LabOptions, shown

if TYPE_CHECKING:
    from typing_extensions import Unpack


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
class Candidate:
    """A schedule: a point of the task's space, or text of your own."""

    sketch: str
    choices: Mapping[str, Any] = field(default_factory=dict)
    steps: Optional[str] = field(default=None, repr=False)  #: a schedule of your own (docs/formats/schedule.md)

    def _json(self) -> Dict[str, Any]:
        choices = {name: [value] if isinstance(value, int) else value for name, value in self.choices.items()}
        words: Dict[str, Any] = {"sketch": self.sketch, "choices": choices}
        return words if self.steps is None else {**words, "steps": self.steps}


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
class Template:
    """Schedules of your own: options by name (integers, or lists of them), and a function that writes the steps for a choice.

    >>> template = whet.Template({"oc": [8, 16]}, lambda choice: f"split l1 {choice['oc']}")
    >>> [candidate.steps for candidate in template.all()]
    ['split l1 8', 'split l1 16']
    """

    decisions: Mapping[str, Sequence[Any]]
    steps: Callable[[Mapping[str, Any]], str]
    name: str = "own"

    def candidate(self, choice: Mapping[str, Any]) -> Candidate:
        """The schedule of one choice."""
        return Candidate(self.name, dict(choice), self.steps(choice))

    def all(self) -> List[Candidate]:
        """The schedules of all choices."""
        choices = itertools.product(*self.decisions.values())
        return [self.candidate(dict(zip(self.decisions, choice))) for choice in choices]

    def sample(self, count: int = 1, seed: int = 0) -> List[Candidate]:
        """Schedules of random choices; the same for the same seed.

        >>> template = whet.Template({"oc": [8, 16], "ic": [1, 2, 4]}, lambda choice: "")
        >>> [sorted(candidate.choices) for candidate in template.sample(2, seed=1)]
        [['ic', 'oc'], ['ic', 'oc']]
        """
        rng = random.Random(seed)
        return [self.candidate({name: rng.choice(options) for name, options in self.decisions.items()})
                for _ in range(count)]

    def neighbours(self, candidate: Candidate) -> List[Candidate]:
        """Those of this template that differ from `candidate` in one decision.

        >>> template = whet.Template({"oc": [8, 16], "ic": [1, 2]}, lambda choice: "")
        >>> [dict(each.choices) for each in template.neighbours(template.candidate({"oc": 8, "ic": 2}))]
        [{'oc': 16, 'ic': 2}, {'oc': 8, 'ic': 1}]
        """
        return [self.candidate({**candidate.choices, name: option})
                for name, options in self.decisions.items() for option in options if option != candidate.choices[name]]


class LabTask:
    """A task in a `Lab`."""

    def __init__(self, lab: "Lab", told: Mapping[str, Any]) -> None:
        self._lab = lab
        self.id: int = told["id"]
        self.name: str = told["name"]
        self.weight: int = told["weight"]
        self.flops: float = told["flops"]
        self.dag: str = told["dag"]

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

    def __init__(self, words: Sequence[str]) -> None:
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

    def ask(self, request: Mapping[str, Any]) -> Any:
        """Sends a request, and returns the answer. Raises `Error` with its sentence."""
        text = _text(request)
        if os.getpid() != self._owner:
            raise Error("the lab belongs to the process that made it; make another one after fork()")
        with self._turn:
            if self._ended:
                raise Error("the lab has ended: its tasks answer while it is open")
            answer = self._answer(text)
        if "error" in answer:
            raise Error(answer["error"])
        return answer

    def _answer(self, text: str) -> Any:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(text)
            self._process.stdin.flush()
            return self._read()
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
