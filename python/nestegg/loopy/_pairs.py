"""Expressions of loopy as pairs of real ones.

Both parts of a factor that they repeat are temporaries of the instruction. Inside reductions, and where a condition guards them, factors
are repeated instead.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import loopy as lp
import numpy as np
from loopy.kernel.data import AddressSpace
from loopy.library.reduction import SumReductionOperation
from loopy.symbolic import LinearSubscript, Reduction, TypeCast, get_dependencies
from loopy.types import NumpyType
from pymbolic import evaluate
from pymbolic import primitives as p

from nestegg._pairs import Pairs, Value
from nestegg.errors import Unsupported
from nestegg.loopy._functions import WHOLE
from nestegg.loopy._to_json import function_name, negated
from nestegg.loopy._walk import nodes

PARTS = {"real", "imag", "conj", WHOLE}
"""Functions that the format has no words for, whatever they are of."""

MAX_SIZE = 2000
"""How many operations and operands a factor may have that is repeated."""


@dataclasses.dataclass(frozen=True)
class Names:
    """What names mean.

    Attributes
    ----------
    scalars
        The names of the parts of complex scalars.
    arrays
        Complex arrays, and value arguments: their last axis is that of parts.
    functions
        The names of functions that have others in the translation unit.
    dtypes
        The types of data, and those of parts.
    temporaries
        All temporaries; it gets those that expressions need.
    new_name
        Makes a name.
    """

    scalars: Mapping[str, tuple[str, str]]
    arrays: Collection[str]
    functions: Mapping[str, str]
    dtypes: dict[str, np.dtype[Any]]
    temporaries: dict[str, Any]
    new_name: Callable[[str], str]

    @cached_property
    def is_double(self) -> bool:
        """Whether no data has single precision."""
        return np.dtype(np.float32) not in self.dtypes.values()

    @cached_property
    def pairs(self) -> set[str]:
        """All complex data."""
        return {*self.scalars, *self.arrays}

    @cached_property
    def of_parts(self) -> set[str]:
        """What calls to functions of parts may name."""
        return PARTS | {id for id, name in self.functions.items() if name in PARTS}

    def involved(self, expr: Any) -> bool:
        """Whether an expression speaks of complex numbers."""
        return involves(expr, self.pairs, self.of_parts)


class PairReader(Pairs):
    """Reads the expressions of an instruction.

    Parameters
    ----------
    names
        What names mean.
    id
        The instruction.
    """

    def __init__(self, names: Names, id: str) -> None:
        self.names = names
        self.id = id
        self.bound: list[tuple[Any, Any]] = []
        self.n_guards = 0

    def assignment(self, insn: lp.Assignment) -> list[tuple[Any, Any, frozenset[Any]]]:
        """Assignees, expressions and predicates, one after the other."""
        with self.guarded():
            predicates = frozenset(self.real(predicate) for predicate in insn.predicates)
        written = insn.assignee_var_names()[0]
        if any(written in get_dependencies(predicate) for predicate in insn.predicates):
            raise Unsupported("complex numbers under a condition that reads what the instruction writes")
        value = self.read(insn.expression)
        if array_name(insn.assignee) in self.names.pairs:
            stores = self.stores(self.parts(insn.assignee), value)
        else:
            stores = [(self.place_of(insn.assignee), value.re)]
        return [(assignee, expression, predicates) for assignee, expression in (*self.bound, *stores)]

    def stores(self, to: Value, value: Value) -> list[tuple[Any, Any]]:
        """Assignments of both parts, so that neither reads what the other has changed."""
        im = 0.0 if value.im is None else value.im
        if not reads_part(im, to.re):
            return [(to.re, value.re), (to.im, im)]
        if not reads_part(value.re, to.im):
            return [(to.im, im), (to.re, value.re)]
        kept = self.temporary("re", self.names.dtypes[array_name(to.re)])
        return [(kept, value.re), (to.im, im), (to.re, kept)]

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Where an expression may not be evaluated elsewhere."""
        self.n_guards += 1
        try:
            yield
        finally:
            self.n_guards -= 1

    def temporary(self, what: str, dtype: np.dtype[Any]) -> Any:
        """A scalar of the instruction."""
        name = self.names.new_name(f"{self.id}_{what}")
        self.names.temporaries[name] = lp.TemporaryVariable(name, dtype, shape=(), address_space=AddressSpace.PRIVATE)
        self.names.dtypes[name] = dtype
        return p.Variable(name)

    # {{{ of pairs

    def make(self, word: str, *operands: Any) -> Any:
        """An operation, without terms that are 0 and factors that are 1."""
        if word == "call":
            function, *arguments = operands
            if not any(isinstance(argument, p.ExpressionNode) for argument in arguments):
                # Where a literal says no type, loopy would take the value for a single float.
                number = getattr(np, function)(*arguments)
                return number if isinstance(arguments[0], np.floating) else float(number)
            return p.Call(p.Variable(function), tuple(arguments))
        if word == "/":
            return p.Quotient(*operands)
        if word == "-":
            *first, last = operands
            if self.is_number(last, 0):
                return first[0] if first else 0.0
            negative = p.Product((-1, last)) if isinstance(last, p.ExpressionNode) else -last
            return negative if not first or self.is_number(first[0], 0) else p.Sum((first[0], negative))
        if word == "+":
            terms = [operand for operand in operands if not self.is_number(operand, 0)]
            return terms[0] if len(terms) == 1 else p.Sum(tuple(terms)) if terms else 0.0
        if any(self.is_number(operand, 0) for operand in operands):
            return 0.0
        factors = [operand for operand in operands if not self.is_number(operand, 1)]
        signs = [factor for factor in factors if self.is_number(factor, -1)]
        factors = [factor for factor in factors if not self.is_number(factor, -1)]
        product = factors[0] if len(factors) == 1 else p.Product(tuple(factors)) if factors else 1.0
        return self.make("-", product) if len(signs) % 2 else product

    def is_number(self, expr: Any, number: int) -> bool:
        """Whether an expression is that number, and the type of the number does not matter."""
        if isinstance(expr, p.ExpressionNode) or (isinstance(expr, np.float64) and not self.names.is_double):
            return False
        return bool(expr == number)

    def name(self, part: Any) -> Any:
        """A temporary for what is no name, element or number, nor the negative of one."""
        inner = negated(part)
        if not get_dependencies(part) or isinstance(part if inner is None else inner, (p.Variable, p.Subscript)):
            return part
        if self.n_guards:
            if size(part) > MAX_SIZE:
                raise Unsupported("a product of complex numbers with large factors in a reduction or branch: give them names")
            return part
        found = self.temporary("part", float_dtype(part, self.names.dtypes))
        self.bound.append((found, part))
        return found

    # }}}

    def real(self, expr: Any) -> Any:
        """A real number or condition."""
        value = self.read(expr)
        if value.im is not None:
            raise Unsupported(f"the complex number `{expr}` where a real one is expected")
        return value.re

    def read(self, expr: Any) -> Value:
        """The value of an expression."""
        if not self.names.involved(expr):
            return Value(expr if get_dependencies(expr) or not isinstance(expr, p.ExpressionNode) else constant(expr))
        if isinstance(expr, (complex, np.complexfloating)):
            # Not -0.0, which the format writes as 0.
            return Value(expr.real + 0, expr.imag + 0)
        if isinstance(expr, (p.Variable, p.Subscript, LinearSubscript)):
            return self.parts(expr) if array_name(expr) in self.names.pairs else Value(self.place_of(expr))
        if isinstance(expr, p.Sum):
            return self.add([self.read(child) for child in expr.children])
        if isinstance(expr, p.Product):
            return self.multiply([self.read(child) for child in expr.children])
        if isinstance(expr, p.Quotient):
            return self.divide(self.read(expr.numerator), self.read(expr.denominator))
        if isinstance(expr, p.Power):
            base, exponent = self.read(expr.base), self.read(expr.exponent)
            is_real = base.im is None and exponent.im is None
            return Value(p.Power(base.re, exponent.re)) if is_real else self.power(base, exponent)
        if isinstance(expr, p.Call):
            return self.call(expr)
        if isinstance(expr, p.If):
            return self.selection(expr)
        if isinstance(expr, p.Comparison):
            return Value(self.comparison(expr))
        if isinstance(expr, (p.LogicalAnd, p.LogicalOr, p.Min, p.Max)):
            with self.guarded():
                return Value(type(expr)(tuple(self.real(child) for child in expr.children)))
        if isinstance(expr, p.LogicalNot):
            return Value(p.LogicalNot(self.real(expr.child)))
        if isinstance(expr, Reduction):
            return self.reduction(expr)
        if isinstance(expr, TypeCast):
            value = self.read(expr.child)
            dtype = real_dtype(expr.type)
            im = TypeCast(dtype, value.im) if is_complex(expr.type) and value.im is not None else None
            return Value(TypeCast(dtype, value.re), im)
        raise Unsupported(f"complex numbers in the expression `{expr}` ({type(expr).__name__})")

    def place_of(self, expr: Any) -> Any:
        """An element of an array of reals."""
        if isinstance(expr, p.Subscript):
            return p.Subscript(expr.aggregate, tuple(self.real(index) for index in expr.index_tuple))
        if isinstance(expr, LinearSubscript):
            return LinearSubscript(expr.aggregate, self.real(expr.index))
        return expr

    def parts(self, expr: Any) -> Value:
        """The parts of a complex variable or element."""
        name = array_name(expr)
        if name in self.names.scalars:
            re, im = self.names.scalars[name]
            return Value(p.Variable(re), p.Variable(im))
        if isinstance(expr, LinearSubscript):
            raise Unsupported(f"the complex array `{name}` is read by linear subscripts")
        indices = tuple(self.real(index) for index in expr.index_tuple) if isinstance(expr, p.Subscript) else ()
        re, im = (p.Subscript(p.Variable(name), (*indices, part)) for part in range(2))
        return Value(re, im)

    def call(self, expr: Any) -> Value:
        """A function."""
        name = function_name(expr.function)
        name = self.names.functions.get(name, name)
        arguments = [self.read(argument) for argument in expr.parameters]
        first = arguments[0]
        if name == "real":
            return Value(first.re)
        if name == "imag":
            return Value(0.0 if first.im is None else first.im)
        if name == "conj":
            return self.conjugate(first)
        if name == WHOLE:
            return Value(first.re, arguments[1].re)
        if all(argument.im is None for argument in arguments):
            return Value(p.Call(p.Variable(name), tuple(argument.re for argument in arguments)))
        if name in ("abs", "fabs"):
            return self.magnitude(first)
        return self.power(first, arguments[1]) if name == "pow" else self.entire(name, first)

    def selection(self, expr: p.If) -> Value:
        """A choice between two numbers."""
        with self.guarded():
            condition = self.real(expr.condition)
            then, else_ = self.read(expr.then), self.read(expr.else_)
        re = p.If(condition, then.re, else_.re)
        if then.im is None and else_.im is None:
            return Value(re)
        return Value(re, p.If(condition, *(0.0 if value.im is None else value.im for value in (then, else_))))

    def comparison(self, expr: p.Comparison) -> Any:
        """A condition on both parts."""
        left, right = self.read(expr.left), self.read(expr.right)
        operator = str(getattr(expr.operator, "value", expr.operator))
        if left.im is None and right.im is None:
            return p.Comparison(left.re, operator, right.re)
        if operator not in ("==", "!="):
            raise Unsupported("complex numbers have no order")
        both = (
            p.Comparison(left.re, operator, right.re),
            p.Comparison(0.0 if left.im is None else left.im, operator, 0.0 if right.im is None else right.im),
        )
        return p.LogicalAnd(both) if operator == "==" else p.LogicalOr(both)

    def reduction(self, expr: Any) -> Value:
        """A reduction of reals, or one for each part."""
        with self.guarded():
            body = self.read(expr.expr)
        if body.im is None:
            return Value(Reduction(expr.operation, expr.inames, body.re))
        if not isinstance(expr.operation, SumReductionOperation):
            raise Unsupported(f"the reduction `{expr.operation}` of complex numbers")
        return Value(Reduction(expr.operation, expr.inames, body.re), Reduction(expr.operation, expr.inames, body.im))


def is_complex(dtype: Any) -> bool:
    """Whether a type of loopy's is one of complex numbers."""
    return isinstance(dtype, NumpyType) and dtype.numpy_dtype.kind == "c"


def real_dtype(dtype: Any) -> np.dtype[Any]:
    """The type of a part."""
    return np.empty(0, dtype.numpy_dtype).real.dtype


def float_dtype(expr: Any, dtypes: Mapping[str, np.dtype[Any]]) -> np.dtype[Any]:
    """The type of a float, given those of names; literals without a type are what loopy takes them for."""
    found: list[np.dtype[Any]] = []
    for part in nodes(expr):
        if isinstance(part, p.Variable):
            found.append(dtypes.get(part.name, np.dtype(np.int32)))
        elif isinstance(part, np.floating):
            found.append(part.dtype)
        elif isinstance(part, float):
            found.append(np.dtype(np.float32 if float(np.float32(part)) == part else np.float64))
    floats = [dtype for dtype in found if dtype.kind == "f"]
    return np.result_type(*floats) if floats else np.dtype(np.float64)


def array_name(expr: Any) -> str:
    """The name of a variable, or of the array of an element."""
    return str(expr.name if isinstance(expr, p.Variable) else expr.aggregate.name)


def involves(expr: Any, names: Collection[str], functions: Collection[str] = frozenset(PARTS)) -> bool:
    """Whether an expression speaks of complex numbers, or of names, or calls functions."""
    return any(
        isinstance(part, (complex, np.complexfloating))
        or (isinstance(part, p.Variable) and part.name in names)
        or (isinstance(part, TypeCast) and is_complex(part.type))
        or (isinstance(part, p.Call) and function_name(part.function) in functions)
        for part in nodes(expr)
    )


def size(expr: Any) -> int:
    """How many operations and operands an expression has when it is written out."""
    return sum(1 for part in nodes(expr) if isinstance(part, p.ExpressionNode))


def constant(expr: Any) -> Any:
    """The number that an expression of literals is, where it is one; itself elsewhere."""
    return evaluate(expr) if all(not isinstance(part, (p.Call, TypeCast)) for part in nodes(expr)) else expr


def reads_part(expr: Any, part: Any) -> bool:
    """Whether an expression may read a part of a variable, or of an element of an array."""
    if isinstance(part, p.Variable):
        return part.name in get_dependencies(expr)
    return any(
        isinstance(found, p.Subscript) and found.aggregate == part.aggregate and found.index_tuple[-1] == part.index_tuple[-1]
        for found in nodes(expr)
    )
