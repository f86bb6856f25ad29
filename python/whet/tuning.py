"""Runs `whet tune` and reads its events (docs/formats/events.md)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field, replace
from typing import IO, Any, Callable, Dict, List, Optional, Sequence

from . import program
from .errors import Error
from .shown import milliseconds, short

EVENTS_VERSION = 1


@dataclass(frozen=True)
class Progress:
    """How far a run is. Times of the network are sums of weight x latency over its tasks, in milliseconds."""

    seconds: float  #: since the start
    trials: int
    allowed_seconds: Optional[float]  #: of the whole call
    allowed_trials: Optional[int]
    default_ms: Optional[float]  #: by default schedules
    network_ms: Optional[float]  #: by the best ones
    event: Dict[str, Any] = field(repr=False)  #: all that whet told

    @property
    def part(self) -> float:
        """0 to 1: how much of the trials or the time is used up; 0 where there is no limit."""
        parts = [0.0]
        if self.allowed_seconds:
            parts.append(self.seconds / self.allowed_seconds)
        if self.allowed_trials:
            parts.append(self.trials / self.allowed_trials)
        return min(1.0, max(parts))

    def __str__(self) -> str:
        times = "" if self.network_ms is None else f"{self.network_ms:.3f} ms"
        compared = self.event.get("compared") or {}  # sums over the same tasks
        if compared.get("default_ms") and compared.get("best_ms"):
            times += f" ({compared['default_ms'] / compared['best_ms']:.2f}x)"
        return f"{self.part:4.0%}  {self.trials} trials  {self.seconds:.0f} s  {times}"


@dataclass(frozen=True)
class Tuned:
    """What came of a run. Milliseconds of one inference of the whole network; None where it was not measured."""

    untuned_ms: Optional[float]  #: as `compile` without records makes it
    tuned_ms: Optional[float]
    trials: int
    seconds: float
    interrupted: bool
    records: str
    details: Dict[str, Any] = field(repr=False)  #: the `finished` event

    def __repr__(self) -> str:
        network = "not measured as a whole"
        if self.untuned_ms and self.tuned_ms:
            times = milliseconds(self.untuned_ms), milliseconds(self.tuned_ms)
            network = f"{times[0]} -> {times[1]}, {self.untuned_ms / self.tuned_ms:.2f}x"
        ended = ", interrupted" if self.interrupted else ""
        return f"Tuned({network}; {self.trials} trials in {self.seconds:.0f} s{ended}; {short(self.records)})"

    @property
    def gain(self) -> Optional[float]:
        """Untuned by tuned, measured alternately."""
        return self.untuned_ms / self.tuned_ms if self.untuned_ms and self.tuned_ms else None

    @property
    def precision(self) -> Optional[Dict[str, Any]]:
        """What became of `precision="auto"` or `"int8"`: the members of the event `precision` (docs/formats/events.md), as `adopted`, `why_not`,
        `network_ms`, `f32_network_ms`, `worst_held_out_error` and `by_layer`; None without it."""
        return self.details.get("precision")

    @property
    def unwritten(self) -> Optional[str]:
        """Why the file of `write_quantized` could not be written, a sentence; None where it was, or none was to be."""
        return self.details.get("unwritten")


class Bar:
    """A line that is drawn anew: on a terminal, or in a notebook."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._in_notebook = "ipykernel" in sys.modules
        self._on_terminal = sys.stderr is not None and sys.stderr.isatty()

    def show(self, progress: Progress) -> None:
        """Draws it."""
        if self._in_notebook:
            self._show_in_notebook(progress)
        elif self._on_terminal:
            full = round(30 * progress.part)
            sys.stderr.write(f"\r\x1b[K{'█' * full}{'·' * (30 - full)} {progress}")
            sys.stderr.flush()

    def _show_in_notebook(self, progress: Progress) -> None:
        from IPython.display import HTML, display

        page = HTML(f"<progress max=1 value={progress.part:.3f}></progress> {progress}")
        if self._handle is None:
            self._handle = display(page, display_id=True)
        else:
            self._handle.update(page)

    def end(self) -> None:
        """Leaves the line."""
        if self._on_terminal and not self._in_notebook:
            sys.stderr.write("\n")


def _progress_of(event: Dict[str, Any]) -> Progress:
    return Progress(event["seconds"], event["trials"], event["allowed_seconds"], event["allowed_trials"],
                    event["default_ms"], event["best_ms"], event)


def _tuned_of(event: Dict[str, Any]) -> Tuned:
    network = event.get("network") or {}
    return Tuned(network.get("untuned_ms") or None, network.get("tuned_ms") or None, event["trials"], event["seconds"],
                 event["interrupted"], event["records"], event)


def _read_events(events: IO[str], told: Callable[[Progress], None],
                 shown: Callable[[Progress], None] = lambda progress: None) -> Optional[Tuned]:
    """Tells rounds, and shows how far the phases after them are."""
    finished: Optional[Tuned] = None
    last: Optional[Progress] = None
    for line in events:
        event = json.loads(line)
        if event["v"] > EVENTS_VERSION:
            raise Error(f"the program's events have version {event['v']}; this package reads {EVENTS_VERSION}")
        if event["event"] == "round":
            last = _progress_of(event)
            told(last)
        elif last and last.allowed_seconds and event.get("left_seconds") is not None:
            last = replace(last, seconds=last.allowed_seconds - event["left_seconds"])
            shown(last)
        elif event["event"] == "finished":
            finished = _tuned_of(event)
    return finished


def run_tune(words: Sequence[str], on_progress: Optional[Callable[[Progress], Optional[bool]]], shown: bool) -> Tuned:
    """Tunes. ^C is passed on; what was measured until then is in the record file, and KeyboardInterrupt goes on."""
    read_end, write_end = os.pipe()
    bar = Bar() if shown and on_progress is None else None
    with open(read_end, encoding="utf-8") as events, tempfile.TemporaryFile("w+", encoding="utf-8") as stderr:
        try:
            process = program.start(["tune", *words, "-q", "--events", str(write_end)], stdout=subprocess.DEVNULL,
                                    stderr=stderr, pass_fds=[write_end])
        finally:
            os.close(write_end)
        stopped: List[bool] = []

        def told(progress: Progress) -> None:
            if bar is not None:
                bar.show(progress)
            if on_progress is not None and on_progress(progress) is False and not stopped:
                stopped.append(True)
                program.ask_to_end(process)

        try:
            finished = _read_events(events, told, bar.show if bar is not None else lambda progress: None)
        except BaseException:
            program.interrupt(process)
            try:
                for _ in events:  # until it has written down what it has
                    pass
            except KeyboardInterrupt:
                program.interrupt(process)
            raise
        finally:
            program.wait(process)
            if bar is not None:
                bar.end()
        stderr.seek(0)
        if not (stopped and process.returncode == program.INTERRUPTED):
            program.check(process.returncode, stderr.read())
    if finished is None:
        raise Error("the run was ended before anything was measured" if stopped else "whet tune told no end of its run")
    return finished
