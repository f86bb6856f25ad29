"""whet sharpens a neural network for the machine it will run on.

    import whet
    model = whet.load("model.onnx")
    model.tune(minutes=5, records="model.jsonl")
    exe = model.compile("model.so", records="model.jsonl")
    y = exe(x)

Tuning and compiling are done by the program whet, in processes of their own; a compiled model runs in this process.
"""

try:
    import numpy as _numpy  # noqa: F401
except ModuleNotFoundError:
    raise ModuleNotFoundError("whet needs numpy: `pip install numpy`, or Debian's package python3-numpy for Debian's own /usr/bin/python3", name="numpy") from None

from . import op
from .checked import Checked, CheckedLimit
from .compiled import Benchmark, Compiled, Session, Size, Step, Tensor
from .compiled import open_compiled as open
from .errors import Error, Note, UsageError
from .lab import Decision, Features, Lab, LabTask, Outcome, Searched, Sketch, Transfer, open_lab
from .model import Model, Task, explain, from_torch, load, tune
from .options import CompileOptions, LabOptions, LoadOptions, ReportOptions, ReproOptions, TuneOptions
from .records import Failure, Record, Records
from .repro import Admission, RemeasuredTask, Reproduction, pack
from .schedule import Loop, Schedule, TaskAxis, TaskOp
from .templates import Candidate, Rule, TaskTemplate, Template, TemplateTask, rule, template
from .tuning import Progress, Tuned

__version__ = "0.2.0"
__all__ = [
    "Admission", "Benchmark", "Candidate", "Checked", "CheckedLimit", "CompileOptions", "Compiled", "Decision", "Error", "Failure", "Features",
    "Lab", "LabOptions", "LabTask", "LoadOptions", "Loop", "Model", "Note", "Outcome", "Progress", "Record",
    "Records", "RemeasuredTask", "ReportOptions", "ReproOptions", "Reproduction", "Rule", "Schedule", "Searched",
    "Session", "Size", "Sketch", "Step", "Task", "TaskAxis", "TaskOp", "TaskTemplate", "Template", "TemplateTask",
    "Tensor", "Transfer", "TuneOptions", "Tuned", "UsageError", "explain", "from_torch", "load", "op", "open",
    "open_lab", "pack", "rule", "template", "tune"
]
