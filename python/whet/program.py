"""Runs the whet program. Tuning and compiling happen in processes of their own: a crash, a hang and ^C stay outside."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
import weakref
from pathlib import Path
from typing import Any, List, Mapping, Sequence, Tuple, Union

from .errors import Error, Note, UsageError

FAILED, WRONG_USE, INTERRUPTED = 1, 2, 130
_STARTED_IN = os.getcwd()  # what a relative $WHET is relative to
PathLike = Union[str, os.PathLike[str]]
_MAY_BE_REPEATED = ("shape", "until_ms", "max_error", "sizes", "tuning_sizes", "until", "define", "input", "device", "base", "without")


def path() -> str:
    """The program: `$WHET`, else the one that is packed with this package, else `whet` of `$PATH`."""
    named = os.environ.get("WHET")
    packed = Path(__file__).parent / "bin" / "whet"
    found = os.path.join(_STARTED_IN, named) if named else (str(packed) if packed.exists() else shutil.which("whet"))
    if not found:
        raise Error("the program whet is not found: set WHET to its path, or put it into PATH")
    return found


class Folder:
    """A folder that is deleted with this object, or at the end of the process that made it (not of its children)."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="whet-"))
        weakref.finalize(self, _delete, self.path, os.getpid())


def _delete(folder: Path, maker: int) -> None:
    if os.getpid() == maker:
        shutil.rmtree(folder, ignore_errors=True)


def file(value: Any, what: str) -> str:
    """The path of a file as the program takes it."""
    try:
        return os.fsdecode(value)
    except TypeError:
        raise UsageError(f"{what}: {value!r} is no path; expected a string or a pathlib.Path") from None


def main() -> None:
    """The command `whet` of an installed wheel: the program that is packed with this package takes this process's place."""
    packed = str(Path(__file__).parent / "bin" / "whet")
    os.execv(packed, [packed, *sys.argv[1:]])


def start(arguments: Sequence[str], **options: Any) -> "subprocess.Popen[str]":
    """Starts the program apart from this process's group: ^C reaches it by `interrupt` alone."""
    try:
        return subprocess.Popen([path(), *arguments], text=True, encoding="utf-8", errors="replace",
                                start_new_session=True, **options)
    except OSError as error:
        raise Error(f"{path()}: {error.strerror}") from None


def interrupt(process: "subprocess.Popen[str]") -> None:
    """As ^C does: it writes down what it has and ends."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)


def ask_to_end(process: "subprocess.Popen[str]") -> None:
    """The same, however long it takes to write all of it."""
    if process.poll() is None:
        process.terminate()


def wait(process: "subprocess.Popen[str]") -> None:
    """Waits for its end. ^C makes it end first; a second one ends it at once."""
    try:
        process.wait()
    except KeyboardInterrupt:
        interrupt(process)
        process.wait()
        raise


def sentence(stderr: str, status: int) -> str:
    """The error in what the program wrote to standard error."""
    lines = [line for line in stderr.splitlines() if line.strip()]
    errors = [line[len("whet: "):] for line in lines if line.startswith("whet: ")]
    if errors:
        return errors[-1]
    if status < 0:
        return f"whet was ended by {signal.Signals(-status).name}"
    return lines[-1] if lines else f"whet ended with exit code {status}"


def check(status: int, stderr: str) -> None:
    """Raises what the exit code means; else gives what was written to standard error as notes."""
    if status == INTERRUPTED:
        raise KeyboardInterrupt
    if status == WRONG_USE:
        raise UsageError(sentence(stderr, status))
    if status != 0:
        raise Error(sentence(stderr, status))
    for line in stderr.splitlines():
        if line.strip():
            warnings.warn(line, Note, stacklevel=4)


def _ended(arguments: Sequence[str]) -> Tuple[int, str, str]:
    """Runs a command to its end: its exit code, and what it printed and wrote to standard error."""
    process = start(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        stdout, stderr = process.communicate()
    except BaseException:
        interrupt(process)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()  # it waits for no reader
        wait(process)
        raise
    return process.returncode, stdout, stderr


def run(*arguments: str) -> str:
    """Runs a command to its end. Returns what it printed."""
    status, stdout, stderr = _ended(arguments)
    check(status, stderr)
    return stdout


def _json(text: str, command: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise Error(f"whet {command} printed no JSON: {text[:200]!r}") from None


def run_json(*arguments: str) -> Any:
    """Runs a command that prints JSON."""
    return _json(run(*arguments, "--json"), arguments[0])


def found_json(*arguments: str) -> Any:
    """The same of a command whose exit code says what it found: it fails where it prints nothing."""
    status, stdout, stderr = _ended([*arguments, "--json"])
    check(0 if status == FAILED and stdout.strip() else status, stderr)
    return _json(stdout, arguments[0])


def options(named: Mapping[str, object]) -> List[str]:
    """`{"round": 16, "no_pin": True, "tasks": [0, 2], "device": ["a", "b"]}` ->
    `--round 16 --no-pin --tasks 0,2 --device a --device b`."""
    words: List[str] = []
    for name, value in named.items():
        word = "--" + name.replace("_", "-")
        several = list(value) if isinstance(value, (list, tuple)) else [value]
        if len(several) > 1 and name not in _MAY_BE_REPEATED:
            several = [",".join(map(str, several))]
        for each in several:
            if each is True:
                words.append(word)
            elif each is not None and each is not False:
                words += [word, str(each)]
    return words
