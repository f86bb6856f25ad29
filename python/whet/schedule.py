"""The ops of a task, and schedules of them: lists of primitives as docs/formats/schedule.md has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Protocol, Sequence, Tuple

from .errors import UsageError


@dataclass(frozen=True)
class TaskAxis:
    """An axis of an op of a task."""

    name: str
    extent: int
    role: str  #: its meaning, like "row", "out_channel" or "tap"; "": none is known
    reduced: bool
    loop: int  #: its number in the naive schedule


@dataclass(frozen=True)
class TaskOp:
    """An op of a task: an input, or what is computed element by element."""

    number: int
    name: str
    is_input: bool
    family: str  #: the kind of operator that it comes from, like "conv" or "elementwise"; "": none is known
    reads: List[str]  #: names of the ops that it reads
    readers: List[str]
    axes: List[TaskAxis]  #: those of its result, then reduced ones


def ops_of(told: Sequence[Mapping[str, Any]]) -> List[TaskOp]:
    """The ops as the program tells them."""
    return [
        TaskOp(each["op"], each["name"], each["input"], each["family"], [told[op]["name"] for op in each["reads"]],
               [told[op]["name"] for op in each["readers"]],
               [TaskAxis(a["name"], a["extent"], a["role"], a["reduced"], a["loop"]) for a in each["axes"]]) for each in told
    ]


class HasOps(Protocol):
    """A task of a model or of a lab, or what a template's function gets."""

    @property
    def name(self) -> str:
        ...

    @property
    def ops(self) -> List[TaskOp]:
        ...


@dataclass(frozen=True)
class Loop:
    """A loop of a `Schedule`."""

    number: int
    name: str

    def __repr__(self) -> str:
        return f"Loop(l{self.number}: {self.name})"


class Schedule:
    """A schedule of a task, step by step; `str` gives its text. It knows how loops are numbered; whether a step is legal, the program
    says.

    Steps that change the ops themselves (`cache_read`, `winograd`, ...) are written as text.

    >>> from whet import op
    >>> a, b = op.input("a", 64, 32), op.input("b", 32, 64)
    >>> i, j, k = op.axis("i", 64), op.axis("j", 64), op.axis("k", 32)
    >>> task = whet.load(op.compute("c", (i, j), op.sum(a[i, k] * b[k, j], over=k))).tasks()[0]
    >>> s = whet.Schedule(task)
    >>> i, j, k = s.loops("c")
    >>> jo, ji = s.split(j, 16)
    >>> print(s.reorder(jo, k, ji).vectorize(ji).parallel(i))
    split l1 16 guard; reorder l3 l2 l4; vectorize l4; parallel l0
    """

    def __init__(self, task: HasOps) -> None:
        self._task = task
        self._ops: Dict[str, TaskOp] = {op.name: op for op in task.ops}
        self._loops = {axis.loop: Loop(axis.loop, axis.name) for op in task.ops for axis in op.axes}
        self._next = len(self._loops)
        self._of = {op.name: [axis.loop for axis in op.axes] for op in task.ops}
        self._gone: Dict[int, str] = {}
        self._steps: List[str] = []

    def __str__(self) -> str:
        return "; ".join(self._steps)

    def __repr__(self) -> str:
        return f"Schedule({self})"

    def loops(self, op: str) -> List[Loop]:
        """The loops that an op begins with, one an axis: those of its result, then reduced ones."""
        self._op(op)
        return [self._loops[number] for number in self._of[op]]

    def split(self, loop: Loop, factor: int, tail: str = "guard") -> Tuple[Loop, Loop]:
        """Two nested loops, the inner one of `factor` iterations.

        tail  where the factor does not divide: "guard", or "overlap", which computes some elements twice
        """
        number = self._loop(loop)
        self._step(f"split l{number} {int(factor)} {tail}", number)
        return self._new(f"{loop.name}.0"), self._new(f"{loop.name}.1")

    def fuse(self, *loops: Loop) -> Loop:
        """Loops that are directly nested become one."""
        numbers = [self._loop(loop) for loop in loops]
        self._step("fuse " + self._words(numbers), *numbers)
        return self._new("·".join(loop.name for loop in loops))

    def reorder(self, *loops: Loop) -> "Schedule":
        """These loops of one op change places among themselves, outermost first."""
        return self._step("reorder " + self._words([self._loop(loop) for loop in loops]))

    def parallel(self, loop: Loop) -> "Schedule":
        """All workers run it together."""
        return self._step(f"parallel l{self._loop(loop)}")

    def vectorize(self, loop: Loop) -> "Schedule":
        return self._step(f"vectorize l{self._loop(loop)}")

    def unroll(self, loop: Loop) -> "Schedule":
        return self._step(f"unroll l{self._loop(loop)}")

    def bind(self, loop: Loop, to: str) -> "Schedule":
        """The loop runs on a GPU's "block", "thread", "virtual" threads or "warp"."""
        return self._step(f"bind l{self._loop(loop)} {to}")

    def inline(self, op: str) -> "Schedule":
        """The op disappears into its readers."""
        return self._step(f"inline o{self._op(op)}")

    def compute_at(self, op: str, loop: Loop, stored_in: str = "") -> List[Loop]:
        """The op is computed under a loop of its readers; gives its new loops.

        stored_in  "registers", or "block" for memory that the threads of a GPU's block share
        """
        return self._placed(f"compute_at o{self._op(op)} l{self._loop(loop)}" + (f" {stored_in}" if stored_in else ""), op)

    def reverse_compute_at(self, op: str, loop: Loop, registers: bool = False) -> List[Loop]:
        """The op is computed under a loop of what it reads; gives its new loops."""
        return self._placed(f"reverse_compute_at o{self._op(op)} l{self._loop(loop)}" + (" registers" if registers else ""), op)

    def cache_write(self, op: str, loop: Loop) -> "Schedule":
        """While the loop runs once, the elements of the op that it touches are kept in registers."""
        return self._step(f"cache_write o{self._op(op)} l{self._loop(loop)}")

    def rfactor(self, loop: Loop) -> "Schedule":
        """The iterations of a reduced loop have partial results of their own, so that vectors or threads can run them."""
        return self._step(f"rfactor l{self._loop(loop)}")

    def pack(self, tensor: str, reader: str) -> "Schedule":
        """A constant is laid out in the order in which the loops of `reader` read it."""
        return self._step(f"pack o{self._op(tensor)} o{self._op(reader)}")

    def _placed(self, step: str, op: str) -> List[Loop]:
        self._step(step, *self._of[op])
        loops = [self._new(axis.name) for axis in self._ops[op].axes]
        self._of[op] = [loop.number for loop in loops]
        return loops

    def _step(self, text: str, *ended: int) -> "Schedule":
        self._steps.append(text)
        self._gone.update({number: text for number in ended})
        return self

    def _new(self, name: str) -> Loop:
        loop = Loop(self._next, name)
        self._loops[loop.number] = loop
        self._next += 1
        return loop

    def _loop(self, loop: Loop) -> int:
        if self._loops.get(getattr(loop, "number", -1)) != loop:
            raise UsageError(f"{loop!r} is no loop of this schedule")
        if loop.number in self._gone:
            raise UsageError(f"{loop!r} is there no more after the step \"{self._gone[loop.number]}\"; name the loops that it became")
        return loop.number

    def _op(self, name: str) -> int:
        if name not in self._ops:
            raise UsageError(f"{self._task.name} has no op {name!r}; its ops are {', '.join(self._ops)}")
        return self._ops[name].number

    @staticmethod
    def _words(numbers: Sequence[int]) -> str:
        return " ".join(f"l{number}" for number in numbers)
