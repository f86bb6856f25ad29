"""Sizes of models that a file leaves open, as Python writes them and as the program takes them."""

import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from . import program

Sizes = Mapping[str, Union[int, Sequence[int]]]  #: {"x.0": [1, 2, 4, 8], "n": (1, 512)}
TuningSizes = Sequence[Union[int, Sequence[int]]]  #: [16, 64, 256], or of two sizes [(1, 16), (8, 128)]
Lengths = Union[program.PathLike, TuningSizes]  #: a file, or [24, 31, 24], or of two sizes [(1, 24), (2, 31)]


def words_of_sizes(sizes: Optional[Sizes], tuning_sizes: Optional[TuningSizes], lengths: Optional[Lengths],
                   folders: List[program.Folder]) -> Dict[str, object]:
    """The options `--sizes`, `--tuning-sizes` and `--lengths`. The folder of a file that is written goes into `folders`."""
    return {"sizes": _sizes(sizes), "tuning_sizes": _values(tuning_sizes), "lengths": _lengths(lengths, folders)}


def _sizes(sizes: Optional[Sizes]) -> List[str]:
    """The values of `--sizes`: an int fixes, a tuple is a range, a list names sizes."""
    words = []
    for name, values in (sizes or {}).items():
        if isinstance(values, tuple) and len(values) in (2, 3):
            step = f":{values[2]}" if len(values) == 3 else ""
            words.append(f"{name}={values[0]}..{values[1]}{step}")
        else:
            words.append(f"{name}={{{','.join(map(str, _listed(values)))}}}")
    return words


def _listed(values: Any) -> List[Any]:
    """One number, also of numpy, is a list of it."""
    return [values] if hasattr(values, "__index__") and not hasattr(values, "__len__") else list(values)


def _values(sizes: Optional[TuningSizes]) -> List[str]:
    return [] if sizes is None else ["x".join(map(str, _listed(each))) for each in sizes]


def _lengths(lengths: Optional[Lengths], folders: List[program.Folder]) -> Optional[str]:
    """A file, which is written where requests are listed."""
    if lengths is None or isinstance(lengths, (str, os.PathLike)):
        return None if lengths is None else program.file(lengths, "the requests")
    folders.append(program.Folder())
    file = folders[-1].path / "lengths.txt"
    file.write_text("\n".join(_values(lengths)) + "\n")
    return str(file)
