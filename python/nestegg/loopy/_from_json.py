"""Expressions of the format as loopy has them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from loopy.symbolic import LinearSubscript, Reduction, TypeCast
from pymbolic import primitives as p

from nestegg.errors import Error

Json = Any

COMPARISONS = {"<", "<=", ">", ">=", "==", "!="}

BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "/": p.Quotient,
    "//": p.FloorDiv,
    "%": p.Remainder,
    "**": p.Power,
    "<<": p.LeftShift,
    ">>": p.RightShift,
}

NARY: Mapping[str, Callable[[tuple[Any, ...]], Any]] = {
    "+": p.Sum,
    "*": p.Product,
    "and": p.LogicalAnd,
    "or": p.LogicalOr,
    "&": p.BitwiseAnd,
    "|": p.BitwiseOr,
    "^": p.BitwiseXor,
}


BITS = {"&", "|", "^", "<<", ">>", "~"}


def names_in(expr: Json) -> set[str]:
    """All words of an expression: its names, and more."""
    found: set[str] = set()
    waiting = [expr]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            found.add(part)
        elif isinstance(part, list):
            waiting.extend(part)
    return found


class FromJson:
    """Reads expressions.

    Parameters
    ----------
    access
        What an element of an array is, given its name and indices.
    name
        What a name is: inames of a loop may have another one in loopy.
    bind
        The names of inames that a reduction binds, given those of reductions around it.
    rules
        Substitution rules that are replaced by what they stand for: those that speak of inames, which may have other
        names at each use.
    floats
        The names of arrays of floats.
    is_double
        Whether all floats are doubles.
    """

    def __init__(
        self,
        access: Callable[[str, tuple[Any, ...]], Any],
        name: Callable[[str], Any],
        bind: Callable[[list[str], Mapping[str, str]], Mapping[str, str]],
        rules: Mapping[str, Json],
        floats: set[str],
        is_double: bool,
    ) -> None:
        self.access = access
        self.name = name
        self.bind = bind
        self.rules = rules
        self.floats = floats
        self.is_double = is_double
        self.is_in_bits = False
        self.is_in_index = False
        self.bound: dict[str, Any] = {}
        self.formals: dict[str, Any] = {}

    def __call__(self, expr: Json) -> Any:
        """The expression."""
        if isinstance(expr, str):
            if expr in self.formals:
                return self.formals[expr]
            if expr in self.bound:
                return self.bound[expr]
            return self.replaced(expr, []) if expr in self.rules else self.name(expr)
        if not isinstance(expr, list):
            if self.is_in_bits and isinstance(expr, int):
                # Where a float is expected, loopy writes literals without a type as floats, also among bits.
                return np.int32(expr) if -(2**31) <= expr < 2**31 else np.int64(expr)
            # loopy takes a literal without a type for a single float if that holds it, and computes with integers so.
            return np.float64(expr) if self.is_double and isinstance(expr, float) else expr
        word, *rest = expr
        if word == "[]":
            is_in_index, self.is_in_index = self.is_in_index, True
            indices = tuple(self(index) for index in rest[1:])
            self.is_in_index = is_in_index
            return self.access(rest[0], indices)
        if word == "reduce":
            return self.reduction(*rest)
        if word == "cast":
            return self.cast(*rest)
        if word == "subst" and rest[0] in self.rules:
            return self.replaced(rest[0], rest[1:])
        if word in ("call", "subst"):
            return p.Call(p.Variable(rest[0]), tuple(self(argument) for argument in rest[1:]))
        is_in_bits = self.is_in_bits
        self.is_in_bits = is_in_bits or word in BITS
        operands = tuple(self(operand) for operand in rest)
        self.is_in_bits = is_in_bits
        if word in ("min", "max") and len(operands) > 1:
            # The nodes of extrema have no words in C. It has functions for floats, and none for integers.
            if any(self.is_float(operand) for operand in rest):
                return functools.reduce(lambda a, b: p.Call(p.Variable(word), (a, b)), operands)
            operator = "<" if word == "min" else ">"
            return functools.reduce(lambda a, b: p.If(p.Comparison(a, operator, b), a, b), operands)
        return self.operation(word, operands)

    def is_float(self, expr: Json) -> bool:
        """Whether a value is a float."""
        if isinstance(expr, str):
            if expr in self.rules:
                return self.is_float(self.rules[expr]["expression"])
            return expr in self.floats or expr in self.formals
        if not isinstance(expr, list):
            return isinstance(expr, float)
        word, *rest = expr
        if word == "[]":
            return rest[0] in self.floats
        if word == "cast":
            return str(rest[0]).startswith("float")
        if word in ("call", "subst", "/"):
            return True
        if word == "if":
            rest = rest[1:]
        if word == "reduce":
            rest = rest[2:]
        return word not in COMPARISONS | {"and", "or", "not"} and any(self.is_float(operand) for operand in rest)

    def replaced(self, name: str, arguments: list[Json]) -> Any:
        """What a substitution rule stands for."""
        rule = self.rules[name]
        outer = self.formals
        formals = dict(zip(rule["parameters"], (self(argument) for argument in arguments), strict=True))
        self.formals = formals
        try:
            return self(rule["expression"])
        finally:
            self.formals = outer

    def operation(self, word: str, operands: tuple[Any, ...]) -> Any:
        """An operation on operands that are read."""
        if word == "-":
            last = p.Product((-1, operands[-1]))
            return last if len(operands) == 1 else p.Sum((operands[0], last))
        if word in NARY or word in ("min", "max"):
            return operands[0] if len(operands) == 1 else NARY[word](operands)
        if word in BINARY:
            return BINARY[word](*operands)
        if word in COMPARISONS:
            left, right = operands
            return p.Comparison(left, word, right)
        if word == "not":
            return p.LogicalNot(operands[0])
        if word == "~":
            return p.BitwiseNot(operands[0])
        if word == "if":
            return p.If(*operands)
        raise Error(f"loopy has no operation `{word}`")

    def reduction(self, word: str, inames: list[str], body: Json) -> Any:
        """A reduction, over inames of its own."""
        outer = self.bound
        names = self.bind(inames, {iname: variable.name for iname, variable in outer.items()})
        self.bound = {**outer, **{iname: p.Variable(name) for iname, name in names.items()}}
        try:
            return Reduction(word, tuple(names[iname] for iname in inames), self(body))
        finally:
            self.bound = outer

    def cast(self, dtype: str, operand: Json) -> Any:
        """A conversion; one to `bool` asks whether a number is not zero."""
        inner = self(operand)
        if self.is_in_bits and self.is_in_index and dtype.startswith("int") and not self.is_float(operand):
            # loopy's simplification of indices stops at conversions among bits; its indices are small integers anyway.
            return inner
        if dtype == "bool":
            return p.Comparison(inner, "!=", 0)
        return TypeCast(np.dtype(dtype), inner)
