"""whet sharpens a neural network for the machine it will run on.

    import whet
    model = whet.load("model.onnx")
    model.tune(minutes=5, records="model.jsonl")
    exe = model.compile("model.so", records="model.jsonl")
    y = exe(x)

Tuning and compiling are done by the program whet, in processes of their own; a compiled model runs in this process.
"""

from .compiled import Benchmark, Compiled, Session, Step, Tensor
from .compiled import open_compiled as open
from .errors import Error, Note, UsageError
from .lab import Candidate, Decision, Lab, LabTask, Outcome, Sketch, Template, open_lab
from .model import Model, Task, explain, from_torch, load
from .records import Failure, Record, Records
from .tuning import Progress, Tuned

__version__ = "0.1.0"
__all__ = [
    "Benchmark", "Candidate", "Compiled", "Decision", "Error", "Failure", "Lab", "LabTask", "Model", "Note", "Outcome",
    "Progress", "Record", "Records", "Session", "Sketch", "Step", "Task", "Template", "Tensor", "Tuned", "UsageError",
    "explain", "from_torch", "load", "open", "open_lab"
]
