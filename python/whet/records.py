"""Record files: every measurement that was ever made, a line each."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Optional

from . import program
from .errors import Error
from .program import PathLike
from .shown import milliseconds, short


@dataclass(frozen=True)
class Record:
    """A measured candidate. Times are seconds; infinity where it did not run."""

    task: str  #: readable name of the task
    key: str
    target: str
    seconds: float  #: the fastest of its runs, at the pace of the task's champion
    outcome: int  #: 0: it ran; else a code of `whet.explain("error", code)`
    message: str  #: why, where it did not run
    sketch: str
    choices: Dict[str, Any]
    steps: str  #: the schedule as text
    round: int
    at: str  #: time in UTC
    ranks_by: float  #: what decides which record is the best: `seconds`, or what the whole network's time made of them

    def __repr__(self) -> str:
        what = milliseconds(1e3 * self.seconds) if self.ok else f"error {self.outcome}, {short(self.message)}"
        return f"Record({short(self.task)}: {what})"

    @property
    def ok(self) -> bool:
        """Whether it ran."""
        return self.outcome == 0

    @staticmethod
    def of(line: Dict[str, Any]) -> "Record":
        """The record that a line of a file holds."""
        task, key = line.get("task", {}), line.get("task", {}).get("key", "")
        seconds = min(line.get("seconds") or [math.inf]) / line.get("pace", 1)
        return Record(task.get("name", ""), key if isinstance(key, str) else json.dumps(key, separators=(",", ":")),
                      line["target"], seconds, line["outcome"], line.get("message", ""),
                      line.get("sketch", ""), line.get("choices", {}), line.get("steps", ""), line.get("round", 0),
                      line.get("at", ""), line.get("ranks_as", seconds))


@dataclass(frozen=True)
class Failure:
    """Equal failures."""

    outcome: int
    name: str
    message: str
    count: int


class Records:
    """A record file. Iterating reads it from the beginning; lines that hold no measurement are left out.

    >>> tuned = whet.load("zoo:mlp").tune(trials=4, records="four.jsonl", progress=False)
    >>> records = whet.Records("four.jsonl")
    >>> len(records) >= 4, all(record.ok for record in records.best())
    (True, True)
    >>> whet.Records("nowhere.jsonl")
    Traceback (most recent call last):
    whet.errors.Error: nowhere.jsonl: there is no such record file; `tune` writes it
    """

    def __init__(self, path: PathLike) -> None:
        self.path = program.file(path, "records")
        if not os.path.exists(self.path):
            raise Error(f"{self.path}: there is no such record file; `tune` writes it")
        if not os.path.isfile(self.path):
            raise Error(f"{self.path}: is no file; `tune` writes record files")

    def __repr__(self) -> str:
        return f"Records({short(self.path)})"

    def __iter__(self) -> Iterator[Record]:
        with open(self.path, encoding="utf-8", errors="replace") as lines:
            for text in lines:
                record = _record_of(text)
                if record is not None:
                    yield record

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def best(self) -> List[Record]:
        """The fastest record of each task and target, as `compile` takes it."""
        printed = program.run("records", "best", self.path, "--json")
        found = (_record_of(line) for line in printed.splitlines())
        return [record for record in found if record is not None]

    def failures(self) -> List[Failure]:
        """What failed, the most frequent first."""
        listed = program.run_json("records", "stats", self.path)["failures"]
        return [Failure(each["outcome"], each["name"], each["message"], each["count"]) for each in listed]

    def frame(self) -> Any:
        """A `pandas.DataFrame` with a row a record."""
        import pandas

        return pandas.DataFrame([vars(record) for record in self])


def _record_of(text: str) -> Optional[Record]:
    try:
        line = json.loads(text)
        return Record.of(line) if isinstance(line, dict) and "outcome" in line else None
    except (ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError):
        return None
