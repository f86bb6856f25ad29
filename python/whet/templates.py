"""Templates, rules and schedules of your own (docs/python.md#templates-of-your-own).

    @whet.template(name="own-matmul")
    def blocked(task):
        rows, columns = task.split("i"), task.split("j")

        def steps(choice):
            s = whet.Schedule(task)
            i, j, k = s.loops("matmul")
            (io, ii), (jo, ji) = s.split(i, choice[rows][-1]), s.split(j, choice[columns][-1])
            return s.reorder(io, jo, k, ii, ji).vectorize(ji).parallel(io)

        return steps

    model.tune(trials=200, templates=[blocked])

A template is a table for the program: a row of steps for each choice. The program searches it by its own strategies; nothing here is
called while it does.
"""

from __future__ import annotations

import itertools
import json
import math
import operator
import random
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Protocol, Sequence, Tuple, Union

from .errors import Note, UsageError
from .schedule import Schedule, TaskAxis, TaskOp

MOST_ROWS = 20000  #: of all templates of a task

Choice = Mapping[str, Any]  #: by the names of decisions: an integer, or the sizes of tiles
Steps = Callable[[Any], Union[str, Schedule, None]]


@dataclass(frozen=True)
class Candidate:
    """A schedule: a point of the task's space, or text of your own."""

    sketch: str
    choices: Choice = field(default_factory=dict)
    steps: Optional[str] = field(default=None, repr=False)  #: a schedule of your own (docs/formats/schedule.md)

    def _json(self) -> Dict[str, Any]:
        choices = {name: [value] if isinstance(value, int) else value for name, value in self.choices.items()}
        words: Dict[str, Any] = {"sketch": self.sketch, "choices": choices}
        return words if self.steps is None else {**words, "steps": self.steps}


@dataclass(frozen=True)
class Template:
    """Schedules of your own: options by name (integers, or lists of them), and a function that writes the steps for a choice, as text
    or a `Schedule`. None in place of steps leaves the choice out.

    >>> template = whet.Template({"oc": [8, 16]}, lambda choice: f"split l1 {choice['oc']}")
    >>> [candidate.steps for candidate in template.all()]
    ['split l1 8', 'split l1 16']
    """

    decisions: Mapping[str, Sequence[Any]]
    steps: Steps
    name: str = "own"
    extents: Mapping[str, int] = field(default_factory=dict)  #: of the axes that decisions cut into tiles

    def candidate(self, choice: Choice) -> Candidate:
        """The schedule of one choice."""
        found = self._candidate(choice)
        if found is None:
            raise UsageError(f"template {self.name} leaves this choice out: {dict(choice)}")
        return found

    def _candidate(self, choice: Choice) -> Optional[Candidate]:
        steps = self.steps(choice)
        return None if steps is None else Candidate(self.name, dict(choice), str(steps))

    def all(self) -> List[Candidate]:
        """The schedules of all choices."""
        return _there(self._candidate(choice) for choice in self._choices(range(self._count())))

    def _count(self) -> int:
        return math.prod(len(options) for options in self.decisions.values())

    def _choices(self, numbers: Iterable[int]) -> Iterable[Dict[str, Any]]:
        """Choices by number, the last decision fastest."""
        options = list(self.decisions.items())
        for number in numbers:
            chosen = {}
            for name, each in reversed(options):
                number, at = divmod(number, len(each))
                chosen[name] = each[at]
            yield {name: chosen[name] for name, _ in options}

    def sample(self, count: int = 1, seed: int = 0) -> List[Candidate]:
        """Schedules of random choices; the same for the same seed.

        >>> template = whet.Template({"oc": [8, 16], "ic": [1, 2, 4]}, lambda choice: "")
        >>> [sorted(candidate.choices) for candidate in template.sample(2, seed=1)]
        [['ic', 'oc'], ['ic', 'oc']]
        """
        rng = random.Random(seed)
        drawn = ({name: rng.choice(options) for name, options in self.decisions.items()} for _ in range(100 * count))
        return list(itertools.islice(filter(None, map(self._candidate, drawn)), count))

    def neighbours(self, candidate: Candidate) -> List[Candidate]:
        """Those of this template that differ from `candidate` in one decision.

        >>> template = whet.Template({"oc": [8, 16], "ic": [1, 2]}, lambda choice: "")
        >>> [dict(each.choices) for each in template.neighbours(template.candidate({"oc": 8, "ic": 2}))]
        [{'oc': 16, 'ic': 2}, {'oc': 8, 'ic': 1}]
        """
        return _there(self._candidate({**candidate.choices, name: option})
                      for name, options in self.decisions.items() for option in options if option != candidate.choices[name])

    def table(self, most: int = MOST_ROWS) -> Dict[str, Any]:
        """The members of a request `template` (docs/formats/serve.md): decisions and rows. Where there are more than `most` choices, `most`
        of them are drawn at random, and a note says that."""
        count = self._count()
        numbers: Iterable[int] = range(count)
        if count > most:
            numbers = sorted(random.Random(0).sample(range(count), most))
            warnings.warn(f"template {self.name}: {most} of {count} choices, drawn at random", Note, stacklevel=3)
        rows = [[*(_plain(value) for value in each.choices.values()), each.steps]
                for each in _there(map(self._candidate, self._choices(numbers)))]
        if not rows:
            raise UsageError(f"template {self.name} writes steps for no choice")
        decisions = [{"name": name, "options": [_plain(option) for option in options], "extent": self.extents.get(name, 0)}
                     for name, options in self.decisions.items()]
        return {"name": self.name, "decisions": decisions, "rows": rows}


def _there(candidates: Iterable[Optional[Candidate]]) -> List[Candidate]:
    return [each for each in candidates if each is not None]


def _plain(option: Any) -> Any:
    """An option as JSON has it."""
    try:
        return int(operator.index(option))
    except TypeError:
        pass
    try:
        return [int(operator.index(each)) for each in option]
    except TypeError:
        raise UsageError(f"the option {option!r} is neither an integer nor a list of integers") from None


class AnyTask(Protocol):
    """A task of a model or of a lab."""

    @property
    def name(self) -> str:
        ...

    @property
    def dag(self) -> str:
        ...

    @property
    def ops(self) -> List[TaskOp]:
        ...


class TemplateTask:
    """What a template's function gets: a task whose decisions it names."""

    def __init__(self, task: AnyTask, template: str) -> None:
        self.name, self.dag, self.ops = task.name, task.dag, task.ops
        self._template = template
        self._decisions: Dict[str, Sequence[Any]] = {}
        self._extents: Dict[str, int] = {}

    def __repr__(self) -> str:
        return f"TemplateTask({self.name})"

    def op(self, name: str) -> Optional[TaskOp]:
        """The op of this name; None where there is none."""
        return next((each for each in self.ops if each.name == name), None)

    def split(self, axis: str, levels: int = 2, of: Optional[str] = None) -> str:
        """A decision: the sizes of tiles, outermost first, whose product is the extent of an axis; all that there are.

        axis  by its name or its role
        of    the op, where axes of several ops are called so

        >>> from whet import op
        >>> x, i = op.input("x", 6), op.axis("i", 6)
        >>> @whet.template(name="halves")
        ... def halves(task):
        ...     tiles = task.split("i")
        ...     return lambda choice: ""
        >>> halves.of(whet.load(op.compute("y", i, x[i] + 1)).tasks()[0]).decisions
        {'i': [[6, 1], [3, 2], [2, 3], [1, 6]]}
        """
        found = self._axis(axis, of)
        return self._decide(axis if of is None else f"{of}.{axis}", _tilings(found.extent, levels), found.extent)

    def choose(self, name: str, options: Sequence[int]) -> str:
        """A decision: one of these integers."""
        return self._decide(name, [int(operator.index(option)) for option in options], 0)

    def _decide(self, name: str, options: Sequence[Any], extent: int) -> str:
        if name in self._decisions:
            raise UsageError(f"template {self._template} has two decisions that are called {name}")
        self._decisions[name], self._extents[name] = options, extent
        return name

    def _axis(self, name: str, of: Optional[str]) -> TaskAxis:
        ops = [each for each in self.ops if of in (None, each.name)]
        axes = [axis for each in ops for axis in each.axes]
        found = [axis for axis in axes if axis.name == name] or [axis for axis in axes if axis.role == name]
        if not found:
            names = ", ".join(dict.fromkeys(axis.name for axis in axes)) or "none"
            raise UsageError(f"template {self._template}: {self.name} has no axis {name!r}; its axes are {names}. A template that is not "
                             "for a task returns None")
        if len({axis.extent for axis in found}) > 1:
            raise UsageError(f"template {self._template}: several axes of {self.name} are called {name!r}, with different extents; "
                             f"split({name!r}, of=...) names the op")
        return found[0]


def _tilings(extent: int, levels: int) -> List[List[int]]:
    """All lists of `levels` factors whose product is `extent`."""
    if levels < 1:
        raise UsageError(f"levels is {levels}; expected 1 or more")
    if levels == 1:
        return [[extent]]
    inner = [factor for factor in range(1, extent + 1) if extent % factor == 0]
    return [[*outer, factor] for factor in inner for outer in _tilings(extent // factor, levels - 1)]


class TaskTemplate:
    """A template that looks at a task first; made by `@whet.template`."""

    def __init__(self, function: Callable[[TemplateTask], Optional[Steps]], name: str) -> None:
        self.function, self.name = function, name

    def __repr__(self) -> str:
        return f"TaskTemplate({self.name})"

    def of(self, task: AnyTask) -> Optional[Template]:
        """The template of one task; None where it is not for it."""
        view = TemplateTask(task, self.name)
        steps = self.function(view)
        return None if steps is None else Template(view._decisions, steps, self.name, view._extents)


def template(name: str) -> Callable[[Callable[[TemplateTask], Optional[Steps]]], TaskTemplate]:
    """Makes a template of a function, which is called once a task: it names the decisions, and returns a function from a choice to a
    `Schedule`, or None where the template is not for the task. Records and `whet explain` know its schedules by `name`."""
    return lambda function: TaskTemplate(function, name)


AnyTemplate = Union[Template, TaskTemplate]


@dataclass(frozen=True)
class Rule:
    """Which templates an op asks for; made by `@whet.rule`."""

    function: Callable[[TaskOp], Union[AnyTemplate, Sequence[AnyTemplate], None]]
    alone: bool = False

    def templates(self, op: TaskOp) -> List[AnyTemplate]:
        """Those for tasks that have this op."""
        found = self.function(op)
        return [] if found is None else [found] if isinstance(found, (Template, TaskTemplate)) else list(found)


def rule(function: Any = None, *, alone: bool = False) -> Any:
    """Makes a rule of a function from an op (`TaskOp`) of a task to a template for the task, several, or None.

    alone  nothing but these templates is searched where there are any

    >>> @whet.rule
    ... def sums(op):
    ...     return whet.Template({}, lambda choice: "") if any(axis.reduced for axis in op.axes) else None
    >>> [len(sums.templates(each)) for each in whet.load("zoo:mlp").tasks()[0].ops]
    [0, 0, 0, 1, 0, 0]
    """
    return Rule(function, alone) if function is not None else lambda later: Rule(later, alone)


def tables_of(task: AnyTask, templates: Sequence[AnyTemplate], rules: Sequence[Rule], only: bool) -> List[Dict[str, Any]]:
    """The requests `template` for a task, without its number."""
    chosen: List[AnyTemplate] = list(templates)
    alone = only
    for asks in rules:
        asked = [found for op in task.ops if not op.is_input for found in asks.templates(op)]
        for wanted in asked:
            if not any(wanted is other for other in chosen):
                chosen.append(wanted)
        alone = alone or (asks.alone and bool(asked))
    of_task = [each.of(task) if isinstance(each, TaskTemplate) else each for each in chosen]
    there = [each for each in of_task if each is not None]
    names = [each.name for each in there]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"two templates of {task.name} are called {name!r}; records know schedules by these names")
    return [{"do": "template", "alone": alone, **each.table(MOST_ROWS // len(there))} for each in there]


def write_tables(path: Path, tasks: Sequence[Any], templates: Sequence[AnyTemplate], rules: Sequence[Rule], only: bool) -> List[int]:
    """The file of `whet tune --templates`; gives the numbers of the tasks that have templates."""
    ids = []
    with open(path, "w", encoding="utf-8") as file:
        for task in tasks:
            for table in tables_of(task, templates, rules, only):
                file.write(json.dumps({"task": task.id, "key": task.key, **table}) + "\n")
                ids.append(task.id)
    if not ids:
        raise UsageError("the templates and rules are for none of the tasks")
    return list(dict.fromkeys(ids))
