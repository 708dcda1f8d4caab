"""Recorder that compiles formulas on numpy arrays into functions of plain floats.

Numpy takes about a microsecond per operation even for a single number, so formulas that are often
evaluated for single numbers are recorded once. `Recorded` stands in for an argument: numpy passes
every operation to it (NEP 13 and 18), and the result of a formula is the graph of its operations.
`function_of` drops duplicate and unused operations and compiles the rest into one function of
floats. Formulas that branch on the value of an argument cannot be recorded.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

Plain: TypeAlias = Callable[..., tuple[float, ...]]
"""A compiled function of floats."""

_number = count().__next__


class UnrecordableError(Exception):
    """Raised if a formula uses an argument in a way that plain floats cannot reproduce."""


class Recorded(NDArrayOperatorsMixin):
    """A number whose value becomes known when the recorded function is called.

    operation, operands : The operation and its inputs; the only operand of an argument is its name.
    number : The position in the recording, which is higher than those of the operands.
    """

    shape, ndim, size, dtype = (1,), 1, 1, np.dtype(np.float64)

    def __init__(self, operation: str, operands: Sequence[Any]) -> None:
        self.operation, self.operands, self.number = operation, operands, _number()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **keys: Any) -> Any:
        """Record an elementwise operation."""
        if method != "__call__" or keys:
            raise UnrecordableError(f"{ufunc.__name__}.{method} of an argument")
        return Recorded(ufunc.__name__, operands)

    def __array_function__(
        self, function: Any, types: Iterable[type], operands: Any, keys: Mapping[str, Any]
    ) -> Any:
        """Record a choice between two numbers, and skip operations that only change shapes."""
        name = function.__name__
        if name == "where" and len(operands) == 3:
            return Recorded("where", operands)
        if name in _SHAPES and isinstance(operands[0], Recorded):
            return operands[0]
        if name == "broadcast_arrays":
            return operands
        if name in ("ndim", "shape"):
            return self.ndim if name == "ndim" else self.shape
        raise UnrecordableError(f"{name} of an argument")

    def astype(self, *_: Any, **__: Any) -> "Recorded":
        """Return the number itself, since all recorded numbers are floats."""
        return self

    def __bool__(self) -> NoReturn:
        """Raise an error, because a recorded number cannot be used in a branch."""
        raise UnrecordableError("a choice by the value of an argument")

    def __float__(self) -> NoReturn:
        """Raise an error, because a recorded number is not a constant."""
        raise UnrecordableError("an argument as a constant")

    __int__ = __float__
    __hash__ = object.__hash__


_SHAPES = frozenset(("atleast_1d", "squeeze", "ravel", "broadcast_to"))
_INFIX = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "true_divide": "/",
    "floor_divide": "//", "remainder": "%", "greater": ">", "greater_equal": ">=", "less": "<",
    "less_equal": "<=", "equal": "==", "not_equal": "!=", "bitwise_and": "&", "bitwise_or": "|",
    "logical_and": "and", "logical_or": "or",
}  # fmt: skip
_PREFIX = {"negative": "-", "invert": "not ", "logical_not": "not ", "positive": "+"}
_CALLS = {
    "power": "pow", "float_power": "pow", "exp": "exp", "log": "log", "log2": "log2",
    "log10": "log10", "sqrt": "sqrt", "ceil": "ceil", "floor": "floor", "absolute": "fabs",
    "fabs": "fabs", "expm1": "expm1", "log1p": "log1p", "tanh": "tanh", "isfinite": "isfinite",
    "isnan": "isnan",
}  # fmt: skip
_LARGEST = {"maximum": "<", "fmax": "<", "minimum": ">", "fmin": ">"}
_COMMUTE = frozenset(("add", "multiply", *_LARGEST))
_NEUTRAL = {
    "multiply": 1.0, "divide": 1.0, "true_divide": 1.0, "power": 1.0, "subtract": 0.0, "add": 0.0,
    "maximum": -math.inf, "minimum": math.inf,
}  # fmt: skip
_DEEPEST = 40
"""The maximum number of operations per expression; Python's parser allows 200 parentheses. [1]"""

Operand: TypeAlias = str | float
"""The name of an operation's result, or a constant."""


def function_of(results: Sequence[Any], arguments: Sequence[str]) -> Plain:
    """Compile recorded results into a function of floats.

    results : The values computed from `Recorded` arguments, which may include constants.
    arguments : The names of the arguments, in the order in which the function takes them.

    >>> x, y = (Recorded("argument", (name,)) for name in "xy")
    >>> plain = function_of([np.maximum(x, 2.0) * y + y, np.exp(x) / np.exp(x)], ["x", "y"])
    >>> plain(3.0, 10.0), plain(1.0, 10.0)
    ((40.0, 1.0), (30.0, 1.0))
    """
    operations, outputs = _distinct(results)
    lines, texts = _lines(operations, outputs)
    body = "\n ".join([*lines, f"return ({', '.join(texts)},)"])
    source = f"def plain({', '.join(arguments)}):\n {body}\n"
    names = {name: vars(math)[name] for name in {*_CALLS.values(), "inf", "nan"}}
    exec(compile(source, "<recorded>", "exec"), names)  # noqa: S102  (our own text, of numbers)
    plain: Plain = names["plain"]
    return plain


Operations: TypeAlias = dict[str, tuple[str, tuple[Operand, ...]]]
"""The operation and operands of each result by name, with operands first."""


def _distinct(results: Sequence[Any]) -> tuple[Operations, list[Operand]]:
    """Find the distinct operations needed for the results, and the name of each result."""
    names: dict[int, Operand] = {}
    interned: dict[tuple[str, tuple[Operand, ...]], str] = {}

    def operand_of(value: Any) -> Operand:
        if isinstance(value, Recorded):
            return names[value.number]
        array = np.asarray(value)
        if array.size != 1:
            raise UnrecordableError("several numbers for one")
        number: float = array.item()
        return number if isinstance(number, bool) else float(number)

    for node in _in_order(results):
        if node.operation == "argument":
            names[node.number] = node.operands[0]
            continue
        operands = [operand_of(value) for value in node.operands]
        if node.operation in _COMMUTE:
            operands.sort(key=lambda operand: (not isinstance(operand, str), operand))
        operand = _known(node.operation, operands)
        if operand is None:
            key = node.operation, tuple(operands)
            if node.operation == "power" and operands[-1] == 2.0:
                key = "multiply", (operands[0], operands[0])
            operand = interned.setdefault(key, f"_{len(interned)}")
        names[node.number] = operand
    return {name: key for key, name in interned.items()}, [operand_of(value) for value in results]


def _known(operation: str, operands: Sequence[Operand]) -> Operand | None:
    """Return the operand or constant that an operation always yields, if there is one.

    Arguments are checked to be finite, so that a number minus itself and a product with 0 are 0.
    """
    first, last = operands[0], operands[-1]
    if operation == "where" and (isinstance(first, bool) or operands[1] == last):
        return operands[1] if first else last
    if _NEUTRAL.get(operation) == last and isinstance(first, str):
        return first
    if first == last and (operation == "subtract" or operation in _LARGEST):
        return 0.0 if operation == "subtract" else first
    return 0.0 if operation == "multiply" and last == 0.0 else None


def _in_order(results: Sequence[Any]) -> list[Recorded]:
    """List all numbers on which the results depend, operands first."""
    nodes: dict[int, Recorded] = {}
    pending = [result for result in results if isinstance(result, Recorded)]
    while pending:
        node = pending.pop()
        if node.number not in nodes:
            nodes[node.number] = node
            pending += [operand for operand in node.operands if isinstance(operand, Recorded)]
    return [nodes[number] for number in sorted(nodes)]


def _lines(operations: Operations, outputs: Sequence[Operand]) -> tuple[list[str], list[str]]:
    """Generate the assignments and output expressions, inlining values that are used once."""
    uses = Counter(outputs)
    for name in reversed(operations):
        operation, operands = operations[name]
        if uses[name]:  # otherwise it is unused
            times = 2 if operation in _LARGEST else 1
            uses.update({operand: times * operands.count(operand) for operand in set(operands)})
    lines: list[str] = []
    texts: dict[Operand, tuple[str, int]] = {}
    for name, (operation, operands) in operations.items():
        if not uses[name]:
            continue
        operand_texts = [texts.get(operand, (_plain(operand), 0)) for operand in operands]
        text = _text(operation, [operand_text for operand_text, _ in operand_texts], operands[-1])
        depth = 1 + max(d for _, d in operand_texts)
        if uses[name] > 1 or depth > _DEEPEST:
            lines.append(f"{name} = {text}")
            text, depth = name, 0
        texts[name] = text, depth
    return lines, [texts.get(output, (_plain(output), 0))[0] for output in outputs]


def _plain(operand: Operand) -> str:
    return operand if isinstance(operand, str) else repr(operand)


def _text(operation: str, parts: list[str], last: Operand) -> str:
    """Generate the expression for an operation; maximum and minimum propagate NaN.

    parts, last : The texts of its operands, and the last operand.
    """
    if operation in _INFIX:
        return f"({parts[0]} {_INFIX[operation]} {parts[1]})"
    if operation in _CALLS:
        return f"{_CALLS[operation]}({', '.join(parts)})"
    if operation in _LARGEST:
        left, right = parts
        takes_right = f"{left} {_LARGEST[operation]} {right}"
        if isinstance(last, str) or math.isnan(last):
            takes_right += f" or {right} != {right}"
        return f"({right} if {takes_right} else {left})"
    if operation in _PREFIX:
        return f"({_PREFIX[operation]}{parts[0]})"
    if operation == "where":
        return f"({parts[1]} if {parts[0]} else {parts[2]})"
    raise UnrecordableError(f"{operation} has no plain form")
