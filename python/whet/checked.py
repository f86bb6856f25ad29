"""A model's answers on a user's data, and what `whet check --samples` says of them."""

from __future__ import annotations

import io
import os
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

import numpy as np

from . import program
from .errors import UsageError
from .program import PathLike
from .shown import short

#: A folder or a file; an array of samples along a new first dimension, or by the inputs' names several; or a list of samples, each an
#: array or arrays by name.
Samples = Union[PathLike, Mapping[str, Any], Sequence[Any], Any]


@dataclass(frozen=True)
class CheckedLimit:
    """A limit on an output, as the answers keep it."""

    output: str
    measure: str  #: "relative L2", "largest difference", "top1", ...
    limit: float
    measured: float  #: of the worst sample
    share: float  #: measured / allowed: above 1 where it is broken
    sample: str  #: the worst, or "all"
    kept: bool

    def __repr__(self) -> str:
        return f"CheckedLimit({short(self.output)}: {self.measure} {self.measured:.4g} of {self.limit:g}, {'kept' if self.kept else 'broken'})"


@dataclass(frozen=True)
class Checked:
    """Whether a model's answers are within limits on all samples."""

    kept: bool
    samples: int
    limits: List[CheckedLimit] = field(repr=False)
    details: Dict[str, Any] = field(repr=False)  #: all that whet told

    def __repr__(self) -> str:
        return f"Checked({'within the limits' if self.kept else 'beyond the limits'} on {self.samples} samples)"


def _write_npz(path: Path, tensors: Mapping[str, Any]) -> None:
    """As numpy.savez does, of any names, in C order."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, tensor in tensors.items():
            member = io.BytesIO()
            np.save(member, np.asarray(tensor, order="C"), allow_pickle=False)
            archive.writestr(f"{name}.npy", member.getvalue())


def _write(path: Path, sample: Any) -> None:
    """One file of a sample, or of several."""
    if isinstance(sample, Mapping):
        _write_npz(path.with_suffix(".npz"), sample)
    else:
        np.save(path.with_suffix(".npy"), np.asarray(sample, order="C"), allow_pickle=False)


def samples_path(samples: Optional[Samples], folders: List[program.Folder]) -> Optional[str]:
    """The value of `--samples`: arrays become files, whose folder then goes into `folders`."""
    if samples is None:
        return None
    if isinstance(samples, (str, os.PathLike)):
        return program.file(samples, "the samples")
    folders.append(program.Folder())
    folder = folders[-1].path
    if isinstance(samples, Mapping):
        _write(folder / "samples", samples)
        return str(folder / "samples.npz")
    if isinstance(samples, (list, tuple)):
        if not samples:
            raise UsageError("samples is an empty list; expected arrays, or dicts of arrays by the inputs' names")
        for number, sample in enumerate(samples):
            _write(folder / f"{number:05}", sample)
        return str(folder)
    _write(folder / "samples", samples)
    return str(folder / "samples.npy")


def run_check(words: Sequence[str]) -> Checked:
    """Runs `whet check --samples`."""
    found = program.found_json("check", *words)
    limits = [CheckedLimit(each["output"], each["measure"], each["limit"], each["measured"], each["share"], each["sample"], each["kept"])
              for each in found["limits"]]
    return Checked(found["kept"], found["samples"], limits, found)
