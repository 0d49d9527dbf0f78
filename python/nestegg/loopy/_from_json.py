"""Expressions of the format as loopy has them."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import numpy as np
from loopy.symbolic import LinearSubscript, Reduction, TypeCast
from pymbolic import primitives as p

from nestegg.errors import Error, Unsupported
from nestegg.loopy._functions import EXTREMA

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


WHOLE = {"//", "%"}
"""Operations in which loopy writes literals as integers."""

PASSING = {"-", "if", "min", "max"}
"""Operations whose value is one of their operands, but for its sign."""

NEUTRAL = {"sum": 0, "product": 1}
"""What points outside a domain add to a reduction."""

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


def compared(left: Any, operator: str, right: Any) -> Any:
    """A comparison. In C it comes before bitwise operations, but loopy sets parentheses as in Python; it sets them in a sum of one."""
    weaker = (p.BitwiseAnd, p.BitwiseOr, p.BitwiseXor)
    left, right = (p.Sum((side,)) if isinstance(side, weaker) else side for side in (left, right))
    return p.Comparison(left, operator, right)


def is_number(expr: Json) -> bool:
    """Whether an expression is a literal, or its negative."""
    if isinstance(expr, list):
        return len(expr) == 2 and expr[0] == "-" and is_number(expr[1])
    return isinstance(expr, (int, float))


class Type(enum.IntEnum):
    """The format's types of values, in the order in which they win where two meet; a weak one takes the type that it meets."""

    BOOL = 0
    WEAK_INT = 1
    INT32 = 2
    INT64 = 3
    WEAK_FLOAT = 4
    FLOAT32 = 5
    FLOAT64 = 6

    @property
    def is_float(self) -> bool:
        """Whether it is a float, weak or not."""
        return self >= Type.WEAK_FLOAT


TYPES = {"bool": Type.BOOL, "int64": Type.INT64, "float32": Type.FLOAT32, "float64": Type.FLOAT64}
TYPES |= {"uint32": Type.INT64, "uint64": Type.INT64}
"""The types of dtypes; elements of all others are read as ``int32``."""

WEAK = {Type.WEAK_INT, Type.WEAK_FLOAT}


class FromJson:
    """Reads expressions.

    loopy guesses the type of a literal without one, and writes it as the type of what is assigned in the end, also among
    integers. So literals get the type that they have in the format where that may be another.

    Parameters
    ----------
    access
        What an element of an array is, given its name and indices.
    name
        What a name is: inames of a loop may have another one in loopy.
    bind
        The names of inames that a reduction binds, given those of reductions around it, and the condition under which a point
        of their loops is one of their domain, if not always.
    rules
        Substitution rules that are replaced by what they stand for: those that speak of inames, which may have other
        names at each use.
    dtypes
        The dtypes of arrays and parameters.
    is_double
        Whether all floats are doubles.
    is_typed
        Whether all integers get types, and floats of whole value are converted twice to what they are: loopy takes equal expressions
        for the same, whatever types their literals have.
    unrolled
        Inames that loopy replaces by literals without types.
    """

    def __init__(
        self,
        access: Callable[[str, tuple[Any, ...]], Any],
        name: Callable[[str], Any],
        bind: Callable[[list[str], Mapping[str, str]], tuple[Mapping[str, str], Any]],
        rules: Mapping[str, Json],
        dtypes: Mapping[str, str],
        is_double: bool,
        is_typed: bool,
        unrolled: Collection[str],
    ) -> None:
        self.access = access
        self.name = name
        self.bind = bind
        self.rules = rules
        self.dtypes = dtypes
        self.is_double = is_double
        self.is_typed = is_typed
        self.unrolled = unrolled
        self.kinds: dict[Any, set[str]] = {}
        self.rounded: set[float] = set()
        self.is_in_index = False
        self.is_in_float = False
        self.bound: dict[str, Any] = {}
        self.formals: dict[str, tuple[Any, ...]] = {}
        self.types_of_formals: dict[str, Type] = {}
        self.known: dict[int, tuple[Json, Type]] = {}

    def assigned(self, expr: Json, dtype: str) -> Any:
        """The expression, assigned to something of a dtype."""
        meets = TYPES.get(dtype, Type.INT32)
        self.is_in_float = meets.is_float
        try:
            return self.operand(expr, meets)
        finally:
            self.is_in_float = False

    def __call__(self, expr: Json) -> Any:
        """The expression."""
        return self.operand(expr, self.type_of(expr))

    def operand(self, expr: Json, meets: Type) -> Any:
        """The expression, where it meets a type: its own is the same, or it is converted."""
        if isinstance(expr, str):
            if expr in self.formals:
                return self.formal(expr, meets)
            if expr in self.bound:
                return self.bound[expr]
            return self.replaced(expr, [], meets) if expr in self.rules else self.name(expr)
        if not isinstance(expr, list):
            return self.literal(expr, meets)
        word, *rest = expr
        if word == "[]":
            indices = tuple(self.within(index, is_in_index=True, is_in_float=False) for index in rest[1:])
            return self.access(rest[0], indices)
        if word == "cast":
            return self.cast(*rest)
        if word == "subst" and rest[0] in self.rules:
            return self.replaced(rest[0], rest[1:], meets)
        own = self.type_of(expr)
        is_one_of = word in PASSING and all(is_number(part) for part in (rest[1:] if word == "if" else rest))
        if own == Type.WEAK_FLOAT and meets == Type.FLOAT32 and not is_one_of:
            # Computed in double precision, then converted.
            return TypeCast(np.dtype(np.float32), self.operand(expr, Type.WEAK_FLOAT))
        if own == Type.WEAK_FLOAT:
            own = meets
        if word == "reduce":
            return self.reduction(rest[0], rest[1], rest[2], own)
        if word in ("call", "subst"):
            inner = self.joined(rest[1:])
            inner = inner if inner.is_float else Type.FLOAT64
            arguments = tuple(self.within(argument, is_in_float=True, meets=inner) for argument in rest[1:])
            return p.Call(p.Variable(rest[0]), arguments)
        if word == "if":
            condition = self.within(rest[0], is_in_float=False)
            found = p.If(condition, *(self.operand(operand, own) for operand in rest[1:]))
            return self.noted(found, rest[1:], own, is_in_float=self.is_in_float)
        is_in_float = self.is_in_float
        if word in COMPARISONS:
            own = self.joined(rest)
            is_in_float = own.is_float
        elif word in WHOLE:
            is_in_float = own.is_float
        elif word in ("/", "**"):
            own = self.joined(rest)
            if word == "**" and isinstance(rest[1], (int, float)):
                # loopy looks at the value of an exponent.
                single = np.float32 if own == Type.FLOAT32 else np.float64
                exponent = rest[1] if isinstance(rest[1], int) else single(rest[1])
                return self.operation(word, (self.operand(rest[0], own), exponent), own)
        operands = tuple(self.within(operand, is_in_float=is_in_float, meets=own) for operand in rest)
        if is_in_float and word in BITS:
            # Operands of a whole quotient are always written as integers.
            operands = tuple(
                p.FloorDiv(operand, np.int64(1)) if isinstance(expr, str) and expr in self.unrolled else operand
                for operand, expr in zip(operands, rest, strict=True)
            )
        if word in ("min", "max") and len(operands) > 1:
            # The nodes of extrema have no words in C. It has functions for floats, and none for integers.
            if own.is_float:
                if len(operands) > 2 and own == Type.FLOAT64:
                    # Taken in pairs, some would meet single floats only.
                    operands = tuple(
                        TypeCast(np.dtype(np.float64), operand) if self.type_of(expr) == Type.FLOAT32 else operand
                        for operand, expr in zip(operands, rest, strict=True)
                    )
                return functools.reduce(lambda a, b: p.Call(p.Variable(word), (a, b)), operands)
            if "reduce" in names_in(rest):
                # In a selection it would stand twice, and loopy runs over its inames once.
                return functools.reduce(lambda a, b: p.Call(p.Variable(EXTREMA[word]), (a, b)), operands)
            operator = "<" if word == "min" else ">"
            return functools.reduce(lambda a, b: p.If(compared(a, operator, b), a, b), operands)
        found = self.operation(word, operands, own)
        if word == "-" and len(rest) == 2:
            self.noted(found.children[1], [-1], own, is_in_float=is_in_float)
        return self.noted(found, [-1] if word == "-" else rest, own, is_in_float=is_in_float)

    def noted(self, found: Any, operands: list[Json], meets: Type, *, is_in_float: bool) -> Any:
        """The operation, noted with the types of the literals in it."""
        if any(isinstance(operand, (int, float)) for operand in operands):
            self.kinds.setdefault(found, set()).add("float" if meets.is_float else "typed" if is_in_float else "untyped")
        return found

    def within(self, expr: Json, *, is_in_float: bool, is_in_index: bool | None = None, meets: Type | None = None) -> Any:
        """The expression, where loopy writes literals without a type as floats or does not."""
        was = (self.is_in_float, self.is_in_index)
        self.is_in_float = is_in_float
        self.is_in_index = self.is_in_index if is_in_index is None else is_in_index
        try:
            return self(expr) if meets is None else self.operand(expr, meets)
        finally:
            self.is_in_float, self.is_in_index = was

    def literal(self, number: Any, meets: Type) -> Any:
        """A number that meets a type."""
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            return number
        if isinstance(number, float):
            found = np.float32(number) if meets == Type.FLOAT32 else np.float64(number)
            if float(found) != number:
                self.rounded.add(number)
            is_marked = self.is_typed and number.is_integer()
            return TypeCast(found.dtype, TypeCast(found.dtype, found)) if is_marked else found
        if (self.is_in_float or self.is_typed) and not meets.is_float:
            return np.int32(number) if -(2**31) <= number < 2**31 else np.int64(number)
        return number

    # {{{ types

    def joined(self, exprs: Iterable[Json]) -> Type:
        """The type of an operation on operands."""
        return max([Type.WEAK_INT, *(self.type_of(expr) for expr in exprs)])

    def type_of(self, expr: Json) -> Type:
        """The format's type of an expression."""
        if not isinstance(expr, list):
            return self.type_of_leaf(expr)
        if self.types_of_formals:
            return self.type_of_operation(expr)
        known = self.known.get(id(expr))
        if known is None:
            known = self.known[id(expr)] = (expr, self.type_of_operation(expr))
        return known[1]

    def type_of_leaf(self, expr: Json) -> Type:
        """The type of a name or a number."""
        if isinstance(expr, str):
            if expr in self.types_of_formals:
                return self.types_of_formals[expr]
            if expr in self.rules:
                return self.type_of(self.rules[expr]["expression"])
            return TYPES.get(self.dtypes.get(expr, "int32"), Type.INT32)
        if isinstance(expr, float):
            return Type.WEAK_FLOAT
        return Type.WEAK_INT if -(2**31) <= expr < 2**31 else Type.INT64

    def type_of_operation(self, expr: Json) -> Type:
        """The type of an operation."""
        word, *rest = expr
        if word == "[]":
            return self.type_of_leaf(rest[0])
        if word == "cast":
            return TYPES.get(rest[0], Type.INT32)
        if word in COMPARISONS or word in ("and", "or", "not"):
            return Type.BOOL
        if word == "reduce":
            return self.joined(rest[2:])
        if word == "subst":
            return self.type_of_rule(*rest)
        if word == "if":
            types = {self.type_of(operand) for operand in rest[1:]}
            return Type.BOOL if types == {Type.BOOL} else self.joined(rest[1:])
        if word == "call":
            found = self.joined(rest[1:])
            return found if found.is_float else Type.FLOAT64
        if word == "**" and isinstance(rest[1], int) and rest[1] >= 0:
            return self.joined(rest[:1])
        found = self.joined(rest)
        if word in ("/", "**") and not found.is_float:
            return Type.WEAK_FLOAT if found == Type.WEAK_INT else Type.FLOAT64
        return found

    def type_of_rule(self, name: str, *arguments: Json) -> Type:
        """The type of what a substitution rule stands for."""
        if name not in self.rules:
            return Type.FLOAT64
        outer = self.types_of_formals
        types = (self.type_of(argument) for argument in arguments)
        formals = dict(zip(self.rules[name]["parameters"], types, strict=True))
        self.types_of_formals = formals
        try:
            return self.type_of(self.rules[name]["expression"])
        finally:
            self.types_of_formals = outer

    # }}}

    def replaced(self, name: str, arguments: list[Json], meets: Type) -> Any:
        """What a substitution rule stands for."""
        rule = self.rules[name]
        outer = (self.formals, self.types_of_formals)
        types = [self.type_of(argument) for argument in arguments]
        self.formals = {
            formal: (argument, *outer, self.bound)
            for formal, argument in zip(rule["parameters"], arguments, strict=True)
        }
        self.types_of_formals = dict(zip(rule["parameters"], types, strict=True))
        try:
            return self.operand(rule["expression"], meets)
        finally:
            self.formals, self.types_of_formals = outer

    def formal(self, name: str, meets: Type) -> Any:
        """The argument of a rule, read anew at each use: reductions in it get inames of their own."""
        was = (self.formals, self.types_of_formals, self.bound)
        argument, self.formals, self.types_of_formals, self.bound = self.formals[name]
        try:
            return self.operand(argument, meets if self.type_of(argument) in WEAK else self.type_of(argument))
        finally:
            self.formals, self.types_of_formals, self.bound = was

    def operation(self, word: str, operands: tuple[Any, ...], meets: Type) -> Any:
        """An operation on operands that are read."""
        if word == "-":
            last = p.Product((self.literal(-1, meets), operands[-1]))
            return last if len(operands) == 1 else p.Sum((operands[0], last))
        if word in NARY or word in ("min", "max"):
            return operands[0] if len(operands) == 1 else NARY[word](operands)
        if word in BINARY:
            return BINARY[word](*operands)
        if word in COMPARISONS:
            left, right = operands
            return compared(left, word, right)
        if word == "not":
            return p.LogicalNot(operands[0])
        if word == "~":
            return p.BitwiseNot(operands[0])
        if word == "if":
            return p.If(*operands)
        raise Error(f"loopy has no operation `{word}`")

    def reduction(self, word: str, inames: list[str], body: Json, meets: Type) -> Any:
        """A reduction, over inames of its own."""
        outer = self.bound
        names, condition = self.bind(inames, {iname: variable.name for iname, variable in outer.items()})
        self.bound = {**outer, **{iname: p.Variable(name) for iname, name in names.items()}}
        try:
            inner = self.within(body, is_in_float=meets.is_float, meets=meets)
            if condition is not None:
                if word not in NEUTRAL:
                    raise Unsupported(f"`{word}` over a domain that is no convex set has no place in loopy")
                neutral = NEUTRAL[word]
                inner = p.If(condition, inner, self.literal(float(neutral) if meets.is_float else neutral, meets))
            return Reduction(word, tuple(names[iname] for iname in inames), inner)
        finally:
            self.bound = outer

    def cast(self, dtype: str, operand: Json) -> Any:
        """A conversion; one to `bool` asks whether a number is not zero."""
        found = self.type_of(operand)
        if self.is_in_index and dtype.startswith("int") and not found.is_float and found != Type.BOOL:
            # loopy's simplification of indices stops at conversions; its indices are small integers anyway.
            return self(operand)
        if dtype == "bool":
            return p.Comparison(self.within(operand, is_in_float=found.is_float), "!=", 0)
        return TypeCast(np.dtype(dtype), self(operand))
