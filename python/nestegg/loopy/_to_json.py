"""Expressions of loopy as the format writes them.

C decides what a number means in loopy: a condition is a number, a number is a condition, and a quotient of integers
depends on where it stands. The format keeps conditions and numbers apart and has one quotient, so each is written out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from loopy.library.reduction import (
    AllReductionOperation,
    AnyReductionOperation,
    MaxReductionOperation,
    MinReductionOperation,
    ProductReductionOperation,
    SumReductionOperation,
)
from loopy.symbolic import LinearSubscript, ResolvedFunction, TypeCast
from pymbolic import primitives as p
from pymbolic.mapper import Mapper

from nestegg.errors import Unsupported
from nestegg.loopy._arrays import Layout, dtype_name
from nestegg.loopy._functions import EXTREMA

FUNCTIONS = {
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign", "cos", "cosh",
    "erf", "erfc", "exp", "exp2", "expm1", "fabs", "fdim", "floor", "fma", "fmax", "fmin", "fmod", "hypot", "j0", "j1",
    "lgamma", "log", "log10", "log1p", "log2", "nearbyint", "pow", "remainder", "rint", "round", "sin", "sinh", "sqrt",
    "tan", "tanh", "tgamma", "trunc", "y0", "y1",
}  # fmt: skip
"""The functions of C's math.h that the format knows."""

INFINITE = "an infinite or undefined literal"

REDUCTIONS = {
    SumReductionOperation: "sum",
    ProductReductionOperation: "product",
    MinReductionOperation: "min",
    MaxReductionOperation: "max",
}

CONDITIONS = (p.Comparison, p.LogicalAnd, p.LogicalOr, p.LogicalNot)

Json = Any


class ToJson(Mapper[Json, [str]]):
    """Writes expressions; the argument is the kind of number around: ``f`` or ``d`` for floats, ``i`` for integers.

    Parameters
    ----------
    layouts
        How the format holds each array.
    type_of
        The dtype of an expression.
    place
        What errors name.
    functions
        The names of functions that have others in the translation unit.
    is_short
        Whether single floats are written as the shortest literals that are read as them.
    """

    def __init__(
        self,
        layouts: Mapping[str, Layout],
        type_of: Callable[[Any], np.dtype[Any]],
        place: str,
        functions: Mapping[str, str] = MappingProxyType({}),
        *,
        is_short: bool = False,
    ) -> None:
        super().__init__()
        self.functions = functions
        self.is_short = is_short
        self.layouts = layouts
        self.type_of = type_of
        self.place = place

    # {{{ numbers and conditions

    def value(self, expr: Any, dtype: np.dtype[Any]) -> Json:
        """What is assigned to something of a dtype: converted as C does where the format does not convert."""
        if dtype.kind == "b":
            return self.condition(expr)
        if dtype.kind != "f" and self.kind(expr) == "f":
            if dtype.kind == "u":
                raise Unsupported("the conversion of a float to an unsigned integer has no place in the format", self.place)
            return ["cast", dtype_name(dtype, self.place), self.rec(expr, self.context(expr))]
        return self.rec(expr, context_of(dtype))

    def index(self, expr: Any) -> Json:
        """An integer."""
        return self.rec(expr, "i")

    def condition(self, expr: Any) -> Json:
        """A number is true where it is not zero."""
        if isinstance(expr, p.Comparison):
            context = self.common([expr.left, expr.right])
            operator = str(getattr(expr.operator, "value", expr.operator))
            return [operator, self.rec(expr.left, context), self.rec(expr.right, context)]
        if isinstance(expr, p.LogicalNot):
            return ["not", self.condition(expr.child)]
        if isinstance(expr, (p.LogicalAnd, p.LogicalOr)):
            word = "and" if isinstance(expr, p.LogicalAnd) else "or"
            return [word, *(self.condition(child) for child in expr.children)]
        if isinstance(expr, p.If) and self.is_condition(expr):
            return ["if", *(self.condition(child) for child in (expr.condition, expr.then, expr.else_))]
        if isinstance(expr, (bool, np.bool_)):
            return ["==", 0, 0 if expr else 1]
        if isinstance(expr, (p.Variable, p.Subscript)) and self.kind(expr) == "b":
            return self.element(expr)
        reduction = self.any_or_all(expr)
        if reduction is not None:
            return reduction
        return ["!=", self.rec(expr, self.context(expr)), 0]

    def is_condition(self, expr: Any) -> bool:
        """Whether the format's value of an expression is a condition."""
        if isinstance(expr, p.If):
            return self.is_condition(expr.then) and self.is_condition(expr.else_)
        if isinstance(expr, (p.Variable, p.Subscript)):
            return self.kind(expr) == "b"
        return isinstance(expr, (*CONDITIONS, bool, np.bool_))

    def rec(self, expr: Any, *args: Any, **kwargs: Any) -> Json:
        """A number."""
        (context,) = args
        if self.is_condition(expr):
            return ["if", self.condition(expr), 1, 0]
        return super().rec(expr, context)

    def kind(self, expr: Any) -> str:
        """The kind of numpy's dtype: ``f``, ``i`` or ``b``."""
        return self.type_of(expr).kind

    def context(self, expr: Any) -> str:
        """What an expression is by itself."""
        return context_of(self.type_of(expr))

    def common(self, exprs: Sequence[Any]) -> str:
        """What operands become together."""
        contexts = {self.context(expr) for expr in exprs}
        return "d" if "d" in contexts else "f" if "f" in contexts else "i"

    def among(self, expr: Any, children: Sequence[Any], context: str) -> str:
        """What is around the operands of an expression: single literals among single floats need no conversion."""
        literals = (negated(child) if negated(child) is not None else child for child in children)
        has_single = context == "d" and any(isinstance(literal, np.float32) for literal in literals)
        return "f" if has_single and self.context(expr) == "f" else context

    # }}}

    def map_constant(self, expr: Any, context: str) -> Json:
        if isinstance(expr, (bool, np.bool_)):
            return int(expr)
        if isinstance(expr, (int, np.integer)):
            return int(expr)
        if isinstance(expr, (complex, np.complexfloating)):
            raise Unsupported("complex numbers have no place in the format", self.place)
        number = float(str(expr)) if isinstance(expr, np.float32) and self.is_short else float(expr)
        if not np.isfinite(number):
            raise Unsupported(f"{INFINITE} has no place in the format", self.place)
        if isinstance(expr, np.float32) and context == "d":
            return ["cast", "float32", number]
        return number

    map_numpy_array = map_foreign = map_constant

    def map_nan(self, expr: Any, context: str) -> Json:
        raise Unsupported(f"{INFINITE} has no place in the format", self.place)

    def map_literal(self, expr: Any, context: str) -> Json:
        raise Unsupported(f"the C text `{expr.s}` as an operand has no place in the format", self.place)

    # {{{ names and elements

    def element(self, expr: Any) -> Json:
        """A name or an element of an array."""
        if isinstance(expr, p.Variable):
            layout = self.layouts.get(expr.name)
            if layout is not None and layout.shape and (layout.axes is None or layout.axes):
                return ["[]", expr.name, *([0] * len(layout.shape))]
            return expr.name
        if isinstance(expr, LinearSubscript):
            return ["[]", expr.aggregate.name, self.index(expr.index)]
        indices = expr.index_tuple
        layout = self.layouts.get(expr.aggregate.name)
        if layout is None:
            raise Unsupported(f"`{expr.aggregate}` is read by subscripts and is no array", self.place)
        if not layout.shape:
            return expr.aggregate.name
        return ["[]", expr.aggregate.name, *(self.index(index) for index in layout.indices(indices))]

    def map_variable(self, expr: Any, context: str) -> Json:
        return self.element(expr)

    map_tagged_variable = map_subscript = map_linear_subscript = map_variable

    def map_lookup(self, expr: Any, context: str) -> Json:
        raise Unsupported(f"the attribute `{expr}` has no place in the format", self.place)

    def map_sub_array_ref(self, expr: Any, context: str) -> Json:
        raise Unsupported(f"the part of an array `{expr}` is given to something that cannot be inlined", self.place)

    # }}}

    # {{{ arithmetic

    def refuse_unsigned(self, expr: Any) -> None:
        """C computes differences of unsigned integers modulo a power of two, the format as they are.

        Those of 8 and 16 bits C takes for an ``int``.
        """
        if any(self.type_of(element).name in ("uint32", "uint64") for element in elements(expr)):
            raise Unsupported(f"the difference of unsigned integers `{expr}` has no place in the format", self.place)

    def map_sum(self, expr: Any, context: str) -> Json:
        children = list(expr.children)
        if len(children) == 1:
            return self.rec(children[0], context)
        if any(negated(child) is not None or is_negative(child) for child in children):
            self.refuse_unsigned(expr)
        context = self.among(expr, children, context)
        if len(children) == 2 and negated(children[1]) is not None and negated(children[0]) is None:
            return ["-", self.rec(children[0], context), self.rec(negated(children[1]), context)]
        return ["+", *(self.rec(child, context) for child in children)]

    def map_product(self, expr: Any, context: str) -> Json:
        inner = negated(expr)
        if inner is not None:
            self.refuse_unsigned(expr)
            return ["-", self.rec(inner, context)]
        children = list(expr.children)
        if any(is_negative(child) for child in children):
            self.refuse_unsigned(expr)
        if len(children) == 1:
            return self.rec(children[0], context)
        context = self.among(expr, children, context)
        return ["*", *(self.rec(child, context) for child in children)]

    def map_quotient(self, expr: Any, context: str) -> Json:
        a, b = expr.numerator, expr.denominator
        if self.kind(a) == "f" or self.kind(b) == "f":
            context = self.among(expr, (a, b), context)
            return ["/", self.rec(a, context), self.rec(b, context)]
        top, bottom = self.rec(a, "i"), self.rec(b, "i")
        if context == "d":
            return ["/", top, bottom]
        if context == "f":
            return ["/", ["cast", "float32", top], ["cast", "float32", bottom]]
        # C divides integers towards zero.
        if isinstance(top, int) and isinstance(bottom, int) and bottom != 0:
            quotient = abs(top) // abs(bottom)
            return quotient if (top < 0) == (bottom < 0) else -quotient
        if isinstance(bottom, int) and bottom > 0:
            return ["if", ["<", top, 0], ["-", ["//", ["-", top], bottom]], ["//", top, bottom]]
        differ = ["!=", ["if", ["<", top, 0], 1, 0], ["if", ["<", bottom, 0], 1, 0]]
        return ["if", differ, ["-", ["//", ["-", top], bottom]], ["//", top, bottom]]

    map_fortran_div = map_quotient

    def map_floor_div(self, expr: Any, context: str) -> Json:
        if isinstance(expr.denominator, np.int64) and expr.denominator == 1:
            # As the loader writes inames among bits.
            return self.rec(expr.numerator, context)
        return ["//", self.rec(expr.numerator, context), self.rec(expr.denominator, context)]

    def map_remainder(self, expr: Any, context: str) -> Json:
        return ["%", self.rec(expr.numerator, context), self.rec(expr.denominator, context)]

    def map_power(self, expr: Any, context: str) -> Json:
        exponent = "i" if self.kind(expr.exponent) != "f" else context
        return ["**", self.rec(expr.base, context), self.rec(expr.exponent, exponent)]

    def map_if(self, expr: Any, context: str) -> Json:
        context = self.among(expr, (expr.then, expr.else_), context)
        return ["if", self.condition(expr.condition), self.rec(expr.then, context), self.rec(expr.else_, context)]

    def map_min(self, expr: Any, context: str) -> Json:
        return ["min", *(self.rec(child, context) for child in expr.children)]

    def map_max(self, expr: Any, context: str) -> Json:
        return ["max", *(self.rec(child, context) for child in expr.children)]

    def map_left_shift(self, expr: Any, context: str) -> Json:
        self.refuse_unsigned(expr)
        return ["<<", self.rec(expr.shiftee, "i"), self.rec(expr.shift, "i")]

    def map_right_shift(self, expr: Any, context: str) -> Json:
        return [">>", self.rec(expr.shiftee, "i"), self.rec(expr.shift, "i")]

    def map_bitwise_not(self, expr: Any, context: str) -> Json:
        self.refuse_unsigned(expr)
        return ["~", self.rec(expr.child, "i")]

    def map_bitwise_or(self, expr: Any, context: str) -> Json:
        return ["|", *(self.rec(child, "i") for child in expr.children)]

    def map_bitwise_xor(self, expr: Any, context: str) -> Json:
        return ["^", *(self.rec(child, "i") for child in expr.children)]

    def map_bitwise_and(self, expr: Any, context: str) -> Json:
        return ["&", *(self.rec(child, "i") for child in expr.children)]

    # }}}

    # {{{ what only loopy has

    def map_type_cast(self, expr: Any, context: str) -> Json:
        if is_marked(expr):
            return self.rec(expr.child.child, context)
        is_element = isinstance(expr.child, (p.Variable, p.Subscript, LinearSubscript))
        if is_element and expr.type.numpy_dtype == np.int64 and self.type_of(expr.child).name in ("uint32", "uint64"):
            # An unsigned element is an int64 in the format.
            return self.element(expr.child)
        dtype = dtype_name(expr.type, self.place)
        return ["cast", dtype, self.rec(expr.child, "d" if isinstance(expr.child, np.float32) else self.context(expr.child))]

    def map_type_annotation(self, expr: Any, context: str) -> Json:
        return self.rec(expr.child, context)

    def map_common_subexpression(self, expr: Any, context: str) -> Json:
        return self.rec(expr.child, context)

    def map_reduction(self, expr: Any, context: str) -> Json:
        found = self.any_or_all(expr)
        if found is not None:
            return ["if", found, 1, 0]
        word = REDUCTIONS.get(type(expr.operation))
        if word is None:
            raise Unsupported(f"the reduction `{expr.operation}` has no place in the format", self.place)
        return ["reduce", word, list(expr.inames), self.rec(expr.expr, context)]

    def any_or_all(self, expr: Any) -> Json | None:
        """Whether any is true, or all are: how many are, and how many are not."""
        operation = getattr(expr, "operation", None)
        if isinstance(operation, AnyReductionOperation):
            return ["!=", ["reduce", "sum", list(expr.inames), ["if", self.condition(expr.expr), 1, 0]], 0]
        if isinstance(operation, AllReductionOperation):
            return ["==", ["reduce", "sum", list(expr.inames), ["if", self.condition(expr.expr), 0, 1]], 0]
        return None

    def map_call(self, expr: Any, context: str) -> Json:
        name, arguments = function_name(expr.function), expr.parameters
        name = self.functions.get(name, name)
        name = next((word for word, function in EXTREMA.items() if function == name), name)
        if name in ("min", "max") and len(arguments) == 2:
            inner = self.common(arguments)
            return [name, *(self.rec(argument, inner) for argument in arguments)]
        if name in ("abs", "fabs") and len(arguments) == 1 and self.kind(arguments[0]) != "f" and name == "abs":
            value = self.rec(arguments[0], "i")
            return ["max", value, ["-", value]]
        if name not in FUNCTIONS:
            raise Unsupported(f"the function `{name}` is not one of C's math.h that the format knows", self.place)
        inner = self.common(arguments)
        inner = "d" if inner == "i" else inner
        return ["call", "fabs" if name == "abs" else name, *(self.rec(argument, inner) for argument in arguments)]

    def handle_unsupported_expression(self, expr: Any, context: str) -> Json:
        raise Unsupported(f"the expression `{expr}` ({type(expr).__name__}) has no place in the format", self.place)

    # }}}


def is_marked(expr: Any) -> bool:
    """Whether an expression is a literal converted twice to what it is: the loader's way to tell it from an integer."""
    inner = expr.child
    if not isinstance(inner, TypeCast) or inner.type != expr.type or not isinstance(inner.child, np.floating):
        return False
    return bool(inner.child.dtype == expr.type.numpy_dtype)


def function_name(function: Any) -> str:
    """The name of a function, resolved or not."""
    if isinstance(function, ResolvedFunction):
        function = function.function
    return str(getattr(function, "name", function))


def negated(expr: Any) -> Any:
    """What an expression is the negative of, if it is written so."""
    if not isinstance(expr, p.Product) or len(expr.children) < 2:
        return None
    first, *rest = expr.children
    if not (isinstance(first, (int, np.integer)) and not isinstance(first, bool) and int(first) == -1):
        return None
    return rest[0] if len(rest) == 1 else p.Product(tuple(rest))


def elements(expr: Any) -> list[Any]:
    """The names and elements of arrays that an expression computes with: not those in subscripts, calls and conversions."""
    found = []
    waiting = [expr]
    while waiting:
        part = waiting.pop()
        if isinstance(part, (p.Variable, p.Subscript, LinearSubscript)):
            found.append(part)
        elif isinstance(part, (p.Sum, p.Product)):
            waiting.extend(part.children)
        elif isinstance(part, (p.LeftShift, p.RightShift)):
            waiting.append(part.shiftee)
        elif isinstance(part, p.BitwiseNot):
            waiting.append(part.child)
    return found


def is_negative(expr: Any) -> bool:
    """Whether an expression is a negative literal."""
    return isinstance(expr, (int, np.integer)) and not isinstance(expr, bool) and int(expr) < 0


def context_of(dtype: np.dtype[Any]) -> str:
    """The kind of number that a dtype is."""
    if dtype.kind == "f":
        return "f" if dtype.itemsize <= 4 else "d"
    return "i"
