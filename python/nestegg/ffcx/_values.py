"""Expressions of FFCx's trees as the kernel format writes them.

A complex number is a pair of expressions; a factor that is not a name is bound to a temporary first.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import ffcx.codegeneration.lnodes as L
import numpy as np
import numpy.typing as npt

from nestegg._pairs import Pairs, Value
from nestegg.errors import Unsupported

Json = Any

FUNCTIONS = {
    "sqrt": "sqrt", "abs": "fabs", "cos": "cos", "sin": "sin", "tan": "tan", "acos": "acos", "asin": "asin", "atan": "atan",
    "cosh": "cosh", "sinh": "sinh", "tanh": "tanh", "acosh": "acosh", "asinh": "asinh", "atanh": "atanh", "exp": "exp",
    "ln": "log", "erf": "erf", "atan_2": "atan2", "min_value": "fmin", "max_value": "fmax", "power": "pow",
}  # fmt: skip
"""Functions of UFL and their names in C."""

COMPARISONS = {L.EQ: "==", L.NE: "!=", L.LT: "<", L.GT: ">", L.LE: "<=", L.GE: ">="}


@dataclass(frozen=True)
class Scalar:
    """A variable: one temporary, or one for each part."""

    parts: list[str]
    kind: Any


@dataclass(frozen=True)
class Loop:
    """The index of a loop."""

    iname: str


@dataclass(frozen=True)
class Array:
    """An array; those of the caller note the subscripts that they get."""

    name: str
    kind: Any
    values: npt.NDArray[Any] | None
    is_pair: bool
    accesses: list[list[Json]] | None


class Scope:
    """What names mean, block by block.

    Parameters
    ----------
    reserved
        Names that no temporary may have.
    """

    def __init__(self, reserved: Container[str]) -> None:
        self._reserved = reserved
        self._used: set[str] = set()
        self._blocks: list[dict[str, Scalar | Loop | Array]] = [{}]
        self._arrays: list[Array] = []

    def define(self, name: str, meaning: Scalar | Loop | Array) -> None:
        """Give a name a meaning until its block ends."""
        self._blocks[-1][name] = meaning
        if isinstance(meaning, Array):
            self._arrays.append(meaning)

    def find(self, name: str) -> Scalar | Loop | Array:
        """What a name means."""
        for block in reversed(self._blocks):
            if name in block:
                return block[name]
        raise Unsupported(f"`{name}`, which nothing defines")

    def arrays(self) -> list[Array]:
        """All arrays that were ever defined."""
        return self._arrays

    @contextmanager
    def inner(self) -> Iterator[None]:
        """A block."""
        self._blocks.append({})
        try:
            yield
        finally:
            self._blocks.pop()

    def fresh(self, wanted: str) -> str:
        """A name that no other temporary, table or iname has."""
        name, count = wanted, 0
        while name in self._used or name in self._reserved:
            count += 1
            name = f"{wanted}_{count}"
        self._used.add(name)
        return name


class Values(Pairs):
    """Reads expressions.

    Parameters
    ----------
    scope
        What names mean.
    real
        The dtype of real numbers.
    is_complex
        Whether scalars are complex.
    bind
        Makes a temporary of a value.
    """

    def __init__(self, scope: Scope, real: str, is_complex: bool, bind: Callable[[Json], str]) -> None:
        self.scope = scope
        self.real = real
        self.is_complex = is_complex
        self.bind = bind

    def constant(self, node: Any, what: str) -> int:
        """An integer that is known."""
        value = self.read(node).re
        if not isinstance(value, int):
            raise Unsupported(f"{what} that is not a number")
        return value

    def read(self, node: Any) -> Value:
        """The value of an expression."""
        if isinstance(node, L.LiteralFloat):
            if isinstance(node.value, complex):
                return Value(self.finite(node.value.real), self.finite(node.value.imag))
            return Value(self.finite(node.value))
        if isinstance(node, L.LiteralInt):
            return Value(int(node.value), is_whole=True)
        if isinstance(node, L.Symbol):
            return self.symbol(node)
        if isinstance(node, L.MultiIndex):
            return self.read(node.global_index)
        if isinstance(node, L.ArrayAccess):
            parts = self.element(node)
            whole = node.array.dtype == L.DataType.INT
            return Value(parts[0], parts[1] if len(parts) > 1 else None, whole)
        if isinstance(node, L.Neg):
            return self.negate(self.read(node.arg))
        if isinstance(node, L.Add | L.Sum):
            return self.add([self.read(child) for child in self.children(node)])
        if isinstance(node, L.Mul | L.Product):
            return self.multiply([self.read(child) for child in self.children(node)])
        if isinstance(node, L.Sub):
            return self.subtract(self.read(node.lhs), self.read(node.rhs))
        if isinstance(node, L.Div):
            return self.divide(self.read(node.lhs), self.read(node.rhs))
        if isinstance(node, L.MathFunction):
            return self.function(node)
        if isinstance(node, L.Conditional):
            condition = self.real_part(self.read(node.condition))
            true, false = self.read(node.true), self.read(node.false)
            re = ["if", condition, self.number(true.re, true), self.number(false.re, false)]
            if true.im is None and false.im is None:
                return Value(re)
            return Value(re, ["if", condition, self.imaginary(true), self.imaginary(false)])
        if isinstance(node, L.Not):
            return Value(["not", self.real_part(self.read(node.arg))])
        if isinstance(node, L.And | L.Or):
            word = "and" if isinstance(node, L.And) else "or"
            return Value([word, self.real_part(self.read(node.lhs)), self.real_part(self.read(node.rhs))])
        if type(node) in COMPARISONS:
            operands = [self.real_part(self.read(child)) for child in (node.lhs, node.rhs)]
            return Value([COMPARISONS[type(node)], *operands])
        raise Unsupported(f"an expression of the kind `{type(node).__name__}`")

    def element(self, node: Any) -> list[Json]:
        """The parts of an element of an array."""
        array = self.scope.find(node.array.name)
        if not isinstance(array, Array):
            raise Unsupported(f"a subscript of `{node.array.name}`")
        subscripts = []
        for index in node.indices:
            is_flat = isinstance(index, L.MultiIndex) and node.array.name == "A"
            subscripts += [self.read(symbol).re for symbol in index.symbols] if is_flat else [self.read(index).re]
        if array.accesses is not None:
            array.accesses.append(subscripts)
        place = ["[]", array.name, *subscripts]
        return [[*place, part] for part in range(2)] if array.is_pair else [place]

    # {{{ arithmetic

    def make(self, word: str, *operands: Json) -> Json:
        """An operation; those of one operand are the operand."""
        if len(operands) == 1 and word != "-":
            return operands[0]
        if word == "-" and len(operands) == 1 and isinstance(operands[0], int | float):
            return -operands[0]
        return [word, *operands]

    def name(self, part: Json) -> Json:
        """A temporary for what is no name or number."""
        return part if isinstance(part, str | float | int) else self.bind(part)

    def number(self, number: Json, value: Value) -> Json:
        """A number as C would convert it to a float."""
        if not value.is_whole:
            return number
        return float(number) if isinstance(number, int) else ["cast", self.real, number]

    def divide(self, a: Value, b: Value) -> Value:
        """A quotient; one of integers would depend on what C expects."""
        if a.is_whole and b.is_whole:
            raise Unsupported("a quotient of integers")
        return super().divide(a, b)

    # }}}

    def function(self, node: Any) -> Value:
        """A function of UFL."""
        name, arguments = node.function, [self.read(argument) for argument in node.args]
        first = arguments[0]
        # C computes with complex numbers where the first argument is one by its type.
        if not (self.is_complex and getattr(node.args[0], "dtype", None) == L.DataType.SCALAR):
            if name in ("real", "conj"):
                return first
            if name == "imag":
                return Value(0.0)
            return self.real_function(name, arguments)
        first = self.named(first)
        if name == "real":
            return Value(first.re)
        if name == "imag":
            return Value(self.imaginary(first))
        if name == "conj":
            return self.conjugate(first)
        if name == "abs":
            return self.magnitude(first)
        if name in ("min_value", "max_value"):
            # C takes the real parts: UFL orders nothing else.
            return self.real_function(name, [Value(argument.re, None, argument.is_whole) for argument in arguments])
        if name == "power":
            return self.power(first, arguments[1])
        return self.entire(name, first)

    def real_function(self, name: str, arguments: list[Value]) -> Value:
        if name not in FUNCTIONS:
            raise Unsupported(f"the function `{name}`")
        numbers = [self.number(self.real_part(argument), argument) for argument in arguments]
        if name == "power":
            wanted = arguments[1].re
            if isinstance(wanted, int | float) and wanted == int(wanted):
                return Value(["**", numbers[0], int(wanted)])
        return Value(["call", FUNCTIONS[name], *numbers])

    def symbol(self, node: Any) -> Value:
        found = self.scope.find(node.name)
        if isinstance(found, Loop):
            return Value(found.iname, is_whole=True)
        if isinstance(found, Array):
            raise Unsupported(f"`{node.name}` without a subscript")
        return Value(found.parts[0], found.parts[1] if len(found.parts) > 1 else None, found.kind == L.DataType.INT)

    def real_part(self, value: Value) -> Json:
        if value.im is not None:
            raise Unsupported("a complex number where C wants a real one")
        return value.re

    def imaginary(self, value: Value) -> Json:
        return 0.0 if value.im is None else value.im

    def finite(self, number: Any) -> float:
        if not np.isfinite(number):
            raise Unsupported("a number that is not finite")
        return float(number)

    @staticmethod
    def children(node: Any) -> list[Any]:
        return list(node.args) if isinstance(node, L.NaryOp) else [node.lhs, node.rhs]
