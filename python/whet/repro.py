"""What `whet repro` finds: whether record files and record bases are true on this machine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence

from . import program
from .errors import Error
from .shown import short
from .sizes import Lengths, Sizes, TuningSizes, words_of_sizes


@dataclass(frozen=True)
class RemeasuredTask:
    """A task whose best records were measured again, alternately with its default schedule."""

    id: int
    name: str
    weight: float  #: how often the model runs it
    default_ms: Optional[float]  #: by the default schedule, now
    drift: Optional[float]  #: now over then, the median of its schedules
    correlation: Optional[float]  #: of the times of then and now (Spearman's)
    other_best: bool  #: the best of then is the best no longer
    schedules: List[Dict[str, Any]] = field(repr=False)  #: `then_ms`, `now_ms` and `failure` of each, the best of then first

    def __repr__(self) -> str:
        drift = "fails" if self.drift is None else f"{self.drift:.3f} x then"
        return f"RemeasuredTask({self.id}: {short(self.name)}, {drift}{', another is best' if self.other_best else ''})"


@dataclass(frozen=True)
class Reproduction:
    """Whether a record file is true on this machine."""

    verdict: str  #: "reproduced", "choices hold", "not reproduced" or "unknown"
    sentence: str  #: the same for people
    drift: Optional[float]  #: now over then: the median, by the tasks' shares of the network
    correlation: Optional[float]  #: of the order of times (Spearman's)
    interrupted: bool
    tasks: List[RemeasuredTask] = field(repr=False)
    details: Dict[str, Any] = field(repr=False)  #: all that whet told

    def __repr__(self) -> str:
        return f"Reproduction({self.verdict}: {short(self.sentence)})"

    @property
    def holds(self) -> bool:
        """Who compiles with these records gets what is best here."""
        return self.verdict in ("reproduced", "choices hold")


@dataclass(frozen=True)
class Admission:
    """Which entries of a network stay in a record base."""

    stay: int
    out: int
    agreement: Optional[float]  #: gain now over claimed gain, the median
    interrupted: bool
    entries: List[Dict[str, Any]] = field(repr=False)  #: `task`, `sketch`, `claimed`, `now` and `out` (why it goes out, or empty) of each

    def __repr__(self) -> str:
        return f"Admission({self.stay} of {self.stay + self.out} entries stay)"


def _asked(file: str, words: Sequence[str]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = program.found_json("repro", file, "--model", *words)
    return found


def run_repro(file: str, words: Sequence[str]) -> Reproduction:
    """Measures the best of a record file again."""
    found = _asked(file, words)
    if "verdict" not in found:
        raise Error(f"{file}: is a record base; Model.admit tests its entries")
    tasks = [
        RemeasuredTask(each["id"], each["name"], each["weight"], each["default_ms"], each["drift"], each["correlation"],
                       each["other_best"], each["schedules"]) for each in found["tasks"]
    ]
    return Reproduction(found["verdict"], found["sentence"], found["drift"], found["correlation"], found["interrupted"],
                        tasks, dict(found))


def run_admission(file: str, words: Sequence[str]) -> Admission:
    """Measures what a network taught a record base again."""
    found = _asked(file, words)
    if "stay" not in found:
        raise Error(f"{file}: is no record base; Model.repro measures records again")
    return Admission(found["stay"], found["out"], found["agreement"], found["interrupted"], found["entries"])


def pack(files: Sequence[program.PathLike], output: program.PathLike, model: Any = None, name: Optional[str] = None,
         without: Sequence[str] = (), sizes: Optional[Sizes] = None, tuning_sizes: Optional[TuningSizes] = None,
         lengths: Optional[Lengths] = None) -> str:
    """Writes a record base of what record files teach about other networks, or joins bases; returns its path.

    files    record files of `model`, each of a run, and record bases; without a model, bases alone
    name     what the base calls the model; None: its file's name, and its batch
    without  networks whose lessons are left out
    sizes, tuning_sizes, lengths
             of a model with sizes, as `tune` took them: those at which it was tuned teach

    >>> tuned = whet.load("zoo:mlp").tune(trials=24, records="taught.jsonl", no_base=True, no_network=True, progress=False)
    >>> whet.pack([tuned.records], "own.jsonl", model=whet.load("zoo:mlp"))
    'own.jsonl'
    """
    base = program.file(output, "the record base")
    folders: List[program.Folder] = []  # live as long as the run
    of_sizes = words_of_sizes(sizes, tuning_sizes, lengths, folders)
    asked: Dict[str, object] = {"output": base, "name": name, "without": list(without), **of_sizes}
    words = program.options(asked) if model is None else ["--model", *model._words(None, asked)]
    program.run("records", "pack", *(program.file(each, "records") for each in files), *words)
    return base
