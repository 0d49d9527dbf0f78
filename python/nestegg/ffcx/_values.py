"""Expressions of FFCx's trees as the kernel format writes them.

A complex number is a pair of expressions. Sums and products of pairs are those of complex numbers; a factor that is not a name is bound
to a temporary first, so that products of products do not grow. Functions are those whose parts are functions of reals; where the branch
of a root or logarithm would matter, the kernel is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import Any

import ffcx.codegeneration.lnodes as L
import numpy as np
import numpy.typing as npt

from nestegg.errors import Unsupported

Json = Any

FUNCTIONS = {
    "sqrt": "sqrt", "abs": "fabs", "cos": "cos", "sin": "sin", "tan": "tan", "acos": "acos", "asin": "asin", "atan": "atan",
    "cosh": "cosh", "sinh": "sinh", "tanh": "tanh", "acosh": "acosh", "asinh": "asinh", "atanh": "atanh", "exp": "exp",
    "ln": "log", "erf": "erf", "atan_2": "atan2", "min_value": "fmin", "max_value": "fmax", "power": "pow",
}  # fmt: skip
"""Functions of UFL and their names in C."""

COMPARISONS = {L.EQ: "==", L.NE: "!=", L.LT: "<", L.GT: ">", L.LE: "<=", L.GE: ">="}

MAX_POWER = 16
"""Powers of complex numbers up to this one are products."""


@dataclass(frozen=True)
class Value:
    """A number or condition.

    Attributes
    ----------
    re
        Its real part.
    im
        Its imaginary part; none of a real number.
    is_whole
        Whether it is an integer.
    """

    re: Json
    im: Json | None = None
    is_whole: bool = False


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


class Values:
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

    def add(self, operands: list[Value]) -> Value:
        """A sum."""
        imaginary = [operand.im for operand in operands if operand.im is not None]
        return Value(
            _nary("+", [operand.re for operand in operands]),
            _nary("+", imaginary) if imaginary else None,
            all(operand.is_whole for operand in operands),
        )

    def negate(self, value: Value) -> Value:
        """The negative."""
        if isinstance(value.re, int | float) and value.im is None:
            return Value(-value.re, None, value.is_whole)
        return Value(["-", value.re], None if value.im is None else ["-", value.im], value.is_whole)

    def subtract(self, a: Value, b: Value) -> Value:
        """A difference."""
        is_whole = a.is_whole and b.is_whole
        re = ["-", a.re, b.re]
        if b.im is None:
            return Value(re, a.im, is_whole)
        return Value(re, ["-", b.im] if a.im is None else ["-", a.im, b.im], is_whole)

    def multiply(self, operands: list[Value]) -> Value:
        """A product."""
        reals = [operand for operand in operands if operand.im is None]
        pairs = [operand for operand in operands if operand.im is not None]
        if not pairs:
            return Value(_nary("*", [operand.re for operand in reals]), None, all(operand.is_whole for operand in reals))
        pair = reduce(self.multiply_pairs, pairs)
        if not reals:
            return pair
        factors = [operand.re for operand in reals]
        return Value(_nary("*", [*factors, pair.re]), _nary("*", [*factors, pair.im]))

    def multiply_pairs(self, a: Value, b: Value) -> Value:
        a, b = self.named(a), self.named(b)
        return Value(
            ["-", ["*", a.re, b.re], ["*", a.im, b.im]],
            ["+", ["*", a.re, b.im], ["*", a.im, b.re]],
        )

    def divide(self, a: Value, b: Value) -> Value:
        """A quotient."""
        if a.is_whole and b.is_whole:
            raise Unsupported("a quotient of integers")
        if b.im is None:
            by = self.number(b.re, b)
            return Value(["/", a.re, by], None if a.im is None else ["/", a.im, by])
        b = self.named(b)
        square = self.bind(["+", ["*", b.re, b.re], ["*", b.im, b.im]])
        product = self.multiply([a, Value(b.re, ["-", b.im])])
        return Value(["/", product.re, square], ["/", product.im, square])

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
            return Value(first.re, None if first.im is None else ["-", first.im])
        if name == "abs":
            return Value(["call", "fabs", first.re] if first.im is None else ["call", "hypot", first.re, first.im])
        if name in ("min_value", "max_value"):
            # C takes the real parts: UFL orders nothing else.
            return self.real_function(name, [Value(argument.re, None, argument.is_whole) for argument in arguments])
        if name == "power":
            return self.power(first, arguments[1])
        return self.entire(name, first)

    def power(self, base: Value, exponent: Value) -> Value:
        wanted = exponent.re
        if exponent.im is not None or not isinstance(wanted, int | float) or wanted != int(wanted):
            raise Unsupported("a power of a complex number that is not a whole number")
        n = int(wanted)
        if not 1 <= abs(n) <= MAX_POWER:
            raise Unsupported(f"the power {n} of a complex number")
        res = self.multiply([base] * abs(n))
        return res if n > 0 else self.divide(Value(1.0), res)

    def entire(self, name: str, value: Value) -> Value:
        """A function that has no branches, of a complex number."""
        a, b = self.number(value.re, value), value.im
        entire = ("exp", "sin", "cos", "sinh", "cosh")
        if name not in entire:
            raise Unsupported(f"`{name}` of a complex number")
        if b is None:
            return Value(["call", name, a])
        if name == "exp":
            scale = self.bind(["call", "exp", a])
            return Value(["*", scale, ["call", "cos", b]], ["*", scale, ["call", "sin", b]])
        if name in ("sinh", "cosh"):
            other = "cosh" if name == "sinh" else "sinh"
            return Value(
                ["*", ["call", name, a], ["call", "cos", b]],
                ["*", ["call", other, a], ["call", "sin", b]],
            )
        other = "cos" if name == "sin" else "sin"
        im = ["*", ["call", other, a], ["call", "sinh", b]]
        return Value(["*", ["call", name, a], ["call", "cosh", b]], im if name == "sin" else ["-", im])

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

    def named(self, value: Value) -> Value:
        """The same, each part a name or a number."""
        if value.im is None:
            return value
        re, im = (part if isinstance(part, str | float | int) else self.bind(part) for part in (value.re, value.im))
        return Value(re, im)

    def real_part(self, value: Value) -> Json:
        if value.im is not None:
            raise Unsupported("a complex number where C wants a real one")
        return value.re

    def imaginary(self, value: Value) -> Json:
        return 0.0 if value.im is None else value.im

    def number(self, number: Json, value: Value) -> Json:
        """A number as C would convert it to a float."""
        if not value.is_whole:
            return number
        return float(number) if isinstance(number, int) else ["cast", self.real, number]

    def finite(self, number: Any) -> float:
        if not np.isfinite(number):
            raise Unsupported("a number that is not finite")
        return float(number)

    @staticmethod
    def children(node: Any) -> list[Any]:
        return list(node.args) if isinstance(node, L.NaryOp) else [node.lhs, node.rhs]


def _nary(op: str, operands: list[Json]) -> Json:
    return operands[0] if len(operands) == 1 else [op, *operands]
