"""The options of whet's commands, as words of Python: `--early-stop 64` is `early_stop=64`. Left out or None is whet's default.

`whet tune --help` says what each does. Tests hold that these are the program's, with the words that they take."""

import inspect
from typing import Any, Callable, Literal, Mapping, Sequence, TypedDict, TypeVar, Union

from .op import Definition, Tensor
from .program import PathLike

Words = Union[str, Sequence[str]]
Numbers = Union[int, str, Sequence[int]]  #: 2, "0,2-5" or [0, 2, 3]
Precision = Literal["f32", "tf32", "f16", "bf16", "int8", "auto"]

Function = TypeVar("Function", bound=Callable[..., Any])


class LoadOptions(TypedDict, total=False):
    """What of the file is the model, and of what size."""

    input: Words  #: "name=x.npy": the value of an input that decides shapes
    until: Words  #: values that end the model instead of its outputs
    define: Mapping[str, Union[PathLike, Tensor, Definition]]  #: what operators compute: a file, its text, or tensors of `whet.op`
    entry: str  #: which of several functions of the file
    native_types: bool  #: tensors of bfloat16 and int16 are kept so, not held in float32 and int32
    seed: int  #: of random inputs, and of the weights of zoo: models
    batch: int  #: zoo: models: inputs in a batch
    image: int  #: zoo: models: height and width of the input
    layout: Literal["nchw", "nhwc"]  #: zoo: models: order of the input's dimensions


class _Everywhere(TypedDict, total=False):
    cores: Numbers  #: "big", "little", "prime", or numbers of processors
    exact: bool  #: without schedules that round differently
    precision: Precision  #: of what products read


class _OnDevices(_Everywhere, total=False):
    finals: str  #: of several devices, the one that compares the fastest candidates
    fleet: PathLike  #: folder that lets you into a fleet
    priority: Literal["high", "low"]  #: of the jobs in a fleet
    allow_emulated: bool
    no_pin: bool


class _Measuring(_OnDevices, total=False):
    cache: Literal["network", "warm", "cold"]  #: place of the weights before a timed run
    repeat: int  #: means to measure, of `number` runs each
    number: int
    min_repeat_ms: float
    builders: int  #: processes that compile candidates
    build_timeout: float  #: seconds
    run_timeout: float  #: seconds


class TuneOptions(_Measuring, total=False):
    """How `Model.tune` searches and measures."""

    threads: Numbers  #: that run a kernel; several numbers tune for each
    seed: int  #: of the search
    report: PathLike  #: a page about the run
    early_stop: int  #: trials without a better candidate that end a task
    until_ms: Union[float, Words]  #: milliseconds of all tasks together that end the run; of several models "a.onnx=4.0"
    least_gain: float  #: percent of the latency: a task that promises less rests
    round: int  #: trials of a task before the next one is chosen
    strategy: Literal["evolutionary", "xgb", "ga", "random", "grid", "descent"]
    scheduler: Literal["gradient", "round-robin"]
    per_task: bool  #: one task after the other
    tasks: Numbers  #: only these
    no_seeds: bool  #: begin with random candidates
    base: Words  #: record bases of other networks instead of the one that whet carries
    no_base: bool  #: know nothing of other networks
    no_network: bool  #: do not measure the network as a whole
    hot_sizes: Literal["on", "off"]  #: kernels of their own for sizes of ranges with much of the time
    layouts: Words  #: of activations: "search", or a list
    covers: Literal["search", "off"]  #: whether several groups may be one kernel
    max_error: Words  #: with precision="auto" or "int8": what each sample may err by: "1%", "boxes:abs<=2"
    write_quantized: PathLike  #: with precision="auto" or "int8": an ONNX file of the plan for other programs


class CompileOptions(_Everywhere, total=False):
    """What `Model.compile` makes."""

    threads: int
    weights: Literal["model", "seed"]  #: "seed": large ones are made up, to be timed only
    weights_file: PathLike  #: a file for the weights, which the library then has not
    samples: PathLike  #: of `write_weights`: data by which the answers are judged before the weights are written
    max_error: Words  #: with `samples`: what each may err by: "1%", "boxes:abs<=2"
    base: Words  #: record bases of other networks, for tasks without records, instead of the one that whet carries
    no_base: bool  #: default schedules for tasks without records
    fleet: PathLike  #: with `quick`: folder that lets you into a fleet
    dump_code: PathLike  #: a file for the instructions of all kernels, FILE.ll for their LLVM IR
    ptx: PathLike  #: a file for the PTX of all kernels
    cubin: bool  #: machine code too
    any_inputs: bool  #: records that were measured with other tensors of `input` too
    hot_sizes: Literal["on", "off"]  #: "off": no size of a range has kernels of its own, whatever the records say
    allow_emulated: bool  #: records of emulated devices too


class ReproOptions(_OnDevices, total=False):
    """How `Model.repro` and `Model.admit` measure again."""

    threads: int
    best: int  #: schedules of each task, the fastest as recorded
    within: float  #: percent: times and choices that are off by this at most count as reproduced


class ReportOptions(_Everywhere, total=False):
    """What `Model.report` measures."""

    threads: int
    no_run: bool  #: do not measure the network as a whole


class LabOptions(_Measuring, total=False):
    """Where and how a `Lab` measures."""

    threads: int
    device: Words
    base: Words  #: record bases of other networks instead of the one that whet carries
    no_base: bool  #: know nothing of other networks
    hot_sizes: Literal["on", "off"]  #: kernels of their own for sizes of ranges with much of the time


def shown(options: Any) -> Callable[[Function], Function]:
    """Shows the options of a TypedDict among a function's parameters: in help(), and where a notebook completes."""

    def with_signature(function: Function) -> Function:
        signature = inspect.signature(function)
        own = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        more = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
                for name, kind in options.__annotations__.items()]
        setattr(function, "__signature__", signature.replace(parameters=[*own, *more]))
        return function

    return with_signature
