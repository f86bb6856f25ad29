"""`torch.compile(module, backend="whet")`: the parts that torch finds in a module run as compiled models of whet.

    import torch
    fast = torch.compile(module.eval(), backend="whet")
    with torch.no_grad():
        y = fast(x)

Needs torch 2.1. An installed package makes the name "whet" known to torch; elsewhere `backend=whet.torch.backend` after
`import whet.torch`. Options of `Model.compile` are options of the backend: `torch.compile(module, backend="whet", options={"records":
"module.jsonl", "quick": True})`.

A part runs by torch itself, and one note says why, where it is to learn, where its shapes change from call to call, where a tensor is not
on the processor, and where whet does not read an operator. Parameters are compiled in; a part whose parameters change later is compiled
again.
"""

from __future__ import annotations

import warnings
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from .compiled import Compiled
from .errors import Error, Note, UsageError
from .model import from_torch

Call = Callable[..., Sequence[Any]]


class _Refused(Exception):
    """Why a part runs by torch."""


def _check(inputs: Sequence[Any]) -> None:
    import torch

    for value in inputs:
        if not isinstance(value, torch.Tensor):
            raise _Refused("its shapes change from call to call; torch.compile(dynamic=False) compiles each for itself")
        if value.device.type != "cpu":
            raise _Refused(f"a tensor is on {value.device}, and whet compiles for the processor here")
    if torch.is_grad_enabled() and any(value.requires_grad for value in inputs):
        raise _Refused("gradients are wanted, which whet does not compute; use torch.no_grad()")


def _parameters(module: Any, inputs: Sequence[Any]) -> List[Any]:
    """The tensors that are compiled in."""
    import torch

    held = [*module.parameters(), *module.buffers()] if hasattr(module, "parameters") else []
    return [*held, *(value for value in inputs if isinstance(value, torch.nn.Parameter))]


def _state(tensors: Sequence[Any]) -> List[Tuple[int, int]]:
    """Changes where one of them does."""
    return [(tensor.data_ptr(), tensor._version) for tensor in tensors]


def _with_fixed(module: Any, inputs: Sequence[Any], free: Sequence[int]) -> Any:
    """The module as one of the inputs `free` alone: the others are its constants."""
    import torch

    class Part(torch.nn.Module):  # type: ignore[misc]

        def __init__(self) -> None:
            super().__init__()
            self.whole = module
            for i, value in enumerate(inputs):
                if i not in free:
                    self.register_buffer(f"fixed_{i}", value.detach())

        def forward(self, *given: Any) -> Any:
            places: Dict[int, Any] = dict(zip(free, given))
            return self.whole(*[places[i] if i in places else getattr(self, f"fixed_{i}") for i in range(len(inputs))])

    return Part().eval()


def _compiled(module: Any, inputs: Sequence[Any], free: Sequence[int], options: Mapping[str, Any]) -> Compiled:
    import torch

    with torch.no_grad():
        args = tuple(inputs[i].detach() for i in free)
        part = module if len(free) == len(inputs) else _with_fixed(module, inputs, free)
        return from_torch(part, args).compile(**options)


def _results_of(module: Any, inputs: Sequence[Any]) -> List[Optional[Any]]:
    """What the part gives for these inputs, as torch computes it: how many results, of which types, where there is none."""
    import torch

    with torch.no_grad():
        results = module(*inputs)
    return list(results) if isinstance(results, (tuple, list)) else [results]


def _calls(module: Any, inputs: Sequence[Any], options: Mapping[str, Any]) -> Call:
    import torch

    _check(inputs)
    free = [i for i, value in enumerate(inputs) if not isinstance(value, torch.nn.Parameter)]
    if not free:
        raise _Refused("it has no inputs")
    like = _results_of(module, inputs)
    if not all(result is None or isinstance(result, torch.Tensor) for result in like):
        raise _Refused("it gives numbers of Python")
    held = _parameters(module, inputs)
    exe, state = _compiled(module, inputs, free, options), _state(held)
    given = [k for k, result in enumerate(like) if result is not None]

    def call(*values: Any) -> Sequence[Any]:
        nonlocal exe, state
        now = _parameters(module, values)
        if _state(now) != state:
            exe, state = _compiled(module, values, free, options), _state(now)
        answers = exe(*[values[i] for i in free])
        arrays = answers if isinstance(answers, tuple) else (answers,)
        results: List[Optional[Any]] = [None] * len(like)
        for k, array in zip(given, arrays):
            results[k] = torch.from_numpy(array).to(like[k].dtype)  # type: ignore[union-attr]
        return results

    return call


def backend(module: Any, inputs: Sequence[Any], options: Optional[Mapping[str, Any]] = None, **_: Any) -> Call:
    """What torch.compile calls for each part of a module: a graph, and the tensors that it was found with.

    options  of `Model.compile`
    """
    try:
        return _calls(module, inputs, options or {})
    except (_Refused, Error, UsageError) as why:
        warnings.warn(f"torch runs a part itself: {why}", Note, stacklevel=2)
    except Exception as why:  # torch.export and torch.jit raise what they like
        warnings.warn(f"torch runs a part itself: {type(why).__name__}: {str(why).splitlines()[0] if str(why) else 'no reason'}", Note,
                      stacklevel=2)
    call: Call = module.forward if hasattr(module, "forward") else module
    return call
