"""Operators of one's own: tensors defined by expressions over axes, which `whet.load` takes as a model.

    from whet import op
    a, b, c = op.input("a", 512, 256), op.input("b", 256, 512), op.input("c", 512, 512)
    i, j, k = op.axis("i", 512), op.axis("j", 512), op.axis("k", 256)
    product = op.compute("product", (i, j), op.sum(a[i, k] * b[k, j], over=k))
    model = whet.load(op.compute("out", (i, j), product[i, j] + c[i, j]))

What is written is printed as docs/formats/dag.md has it, and whet reads that: indices outside of a tensor, a sum over an axis that is none,
and the like are refused with the line when the model is loaded. Nothing is computed here.
"""

from __future__ import annotations

import math
import re
from typing import List, Optional, Sequence, Tuple, Union

from .errors import UsageError

__all__ = [
    "Axis", "Definition", "Expression", "Reduction", "Size", "Tensor", "absolute", "axis", "cast", "ceil", "compute", "cos", "define", "erf", "exp",
    "floor", "floordiv", "floormod", "input", "log", "max", "maximum", "min", "minimum", "power", "prod", "round", "rsqrt", "sigmoid", "sin",
    "size", "sqrt", "sum", "tanh", "where"
]

Number = Union[int, float, bool]
Operand = Union["Expression", Number]

_FLOAT_SUFFIX = {"f32": "f", "f64": "d", "f16": "h", "bf16": "b"}
_INTEGERS = ("i64", "i32", "i16", "i8", "u8")
_DTYPES = (*_FLOAT_SUFFIX, *_INTEGERS, "bool")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_NOTATION = ("for", "in", "return", "true", "false", "inff", "infd", "infh", "infb", "nanf", "nand", "nanh", "nanb")


def _quoted(name: str) -> str:
    """A name as the notation has it; words of the notation itself are quoted, too."""
    if _WORD.fullmatch(name) and name not in _NOTATION:
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\x0a") + '"'


def _constant(value: Number, dtype: str) -> str:
    """A number as a constant of `dtype`."""
    if dtype == "bool":
        return "true" if value else "false"
    if dtype in _FLOAT_SUFFIX:
        number = float(value)
        text = "nan" if math.isnan(number) else "inf" if number == math.inf else "-inf" if number == -math.inf else repr(number)
        return text + _FLOAT_SUFFIX[dtype]
    if isinstance(value, float) and not value.is_integer():
        raise UsageError(f"{value} is no {dtype}; whet.op.cast makes one of a number of another type")
    return str(int(value)) + ("" if dtype == "i64" else dtype)


class Expression:
    """A number that depends on axes and on elements of tensors. Of two operands, a Python number takes the other's type."""

    __hash__ = None  # type: ignore[assignment]  # `==` makes an expression

    def __init__(self, text: str, dtype: str, reads: Sequence["Tensor"] = ()) -> None:
        self.text = text
        self.dtype = dtype
        self._reads = tuple(reads)

    def __repr__(self) -> str:
        return f"Expression({self.text}: {self.dtype})"

    def __bool__(self) -> bool:
        raise UsageError(f"{self.text} has no value yet; whet.op.where chooses by a condition, and `&`, `|` and `~` join conditions")

    def __add__(self, other: Operand) -> "Expression":
        return _binary("{} + {}", self, other)

    def __radd__(self, other: Operand) -> "Expression":
        return _binary("{} + {}", other, self)

    def __sub__(self, other: Operand) -> "Expression":
        return _binary("{} - {}", self, other)

    def __rsub__(self, other: Operand) -> "Expression":
        return _binary("{} - {}", other, self)

    def __mul__(self, other: Operand) -> "Expression":
        return _binary("{}*{}", self, other)

    def __rmul__(self, other: Operand) -> "Expression":
        return _binary("{}*{}", other, self)

    def __truediv__(self, other: Operand) -> "Expression":
        return _quotient(self, other)

    def __rtruediv__(self, other: Operand) -> "Expression":
        return _quotient(other, self)

    def __floordiv__(self, other: Operand) -> "Expression":
        return floordiv(self, other)

    def __mod__(self, other: Operand) -> "Expression":
        return floormod(self, other)

    def __neg__(self) -> "Expression":
        return Expression(f"neg({self.text})", self.dtype, self._reads)

    def __lt__(self, other: Operand) -> "Expression":
        return _binary("{} < {}", self, other, "bool")

    def __le__(self, other: Operand) -> "Expression":
        return _binary("{} <= {}", self, other, "bool")

    def __gt__(self, other: Operand) -> "Expression":
        return _binary("{} > {}", self, other, "bool")

    def __ge__(self, other: Operand) -> "Expression":
        return _binary("{} >= {}", self, other, "bool")

    def __eq__(self, other: Operand) -> "Expression":  # type: ignore[override]
        return _binary("{} == {}", self, other, "bool")

    def __ne__(self, other: Operand) -> "Expression":  # type: ignore[override]
        return _binary("{} != {}", self, other, "bool")

    def __and__(self, other: Operand) -> "Expression":
        return _logic("&&", self, other)

    def __or__(self, other: Operand) -> "Expression":
        return _logic("||", self, other)

    def __invert__(self) -> "Expression":
        if self.dtype != "bool":
            raise UsageError(f"~ is for conditions; {self.text} is {self.dtype}")
        return Expression(f"!({self.text})", "bool", self._reads)


class Size(Expression):
    """An extent that the shapes of inputs decide; an i64 in expressions."""

    def __init__(self, name: str, least: int = 1, most: Optional[int] = None, at: Optional[int] = None) -> None:
        if _quoted(name) != name:
            raise UsageError(f"the size {name!r} is no word; expected letters, digits, _ and .")
        super().__init__(name, "i64")
        self._line = "" if most is None else f"{name} = SIZE {least}..{most} at {most if at is None else at}"

    def __repr__(self) -> str:
        return self.text


Extent = Union[int, Size]


def _extent(extent: Extent, of: str) -> str:
    if isinstance(extent, Size):
        return extent.text
    if isinstance(extent, Expression):
        raise UsageError(f"{of} has the extent {extent.text}; expected a number or a whet.op.size")
    return str(extent)


class Axis(Expression):
    """The numbers 0 .. extent-1; an i64 in expressions. One axis may serve several tensors."""

    def __init__(self, name: str, extent: Extent) -> None:
        super().__init__(_quoted(name), "i64")
        self.extent = extent
        self.extent_text = _extent(extent, name)


class Reduction:
    """A sum, product, largest or smallest value over axes: what `compute` takes, and no part of another expression."""

    def __init__(self, sign: str, body: Expression, over: Tuple[Axis, ...]) -> None:
        self.sign, self.body, self.over = sign, body, over


class Tensor:
    """A tensor with a name and extents: an input, or what `compute` defines. `tensor[i, j]` is one of its elements."""

    def __init__(self, name: str, extents: Sequence[Extent], dtype: str, line: str, reads: Sequence["Tensor"], is_input: bool = False) -> None:
        self.name, self.extents, self.dtype, self.is_input = name, tuple(extents), dtype, is_input
        self._line, self._reads = line, tuple(reads)

    def __repr__(self) -> str:
        return f"Tensor({self.name}: {self.dtype}{list(self.extents)})"

    def __getitem__(self, index: Union[Operand, Tuple[Operand, ...]]) -> Expression:
        indices = index if isinstance(index, tuple) else (index,)
        if len(indices) != len(self.extents):
            raise UsageError(f"{self.name} has {len(self.extents)} dimension{'' if len(self.extents) == 1 else 's'} and is read at {len(indices)}")
        places = [_as_index(each, self.name) for each in indices]
        reads = [self, *(tensor for place in places for tensor in place._reads)]
        return Expression(f"{_quoted(self.name)}[{', '.join(place.text for place in places)}]", self.dtype, reads)


class Definition:
    """Tensors that are outputs, and all that they are computed from. `str` gives the notation."""

    def __init__(self, outputs: Sequence[Tensor]) -> None:
        self.outputs = tuple(outputs)
        if not outputs:
            raise UsageError("an operator has an output; whet.op.define takes what whet.op.compute gives")

    @property
    def name(self) -> str:
        return self.outputs[0].name

    def __str__(self) -> str:
        tensors = _before(self.outputs)
        names = [tensor.name for tensor in tensors]
        for name in names:
            if names.count(name) > 1:
                raise UsageError(f"two tensors are called {name!r}")
        sizes = {extent._line: None for tensor in tensors if tensor.is_input for extent in tensor.extents if isinstance(extent, Size) and extent._line}
        returned = "return " + ", ".join(_quoted(output.name) for output in self.outputs)
        return "\n".join([*sizes, *(tensor._line for tensor in tensors), returned]) + "\n"


def _before(outputs: Sequence[Tensor]) -> List[Tensor]:
    """The tensors and what they read, what is read first; inputs before all others, in the order in which they are met."""
    order: List[Tensor] = []
    known = set()
    todo: List[Tuple[Tensor, bool]] = [(output, False) for output in reversed(outputs)]
    while todo:
        tensor, is_done = todo.pop()
        if is_done:
            order.append(tensor)
        elif id(tensor) not in known:
            known.add(id(tensor))
            todo.append((tensor, True))
            todo.extend((read, False) for read in reversed(tensor._reads))
    return sorted(order, key=lambda tensor: not tensor.is_input)


def _as_expression(value: Operand, dtype: str) -> Expression:
    if isinstance(value, Expression):
        return value
    if isinstance(value, (bool, int, float)):
        return Expression(_constant(value, dtype), dtype)
    raise UsageError(f"{value!r} is neither an expression nor a number")


def _as_index(value: Operand, name: str) -> Expression:
    place = _as_expression(value, "i64")
    if place.dtype not in _INTEGERS:
        raise UsageError(f"{name} is read at {place.text}, which is {place.dtype}; an index is an integer")
    return place if place.dtype == "i64" else cast("i64", place)


def _operands(a: Operand, b: Operand) -> Tuple[Expression, Expression]:
    """Both with one type: a number takes that of the other."""
    dtype = a.dtype if isinstance(a, Expression) else b.dtype if isinstance(b, Expression) else "f32"
    left, right = _as_expression(a, dtype), _as_expression(b, dtype)
    if left.dtype != right.dtype:
        raise UsageError(f"{left.text} is {left.dtype} and {right.text} is {right.dtype}; whet.op.cast gives them one type")
    return left, right


def _binary(form: str, a: Operand, b: Operand, dtype: Optional[str] = None) -> Expression:
    left, right = _operands(a, b)
    return Expression("(" + form.format(left.text, right.text) + ")", dtype or left.dtype, (*left._reads, *right._reads))


def _quotient(a: Operand, b: Operand) -> Expression:
    left, right = _operands(a, b)
    if left.dtype not in _FLOAT_SUFFIX:
        raise UsageError(f"/ is for floats, and {left.text} is {left.dtype}; // rounds down, whet.op.cast makes a float of it")
    return _binary("{}/{}", left, right)


def _logic(sign: str, a: Operand, b: Operand) -> Expression:
    left, right = _as_expression(a, "bool"), _as_expression(b, "bool")
    for each in (left, right):
        if each.dtype != "bool":
            raise UsageError(f"{each.text} is {each.dtype}; & and | join conditions")
    return Expression(f"({left.text} {sign} {right.text})", "bool", (*left._reads, *right._reads))


def _called(function: str, a: Operand, b: Operand) -> Expression:
    left, right = _operands(a, b)
    return Expression(f"{function}({left.text}, {right.text})", left.dtype, (*left._reads, *right._reads))


def _of_float(function: str, x: Expression) -> Expression:
    if x.dtype not in _FLOAT_SUFFIX:
        raise UsageError(f"{function} is of floats, and {x.text} is {x.dtype}; whet.op.cast makes a float of it")
    return Expression(f"{function}({x.text})", x.dtype, x._reads)


def input(name: str, *extents: Extent, dtype: str = "f32", const: bool = False, below: int = 0) -> Tensor:
    """An input of the operator.

    const  its values may be packed for the kernel where they are known while compiling (`input="b=b.npy"` of `load`)
    below  an index tensor of the values 0 .. below-1; others count as the nearest of these
    """
    if dtype not in _DTYPES:
        raise UsageError(f"{name} is {dtype!r}; expected one of {', '.join(_DTYPES)}")
    line = f"{_quoted(name)} = PLACEHOLDER [{', '.join(_extent(each, name) for each in extents)}]"
    line += (f" {dtype}" if dtype != "f32" else "") + (" const" if const else "") + (f" < {below}" if below else "")
    return Tensor(name, extents, dtype, line, (), is_input=True)


def axis(name: str, extent: Extent) -> Axis:
    """An axis of the numbers 0 .. extent-1."""
    return Axis(name, extent)


def size(name: str, least: int = 1, most: Optional[int] = None, at: Optional[int] = None) -> Size:
    """An extent of inputs and axes by its name: `shapes` of `whet.load` give it a value. One with bounds has the value `at`, or `most`, where
    nothing else does, and may be a range: `sizes={"n": (1, 512)}` of `compile` and `tune`.

    >>> n, j = size("n", 1, 512, at=64), axis("j", 4)
    >>> x, i = input("x", n, 4), axis("i", n)
    >>> print(define(compute("y", (i, j), x[i, j] / cast("f32", n))), end="")
    n = SIZE 1..512 at 64
    x = PLACEHOLDER [n, 4]
    y(i, j) = (x[i, j]/f32(n)) for i in n, j in 4
    return y
    """
    return Size(name, least, most, at)


def compute(name: str, axes: Union[Axis, Sequence[Axis]], value: Union[Expression, Reduction, Number]) -> Tensor:
    """A tensor with a dimension an axis, and `value` at each place.

    >>> x, i = input("x", 8), axis("i", 8)
    >>> print(define(compute("y", i, maximum(x[i], 0))), end="")
    x = PLACEHOLDER [8]
    y(i) = max(x[i], 0.0f) for i in 8
    return y
    """
    own = (axes,) if isinstance(axes, Axis) else tuple(axes)
    over = value.over if isinstance(value, Reduction) else ()
    body = value.body if isinstance(value, Reduction) else _as_expression(value, "f32")
    sign = value.sign if isinstance(value, Reduction) else "="
    head = f"{_quoted(name)}({', '.join(each.text for each in own)})" + (f": {body.dtype}" if body.dtype != "f32" else "")
    loops = ", ".join(f"{each.text} in {each.extent_text}" for each in (*own, *over))
    line = f"{head} {sign} {body.text}" + (f" for {loops}" if loops else "")
    return Tensor(name, [each.extent for each in own], body.dtype, line, body._reads)


def define(*outputs: Tensor) -> Definition:
    """The operator that computes these tensors."""
    return Definition(outputs)


def _reduced(sign: str, value: Expression, over: Union[Axis, Sequence[Axis]]) -> Reduction:
    return Reduction(sign, value, (over,) if isinstance(over, Axis) else tuple(over))


def sum(value: Expression, over: Union[Axis, Sequence[Axis]]) -> Reduction:
    return _reduced("+=", value, over)


def prod(value: Expression, over: Union[Axis, Sequence[Axis]]) -> Reduction:
    return _reduced("*=", value, over)


def max(value: Expression, over: Union[Axis, Sequence[Axis]]) -> Reduction:
    """The largest value; `maximum` is of two."""
    return _reduced("max=", value, over)


def min(value: Expression, over: Union[Axis, Sequence[Axis]]) -> Reduction:
    """The smallest value; `minimum` is of two."""
    return _reduced("min=", value, over)


def minimum(a: Operand, b: Operand) -> Expression:
    return _called("min", a, b)


def maximum(a: Operand, b: Operand) -> Expression:
    return _called("max", a, b)


def floordiv(a: Operand, b: Operand) -> Expression:
    """Of integers, rounding down; also `a // b`."""
    return _called("floordiv", a, b)


def floormod(a: Operand, b: Operand) -> Expression:
    """What is left of `floordiv`; also `a % b`."""
    return _called("floormod", a, b)


def power(a: Operand, b: Operand) -> Expression:
    return _called("pow", a, b)


def where(condition: Expression, a: Operand, b: Operand) -> Expression:
    """a where the condition holds, else b. The side that is not chosen is not read, so it may lie outside of its tensor."""
    left, right = _operands(a, b)
    return Expression(f"select({condition.text}, {left.text}, {right.text})", left.dtype, (*condition._reads, *left._reads, *right._reads))


def cast(dtype: str, value: Expression) -> Expression:
    """`value` in another type; floats become integers towards 0."""
    if dtype not in _DTYPES:
        raise UsageError(f"{dtype!r} is no type; expected one of {', '.join(_DTYPES)}")
    return Expression(f"{dtype}({value.text})", dtype, value._reads)


def exp(x: Expression) -> Expression:
    return _of_float("exp", x)


def log(x: Expression) -> Expression:
    return _of_float("log", x)


def sqrt(x: Expression) -> Expression:
    return _of_float("sqrt", x)


def rsqrt(x: Expression) -> Expression:
    """1 / sqrt(x)"""
    return _of_float("rsqrt", x)


def tanh(x: Expression) -> Expression:
    return _of_float("tanh", x)


def erf(x: Expression) -> Expression:
    return _of_float("erf", x)


def sigmoid(x: Expression) -> Expression:
    return _of_float("sigmoid", x)


def sin(x: Expression) -> Expression:
    return _of_float("sin", x)


def cos(x: Expression) -> Expression:
    return _of_float("cos", x)


def floor(x: Expression) -> Expression:
    return _of_float("floor", x)


def ceil(x: Expression) -> Expression:
    return _of_float("ceil", x)


def round(x: Expression) -> Expression:
    """Half to even."""
    return _of_float("round", x)


def absolute(x: Expression) -> Expression:
    return _of_float("abs", x)
