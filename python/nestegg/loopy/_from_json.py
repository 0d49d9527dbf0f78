"""Expressions of the format as loopy has them."""

from __future__ import annotations

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
    "min": p.Min,
    "max": p.Max,
    "and": p.LogicalAnd,
    "or": p.LogicalOr,
    "&": p.BitwiseAnd,
    "|": p.BitwiseOr,
    "^": p.BitwiseXor,
}


class FromJson:
    """Reads expressions.

    Parameters
    ----------
    access
        What an element of an array is, given its name and indices.
    name
        What a name is: inames of a loop may have another one in loopy.
    bind
        The names of inames that a reduction binds.
    """

    def __init__(
        self,
        access: Callable[[str, tuple[Any, ...]], Any],
        name: Callable[[str], Any],
        bind: Callable[[list[str]], Mapping[str, str]],
    ) -> None:
        self.access = access
        self.name = name
        self.bind = bind
        self.bound: dict[str, str] = {}

    def __call__(self, expr: Json) -> Any:
        """The expression."""
        if isinstance(expr, str):
            return p.Variable(self.bound[expr]) if expr in self.bound else self.name(expr)
        if not isinstance(expr, list):
            return expr
        word, *rest = expr
        if word == "[]":
            return self.access(rest[0], tuple(self(index) for index in rest[1:]))
        if word == "reduce":
            return self.reduction(*rest)
        if word == "cast":
            return self.cast(*rest)
        if word in ("call", "subst"):
            return p.Call(p.Variable(rest[0]), tuple(self(argument) for argument in rest[1:]))
        operands = tuple(self(operand) for operand in rest)
        return self.operation(word, operands)

    def operation(self, word: str, operands: tuple[Any, ...]) -> Any:
        """An operation on operands that are read."""
        if word == "-":
            last = p.Product((-1, operands[-1]))
            return last if len(operands) == 1 else p.Sum((operands[0], last))
        if word in NARY:
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
        names = self.bind(inames)
        self.bound = {**outer, **names}
        try:
            return Reduction(word, tuple(names[iname] for iname in inames), self(body))
        finally:
            self.bound = outer

    def cast(self, dtype: str, operand: Json) -> Any:
        """A conversion; one to `bool` asks whether a number is not zero."""
        inner = self(operand)
        if dtype == "bool":
            return p.Comparison(inner, "!=", 0)
        return TypeCast(np.dtype(dtype), inner)
