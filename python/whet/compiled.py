"""Runs a compiled model in this process, by the table of functions of include/whet/model.h."""

from __future__ import annotations

import ctypes
import difflib
import itertools
import keyword
import operator
import os
import statistics
import struct
import sys
import threading
import time
import weakref
from ctypes import (CFUNCTYPE, POINTER, Structure, byref, c_char, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t,
                    c_uint32, c_uint64, c_void_p)
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from .errors import Error, UsageError
from .program import Folder, PathLike, file
from .shown import milliseconds, short

Array = Any  # numpy.ndarray; its type parameters differ between the releases of numpy
_DTYPES = ["float32", "float64", "float16", "int8", "uint8", "int32", "int64", "bool", "bfloat16", "int16"]
_ALIGNED = 64  # bytes: what is aligned so is not copied
_IN_PLACE = sys.implementation.name == "cpython"  # an object's id is its address
_REACHED = (1, 3, 11, 13)  #: DLPack's devices whose memory this processor reads
_MOST_THREADS, _MOST_CORES = 1024, 1 << 16
_API_VERSION = 1
_TRAILER = struct.Struct("<8sIIQQ32x")


class _ErrorText(Structure):
    _fields_ = [("message", c_char * 512)]


class _TensorInfo(Structure):
    _fields_ = [("name", c_char_p), ("dtype", c_int), ("rank", c_uint32), ("shape", POINTER(c_int64)),
                ("bytes", c_int64)]


class _ModelInfo(Structure):
    _fields_ = [("name", c_char_p), ("target", c_char_p), ("required_isa", c_char_p), ("records", c_char_p),
                ("compiler", c_char_p), ("inputs", c_uint32), ("outputs", c_uint32), ("steps", c_uint32),
                ("tuned_threads", c_uint32), ("arena_bytes", c_int64), ("weights_bytes", c_int64),
                ("flops", c_double), ("predicted_seconds", c_double)]


class _SizeInfo(Structure):
    _fields_ = [("struct_bytes", c_uint32), ("input", c_uint32), ("dimension", c_uint32), ("count", c_uint32),
                ("name", c_char_p), ("min", c_int64), ("max", c_int64), ("step", c_int64), ("usual", c_int64),
                ("values", POINTER(c_int64))]


class _PoolOptions(Structure):
    _fields_ = [("threads", c_uint32), ("cores", POINTER(c_uint32)), ("core_count", c_uint32), ("no_pin", c_uint32),
                ("spin_microseconds", c_uint32)]


class _PoolInfo(Structure):
    _fields_ = [("threads", c_uint32)]  # and more, that nobody asks for here


class _StepProfile(Structure):
    _fields_ = [("node", c_char_p), ("op", c_char_p), ("flops", c_double), ("bytes", c_double),
                ("predicted_seconds", c_double), ("min_ns", c_uint64), ("total_ns", c_uint64), ("parallel", c_uint32)]


class _Profile(Structure):
    _fields_ = [("runs", c_uint64), ("min_ns", c_uint64), ("total_ns", c_uint64), ("copy_min_ns", c_uint64),
                ("copy_total_ns", c_uint64), ("steps", c_uint32), ("step", POINTER(_StepProfile))]


_Error = POINTER(_ErrorText)


class _Api(Structure):
    _fields_ = [
        ("struct_bytes", c_uint32),
        ("api_version", c_uint32),
        ("format_version", c_uint32),
        ("reserved", c_uint32),
        ("model_open", CFUNCTYPE(c_int, c_void_p, POINTER(c_void_p), _Error)),
        ("model_close", CFUNCTYPE(None, c_void_p)),
        ("model_info", CFUNCTYPE(POINTER(_ModelInfo), c_void_p)),
        ("model_input", CFUNCTYPE(POINTER(_TensorInfo), c_void_p, c_uint32)),
        ("model_output", CFUNCTYPE(POINTER(_TensorInfo), c_void_p, c_uint32)),
        ("pool_create", CFUNCTYPE(c_int, POINTER(_PoolOptions), POINTER(c_void_p), _Error)),
        ("pool_destroy", CFUNCTYPE(None, c_void_p)),
        ("pool_info", CFUNCTYPE(POINTER(_PoolInfo), c_void_p)),
        ("session_create", CFUNCTYPE(c_int, c_void_p, c_void_p, POINTER(c_void_p), _Error)),
        ("session_destroy", CFUNCTYPE(None, c_void_p)),
        ("session_pool", CFUNCTYPE(c_void_p, c_void_p)),
        ("session_note", CFUNCTYPE(c_char_p, c_void_p)),
        ("session_set_input", CFUNCTYPE(c_int, c_void_p, c_uint32, c_void_p, POINTER(c_int64), _Error)),
        ("session_set_input_dlpack", c_void_p),
        ("session_bind_output", CFUNCTYPE(c_int, c_void_p, c_uint32, c_void_p, _Error)),
        ("session_run", CFUNCTYPE(c_int, c_void_p, _Error)),
        ("session_output", CFUNCTYPE(c_void_p, c_void_p, c_uint32)),
        ("session_output_dlpack", c_void_p),
        ("session_set_profiling", CFUNCTYPE(None, c_void_p, c_int)),
        ("session_profile", CFUNCTYPE(None, c_void_p, POINTER(_Profile))),
    ]


_Shapes = POINTER(POINTER(c_int64))


class _SizedApi(Structure):
    """The table of a library for several sizes."""

    _fields_ = [
        ("api", _Api),
        ("of_devices", c_void_p * 7),
        ("model_size_count", CFUNCTYPE(c_uint32, c_void_p)),
        ("model_size", CFUNCTYPE(POINTER(_SizeInfo), c_void_p, c_uint32)),
        ("session_set_shapes", CFUNCTYPE(c_int, c_void_p, _Shapes, _Error)),
        ("session_reserve", CFUNCTYPE(c_int, c_void_p, _Shapes, _Error)),
        ("session_input_info", CFUNCTYPE(POINTER(_TensorInfo), c_void_p, c_uint32)),
        ("session_output_info", CFUNCTYPE(POINTER(_TensorInfo), c_void_p, c_uint32)),
    ]


class _OpenSource(Structure):
    _fields_ = [("struct_bytes", c_uint32), ("flags", c_uint32), ("weights_path", c_char_p), ("weights", c_void_p),
                ("weights_bytes", c_uint64)]


class _ApiOfOwnWeights(Structure):
    """The table of a library whose weights are in a file of their own."""

    _fields_ = [("sized", _SizedApi),
                ("model_open_from", CFUNCTYPE(c_int, c_void_p, POINTER(_OpenSource), POINTER(c_void_p), _Error))]


@dataclass(frozen=True)
class Tensor:
    """An input or output of a model."""

    name: str
    shape: Tuple[int, ...]
    dtype: str  #: as numpy names it: "float32"; "bfloat16", which numpy does not have

    def __repr__(self) -> str:
        return f"Tensor({short(self.name)}: {self.type})"

    @property
    def type(self) -> str:
        """As `float32[1, 784]`."""
        return f"{self.dtype}{list(self.shape)}"


@dataclass(frozen=True)
class Size:
    """A size that the shapes of a compiled model may have."""

    name: str  #: "x.0"
    input: int  #: whose dimension it is, counted from 0
    dimension: int
    values: Tuple[int, ...]  #: listed ones; () where it is a range
    usual: int  #: with which a session begins
    min: int
    max: int
    step: int  #: of a range: min, min + step, ..., max; 0 where the values are listed

    def __repr__(self) -> str:
        of_range = f"{self.min}..{self.max}" + (f":{self.step}" if self.step > 1 else "")
        return f"Size({short(self.name)}: {', '.join(map(str, self.values)) or of_range})"


@dataclass(frozen=True)
class Benchmark:
    """Latencies of single inferences, in milliseconds, as Python's clock sees them."""

    runs: int
    mean_ms: float
    median_ms: float
    min_ms: float
    p90_ms: float
    p99_ms: float

    def __repr__(self) -> str:
        return (f"Benchmark(median {milliseconds(self.median_ms)}, 90% within {milliseconds(self.p90_ms)}, "
                f"least {milliseconds(self.min_ms)}, {self.runs} runs)")


@dataclass(frozen=True)
class Step:
    """A kernel of the compiled model, as profiled. Milliseconds a run."""

    node: str  #: the nodes of the graph that it computes
    op: str
    ms: float
    min_ms: float
    predicted_ms: Optional[float]  #: what tuning measured; None where it was not tuned
    flops: float
    bytes: float
    parallel: bool  #: whether all threads run it

    def __repr__(self) -> str:
        return f"Step({short(self.op)}: {milliseconds(self.ms)})"


def _text(value: Optional[bytes]) -> str:
    return (value or b"").decode("utf-8", "replace")


def _check_file(path: str) -> None:
    """The trailer of the file, before any of it is mapped."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise Error(f"{path}: is no file; expected a compiled model")
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TRAILER.size))
            trailer = file.read()
    except OSError as error:
        raise Error(f"{path}: {error.strerror}") from None
    if len(trailer) != _TRAILER.size or not trailer.startswith(b"whet.so\n"):
        raise Error(f"{path}: is no compiled model of whet; `compile` writes one")
    _, version, _, whole, _ = _TRAILER.unpack(trailer)
    if version != 1:
        raise Error(f"{path}: has version {version} of the file; this package reads version 1")
    if whole != size:
        raise Error(f"{path}: has {size} bytes; expected {whole}: a copy of it was cut short")


_dlclose = ctypes.CDLL(None).dlclose
_dlclose.argtypes = [c_void_p]
_openings = itertools.count(1)


def _spelled_anew(path: str) -> str:
    """The path as nobody has spelled it: the loader knows what is open by its name, and gives that for a replaced file."""
    folder, name = os.path.split(os.path.abspath(path))
    return folder + f"{next(_openings):b}".replace("1", "/.").replace("0", "/") + "/" + name


def _close(library: ctypes.CDLL, model: c_void_p) -> None:
    if model:
        library.whet_model_v1().contents.model_close(model)
    _dlclose(library._handle)


class _Library:
    """An open library and its model. It is closed when nobody has it: sessions keep it until they are destroyed."""

    def __init__(self, path: str, folder: Optional[Folder], weights: Optional[str]) -> None:
        _check_file(path)
        self._folder = folder  # a temporary one is there as long as the library
        self.model = c_void_p()
        try:
            library = ctypes.CDLL(_spelled_anew(path))
            weakref.finalize(self, _close, library, self.model).atexit = False
            table = library.whet_model_v1
        except (OSError, AttributeError) as error:
            raise Error(f"{path}: {error}") from None
        table.restype = POINTER(_Api)
        self.api = table().contents
        if self.api.api_version != _API_VERSION or self.api.struct_bytes < ctypes.sizeof(_Api):
            raise Error(f"{path}: has version {self.api.api_version} of the table of functions ({self.api.struct_bytes} "
                        f"bytes); this package needs version {_API_VERSION}")
        has_sizes = self.api.struct_bytes >= ctypes.sizeof(_SizedApi)
        self.sized = _SizedApi.from_address(ctypes.addressof(self.api)) if has_sizes else None
        if weights is None:
            self.check(self.api.model_open, None, byref(self.model))
        elif self.api.struct_bytes < ctypes.sizeof(_ApiOfOwnWeights):
            raise Error(f"{path}: has its weights inside; `compile(weights_file=...)` makes a library that takes others")
        else:
            source = _OpenSource(ctypes.sizeof(_OpenSource), 0, os.fsencode(weights), None, 0)
            own = _ApiOfOwnWeights.from_address(ctypes.addressof(self.api))
            self.check(own.model_open_from, None, byref(source), byref(self.model))
        self.name = _text(self.api.model_info(self.model).contents.name)

    def check(self, function: Any, *arguments: Any) -> None:
        """Calls a function that can fail."""
        error = _ErrorText()
        if function(*arguments, byref(error)) != 0:
            raise Error(_text(error.message))

    def sizes(self) -> Tuple[Size, ...]:
        """Those that shapes may have."""
        if self.sized is None:
            return ()
        infos = [self.sized.model_size(self.model, k).contents for k in range(self.sized.model_size_count(self.model))]
        return tuple(
            Size(_text(info.name), info.input, info.dimension, tuple(info.values[i] for i in range(info.count)),
                 info.usual, info.min, info.max, info.step) for info in infos)

    def tensor(self, function: Any, i: int, of: Optional[c_void_p] = None) -> Tensor:
        """An input or output of the model, or of a session at the shapes that are set."""
        info = function(self.model if of is None else of, i).contents
        return Tensor(_text(info.name), tuple(info.shape[k] for k in range(info.rank)), _DTYPES[info.dtype])


def _held(tensor: Tensor) -> Any:
    """The type of its arrays: numpy has no bfloat16, of which they hold the bits."""
    return np.dtype("uint16" if tensor.dtype == "bfloat16" else tensor.dtype)


def _bits(array: Array) -> Array:
    """Those of bfloat16: floats are rounded half to even; integers, and what ml_dtypes calls bfloat16, are them already."""
    if array.dtype.kind == "V" and array.dtype.itemsize == 2:
        return array.view(np.uint16)
    if array.dtype.kind != "f":
        return array
    words = np.asarray(array, np.float32, order="C").view(np.uint32)
    rounded = np.where(np.isnan(array), words | 0x400000, words + (0x7fff + (words >> 16 & 1)))
    return np.asarray(rounded >> 16, np.uint16)


def _floats(bits: Array) -> Array:
    """The numbers whose bits in bfloat16 these are."""
    return np.asarray(bits.astype(np.uint32) << 16).astype(np.uint32).view(np.float32)


def _aligned(tensor: Tensor) -> Array:
    """A fresh array that the model writes without a copy."""
    dtype = _held(tensor)
    size = dtype.itemsize * int(np.prod(tensor.shape, dtype=np.int64))
    memory = np.empty(size + _ALIGNED, np.uint8)
    first = -memory.ctypes.data % _ALIGNED
    return memory[first:first + size].view(dtype).reshape(tensor.shape)


def _check_reached(value: Any) -> None:
    """Raises for a tensor of a GPU's memory."""
    kind, number = value.__dlpack_device__()
    if kind not in _REACHED:
        copy = "`.cpu()`" if hasattr(value, "cpu") else "numpy.asarray"
        raise BufferError(f"it lies on {getattr(value, 'device', f'device {kind}:{number}')}; {copy} copies it to the CPU")


def _from_object(value: Any, tensor: Tensor) -> Array:
    """An array of what is none: by DLPack without a copy; else numbers, which the tensor's type holds."""
    if hasattr(value, "detach"):
        value = value.detach()  # what records gradients gives no memory
    if hasattr(value, "__dlpack__"):
        _check_reached(value)
        return np.from_dlpack(value)
    try:
        given = np.asarray(value)
    except ValueError as error:
        raise ValueError("its rows differ in length" if "inhomogeneous" in str(error) else str(error)) from None
    if given.dtype.kind not in "biuf":
        raise ValueError("it holds no numbers")
    if tensor.dtype == "bfloat16":
        return given.astype(np.float32)  # which is rounded
    array = given.astype(tensor.dtype)
    if array.dtype.kind != "f" and not np.array_equal(array, given):
        raise ValueError(f"{tensor.dtype} does not hold its numbers")
    return array


def _array(value: Any, tensor: Tensor) -> Array:
    """The argument as an array of the tensor's type, without a copy."""
    if value is None:
        raise UsageError(f"input {tensor.name}: None was given; the model takes {tensor.type}")
    if not isinstance(value, np.ndarray):
        given = type(value).__name__
        try:
            value = _from_object(value, tensor)
        except (AttributeError, BufferError, OverflowError, RuntimeError, TypeError, ValueError) as error:
            raise UsageError(f"input {tensor.name}: {given} is no array here: {error}") from None
    held = _bits(value) if tensor.dtype == "bfloat16" else value
    if held.dtype != _held(tensor) or held.shape != tensor.shape:
        raise UsageError(f"input {tensor.name}: {value.dtype}{list(value.shape)} was given; the model takes {tensor.type}")
    if isinstance(value, np.ma.MaskedArray) and np.any(value.mask):
        raise UsageError(f"input {tensor.name}: elements of the array are masked; `filled` gives them values")
    return held


class _Bound:
    """An array as the session was told of it. All of it can be changed in place: its type, its shape, its memory."""

    __slots__ = ("array", "pointer", "dtype", "shape", "strides", "field")

    def __init__(self, array: Array) -> None:
        self.array, self.pointer = array, array.__array_interface__["data"][0]
        self.dtype, self.shape, self.strides = array.dtype, array.shape, array.strides
        # CPython's objects begin with a head, numpy's arrays go on with the pointer. To read it there costs a tenth.
        field = c_size_t.from_address(id(array) + object.__basicsize__) if _IN_PLACE else None
        self.field = field if field is not None and field.value == self.pointer else None

    def is_still(self, array: Any) -> bool:
        """Whether this is the array, unchanged."""
        if array is not self.array:
            return False
        pointer = array.__array_interface__["data"][0] if self.field is None else self.field.value
        still: bool = (pointer == self.pointer and array.dtype is self.dtype and array.shape == self.shape
                       and array.strides == self.strides)
        return still


def _by_name(names: Sequence[str]) -> str:
    """How inputs are given whose names are no words of Python, or words of the call's own."""
    odd = [name for name in names if not name.isidentifier() or keyword.iskeyword(name) or name in ("out", "seconds", "runs")]
    return f'; by name in a dict, as in exe({{"{odd[0]}": array}})' if odd else ""


def _number(name: str, value: Any, low: int, high: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = low - 1
    if not low <= number <= high:
        raise UsageError(f"{name} is {value!r}; expected {low} to {high}")
    return number


def _made_up(tensor: Tensor) -> Array:
    """A value to measure with: random numbers from 0 to 1; zeros where the input has no floats."""
    array = _aligned(tensor)
    if array.dtype.kind == "f" or tensor.dtype == "bfloat16":
        numbers = np.random.default_rng(0).random(tensor.shape)
        array[...] = _bits(numbers) if tensor.dtype == "bfloat16" else numbers
    else:
        array[...] = 0
    return array


_sessions: "weakref.WeakSet[Session]" = weakref.WeakSet()


def _in_a_child() -> None:
    """The thread that had the turn of a session is not there after fork()."""
    for session in list(_sessions):
        session._lock = threading.RLock()


os.register_at_fork(after_in_child=_in_a_child)


def _destroy(library: _Library, session: c_void_p, pool: c_void_p) -> None:
    if session:
        library.api.session_destroy(session)
    if pool:
        library.api.pool_destroy(pool)


class Session:
    """Memory for one inference at a time, and threads. Several sessions run at the same time; calls of one wait for each other."""

    def __init__(self, library: _Library, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int,
                 cores: Sequence[int], pin: bool) -> None:
        self._library, self.inputs, self.outputs = library, tuple(inputs), tuple(outputs)
        self.sizes = library.sizes()
        self._lock = threading.RLock()
        self._error = _ErrorText()
        self._pool, self._session = c_void_p(), c_void_p()
        threads = _number("threads", threads, 0, _MOST_THREADS)
        cores = [_number("a core", core, 0, _MOST_CORES) for core in cores]
        if threads and cores and threads != len(cores):
            raise UsageError(f"{threads} threads and {len(cores)} cores were given; expected a core a thread")
        if threads or cores or not pin:
            numbers = (c_uint32 * len(cores))(*cores)
            options = _PoolOptions(threads or len(cores), numbers, len(cores), 0 if pin else 1, 0)
            library.check(library.api.pool_create, byref(options), byref(self._pool))
        weakref.finalize(self, _destroy, library, self._session, self._pool).atexit = False
        library.check(library.api.session_create, library.model, self._pool, byref(self._session))
        self._run = library.api.session_run
        self._gives_bits = any(tensor.dtype == "bfloat16" for tensor in self.outputs)
        # What each input was read from last, and each output written to; None: it is told to the session anew.
        self._bound: List[Optional[_Bound]] = [None] * len(self.inputs)
        self._written: List[Optional[_Bound]] = [None] * len(self.outputs)
        self._kept: List[Optional[Array]] = [None] * len(self.inputs)  # lives as long as it may be read
        _sessions.add(self)

    def __repr__(self) -> str:
        return f"Session({short(self._library.name)}, {self.threads} thread{'' if self.threads == 1 else 's'})"

    @property
    def threads(self) -> int:
        """Threads that run it."""
        api = self._library.api
        threads: int = api.pool_info(api.session_pool(self._session)).contents.threads
        return threads

    @property
    def note(self) -> str:
        """How its threads agree with what the model was tuned for; "" where they do."""
        return _text(self._library.api.session_note(self._session))

    def reserve(self) -> None:
        """Memory for all sizes at once: no later call gets more for activations (on a GPU for the 16 largest sizes). Outputs of the last call stay those of the caller."""
        if self._library.sized is not None:
            with self._lock:
                self._library.check(self._library.sized.session_reserve, self._session, None)

    def _set_shapes(self, values: Sequence[Any]) -> None:
        """Those of arrays and tensors; what has none follows from the others."""
        sized = self._library.sized
        shapes = [getattr(value, "shape", None) for value in values]
        known = [shape if shape is not None and len(shape) == len(tensor.shape) else None
                 for shape, tensor in zip(shapes, self.inputs)]
        if sized is None or all(shape is None or tuple(shape) == tensor.shape for shape, tensor in zip(known, self.inputs)):
            return
        lists = [None if shape is None else (c_int64 * len(shape))(*shape) for shape in known]
        pointers = (POINTER(c_int64) * len(lists))()  # null where the shape follows
        for i, each in enumerate(lists):
            if each is not None:
                pointers[i] = ctypes.cast(each, POINTER(c_int64))
        error = _ErrorText()
        if sized.session_set_shapes(self._session, pointers, byref(error)) != 0:
            raise UsageError(_text(error.message))
        self.inputs = tuple(
            self._library.tensor(sized.session_input_info, i, self._session) for i in range(len(self.inputs)))
        self.outputs = tuple(
            self._library.tensor(sized.session_output_info, i, self._session) for i in range(len(self.outputs)))
        self._bound = [None] * len(self.inputs)
        self._written = [None] * len(self.outputs)

    def _set_input(self, i: int, value: Any) -> None:
        tensor = self.inputs[i]
        array = _array(value, tensor)
        strides = None if array.flags.c_contiguous else (c_int64 * array.ndim)(*array.strides)
        self._library.check(self._library.api.session_set_input, self._session, i, array.__array_interface__["data"][0],
                            strides)
        # What was made of another object is made again at every call.
        lasts = array is value and not isinstance(array, np.ma.MaskedArray)  # whose mask may change
        self._bound[i] = _Bound(array) if lasts else None
        self._kept[i] = array

    def _bind_output(self, i: int, array: Array) -> None:
        tensor = self.outputs[i]
        if not isinstance(array, np.ndarray) or array.dtype != _held(tensor) or array.shape != tensor.shape:
            raise UsageError(f"output {tensor.name}: expected an array {_held(tensor)}{list(tensor.shape)} in `out`")
        if not array.flags.c_contiguous or not array.flags.writeable:
            raise UsageError(f"output {tensor.name}: the array in `out` is not contiguous, or cannot be written")
        self._written[i] = None
        bound = _Bound(array)
        self._write_to(i, bound.pointer)
        self._written[i] = bound

    def _write_to(self, i: int, pointer: int) -> None:
        self._library.check(self._library.api.session_bind_output, self._session, i, pointer)

    def _check_apart(self, results: Sequence[Array]) -> None:
        """Kernels read and write at once: memory of an answer is nobody else's."""
        others = [(f"input {tensor.name}", array) for tensor, array in zip(self.inputs, self._kept)]
        for tensor, array in zip(self.outputs, results):
            for name, other in others:
                if np.may_share_memory(array, other):
                    self._written = [None] * len(self.outputs)
                    raise UsageError(f"output {tensor.name}: the array in `out` overlaps the memory of {name}")
            others.append((f"output {tensor.name}", array))

    def _in_order(self, values: Sequence[Any], named: Mapping[str, Any]) -> Sequence[Any]:
        if len(values) == 1 and not isinstance(values[0], np.ndarray) and isinstance(values[0], Mapping):
            given, values = values[0], ()
            for name in given.keys() & named.keys():
                raise UsageError(f"input {name} is given twice: in the dict and by its name")
            named = {**given, **named}
        if not named and len(values) == len(self.inputs):
            return values
        names = [tensor.name for tensor in self.inputs]
        for name in named:
            if name not in names:
                near = "".join(f'; did you mean "{each}"?' for each in difflib.get_close_matches(str(name), names, 1))
                raise UsageError(f'the model has no input "{name}"; it takes {", ".join(names)}{near or _by_name(names)}')
            if name in names[:len(values)]:
                raise UsageError(f"input {name} is given twice: in its place and by its name")
        given = {**dict(zip(names, values)), **named}
        missing = [name for name in names if name not in given]
        if missing or len(values) > len(names):
            count = len(values) + len(named)
            a_list = len(values) == 1 and isinstance(values[0], (list, tuple)) and len(values[0]) == len(names)
            raise UsageError(f"{count} input{' was' if count == 1 else 's were'} given; the model takes {', '.join(names)}" +
                             (f": {', '.join(missing)} missing" if missing else "") +
                             ("; a list is one input: exe(*list) gives its elements" if a_list else _by_name(names)))
        return [given[name] for name in names]

    def __call__(self, *values: Any, out: Any = None, **named: Any) -> Any:
        """One inference. See `Compiled`."""
        with self._lock:
            changed = False
            in_order = self._in_order(values, named)
            if self.sizes:
                self._set_shapes(in_order)
            for i, value in enumerate(in_order):
                bound = self._bound[i]
                if bound is None or not bound.is_still(value):
                    self._bound[i] = None
                    self._set_input(i, value)
                    changed = True
            results = self._fresh() if out is None else self._bind_outputs(out, changed)
            if self._run(self._session, self._error) != 0:
                raise Error(_text(self._error.message))
            if out is None and self._gives_bits:
                results = [_floats(array) if tensor.dtype == "bfloat16" else array for array, tensor in zip(results, self.outputs)]
        return results[0] if len(results) == 1 else tuple(results)

    def _to_measure(self, values: Sequence[Any], named: Mapping[str, Any]) -> Sequence[Any]:
        return self._in_order(values, named) if values or named else [_made_up(tensor) for tensor in self.inputs]

    def _fresh(self) -> Sequence[Array]:
        """Arrays that are the caller's after one call."""
        results = [_aligned(tensor) for tensor in self.outputs]
        self._written = [None] * len(results)
        for i, array in enumerate(results):
            self._write_to(i, array.__array_interface__["data"][0])
        return results

    def _bind_outputs(self, out: Any, changed: bool) -> Sequence[Array]:
        """Those of the caller.

        changed  whether an input is another one than at the last call
        """
        results = out if isinstance(out, (tuple, list)) else (out,)
        if len(results) != len(self.outputs):
            raise UsageError(f"{len(results)} arrays are in `out`; the model has {len(self.outputs)} outputs")
        for i, array in enumerate(results):
            written = self._written[i]
            if written is None or not written.is_still(array) or not array.flags.writeable:
                self._bind_output(i, array)
                changed = True
        if changed:
            self._check_apart(results)
        return results

    def benchmark(self, *values: Any, seconds: float = 1.0, **named: Any) -> Benchmark:
        """Times inferences one after another for `seconds`, and for 3 runs at least.

        Without inputs they are random numbers from 0 to 1, and zeros for integers.

        >>> session = whet.load("zoo:mlp").compile("measured.so").session()
        >>> session.benchmark(seconds=0.01).median_ms > 0
        True
        """
        given = self._to_measure(values, named)
        if self.sizes:
            with self._lock:
                self._set_shapes(given)
        out = [_aligned(tensor) for tensor in self.outputs]
        arguments = [_array(v, t) for v, t in zip(given, self.inputs)]
        self(*arguments, out=out)
        times: List[float] = []
        end = time.perf_counter() + seconds
        while len(times) < 3 or time.perf_counter() < end:
            start = time.perf_counter_ns()
            self(*arguments, out=out)
            times.append((time.perf_counter_ns() - start) / 1e6)
        times.sort()
        return Benchmark(len(times), statistics.fmean(times), statistics.median(times), times[0],
                         times[int(0.9 * (len(times) - 1))], times[int(0.99 * (len(times) - 1))])

    def profile(self, *values: Any, runs: int = 50, **named: Any) -> List[Step]:
        """The time of each kernel over `runs` inferences, in the order in which they run; inputs as of `benchmark`.

        >>> session = whet.load("zoo:mlp").compile("profiled.so").session()
        >>> [step.op for step in session.profile(runs=2)][-1]
        'softmax 1x10'
        """
        api = self._library.api
        runs = _number("runs", runs, 1, 1 << 30)
        arguments = self._to_measure(values, named)
        with self._lock:  # the inferences of other threads do not count
            self(*arguments)
            api.session_set_profiling(self._session, 1)
            try:
                for _ in range(runs):
                    self(*arguments)
            finally:
                api.session_set_profiling(self._session, 0)
            measured = _Profile()
            api.session_profile(self._session, byref(measured))
            return [_step_of(measured.step[i], measured.runs) for i in range(measured.steps)]


def _step_of(step: _StepProfile, runs: int) -> Step:
    predicted = step.predicted_seconds * 1e3 if step.predicted_seconds > 0 else None
    return Step(_text(step.node), _text(step.op), step.total_ns / 1e6 / max(1, runs), step.min_ns / 1e6, predicted,
                step.flops, step.bytes, bool(step.parallel))


class Compiled:
    """A compiled model. `y = exe(x)`: arrays of numpy or tensors with `__dlpack__` in, arrays out.

    Inputs stay where they are: those that are contiguous and 64-byte aligned are read in place. `exe(x, out=y)` writes
    into `y`; without `out` every call gives fresh arrays. `exe(a, mask=b)` and `exe({"data": a, "mask:0": b})` take
    inputs by name. A call waits for another thread's: `session` gives each thread one of its own. Of a model that is
    compiled for several sizes a call takes arrays of any of them; `inputs` and `outputs` are those of the usual ones.

    The library is closed when this object and its sessions are gone; its file may be replaced by another one before.

    >>> exe = whet.load("zoo:mlp").compile("called.so")
    >>> [(tensor.name, tensor.shape, tensor.dtype) for tensor in exe.inputs]
    [('data', (1, 784), 'float32')]
    >>> y = exe(np.zeros((1, 784), np.float32))
    >>> y.shape, round(float(y.sum()), 3)
    ((1, 10), 1.0)
    >>> exe(np.zeros((1, 783), np.float32))
    Traceback (most recent call last):
    whet.errors.UsageError: input data: float32[1, 783] was given; the model takes float32[1, 784]
    """

    def __init__(self, path: PathLike, weights: Optional[PathLike] = None, _folder: Optional[Folder] = None) -> None:
        self.path = file(path, "the library")
        self._library = _Library(self.path, _folder, None if weights is None else file(weights, "the weights"))
        api, model = self._library.api, self._library.model
        info = api.model_info(model).contents
        self.name, self.target, self.compiler = self._library.name, _text(info.target), _text(info.compiler)
        self.kernels_from = _text(info.records)  #: "12 of 24 tasks from records, 12 by default schedules"
        self.flops: float = info.flops  #: of one inference
        self.predicted_ms: float = info.predicted_seconds * 1e3
        self.inputs = tuple(self._library.tensor(api.model_input, i) for i in range(info.inputs))
        self.outputs = tuple(self._library.tensor(api.model_output, i) for i in range(info.outputs))
        self.sizes = self._library.sizes()  #: that shapes may have; () where it is compiled for one
        self._own: Optional[Session] = None

    def __repr__(self) -> str:
        first = self.inputs[0].type if len(self.inputs) == 1 else f"{len(self.inputs)} inputs"
        last = self.outputs[0].type if len(self.outputs) == 1 else f"{len(self.outputs)} outputs"
        return f"Compiled({short(self.path)}: {short(self.name)}, {first} -> {last}, for {short(self.target)})"

    def session(self, threads: int = 0, cores: Sequence[int] = (), pin: bool = True) -> Session:
        """Another session, with threads of its own where something is said of them.

        threads  0: as many as the model was tuned for
        cores    processors that the threads stand on
        """
        return Session(self._library, self.inputs, self.outputs, threads, cores, pin)

    def _session(self) -> Session:
        if self._own is None:
            self._own = self.session()
        return self._own

    def __call__(self, *values: Any, out: Any = None, **named: Any) -> Any:
        return self._session()(*values, out=out, **named)

    def benchmark(self, *values: Any, seconds: float = 1.0, **named: Any) -> Benchmark:
        """As `Session.benchmark`."""
        return self._session().benchmark(*values, seconds=seconds, **named)

    def profile(self, *values: Any, runs: int = 50, **named: Any) -> List[Step]:
        """As `Session.profile`."""
        return self._session().profile(*values, runs=runs, **named)


def open_compiled(path: PathLike, weights: Optional[PathLike] = None) -> Compiled:
    """Opens a compiled model. Raises `Error` for another file, and where this processor cannot run it.

    weights  the file of `compile(weights_file=...)` or `Model.write_weights`, of a library that has none

    >>> exe = whet.load("zoo:mlp").compile("opened.so", no_base=True)
    >>> whet.open("opened.so").kernels_from
    '0 of 4 tasks from records, 4 by default schedules'
    """
    return Compiled(path, weights)
