"""Arithmetic of complex numbers that are pairs of real expressions, whatever the expressions are.

Sums and products of pairs are those of complex numbers; the parts of factors are named first, so that products of products do not grow.
Functions are those whose parts are functions of reals; where the branch of a root or logarithm would matter, the kernel is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

from nestegg.errors import Unsupported

Expression = Any

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
        Whether it is known to be an integer.
    """

    re: Expression
    im: Expression | None = None
    is_whole: bool = False


class Pairs:
    """The arithmetic, over the expressions that a subclass makes."""

    def make(self, word: str, *operands: Expression) -> Expression:
        """An operation as the kernel format calls it; of a call the first operand is the function's name."""
        raise NotImplementedError

    def name(self, part: Expression) -> Expression:
        """A part that may be repeated."""
        raise NotImplementedError

    def number(self, number: Expression, value: Value) -> Expression:
        """A part of a value as C would convert it to a float."""
        return number

    def add(self, operands: list[Value]) -> Value:
        """A sum."""
        imaginary = [operand.im for operand in operands if operand.im is not None]
        return Value(
            self.make("+", *(operand.re for operand in operands)),
            self.make("+", *imaginary) if imaginary else None,
            all(operand.is_whole for operand in operands),
        )

    def negate(self, value: Value) -> Value:
        """The negative."""
        return Value(self.make("-", value.re), None if value.im is None else self.make("-", value.im), value.is_whole)

    def subtract(self, a: Value, b: Value) -> Value:
        """A difference."""
        is_whole = a.is_whole and b.is_whole
        re = self.make("-", a.re, b.re)
        if b.im is None:
            return Value(re, a.im, is_whole)
        return Value(re, self.make("-", b.im) if a.im is None else self.make("-", a.im, b.im), is_whole)

    def multiply(self, operands: list[Value]) -> Value:
        """A product."""
        reals = [operand for operand in operands if operand.im is None]
        pairs = [operand for operand in operands if operand.im is not None]
        if not pairs:
            is_whole = all(operand.is_whole for operand in reals)
            return Value(self.make("*", *(operand.re for operand in reals)), None, is_whole)
        pair = reduce(self.multiply_pairs, pairs)
        factors = [operand.re for operand in reals]
        return Value(self.make("*", *factors, pair.re), self.make("*", *factors, pair.im))

    def multiply_pairs(self, a: Value, b: Value) -> Value:
        """A product of two complex numbers."""
        a, b = self.named(a), self.named(b)
        return Value(
            self.make("-", self.make("*", a.re, b.re), self.make("*", a.im, b.im)),
            self.make("+", self.make("*", a.re, b.im), self.make("*", a.im, b.re)),
        )

    def divide(self, a: Value, b: Value) -> Value:
        """A quotient."""
        if b.im is None:
            by = self.number(b.re, b)
            return Value(self.make("/", a.re, by), None if a.im is None else self.make("/", a.im, by))
        b = self.named(b)
        square = self.name(self.make("+", self.make("*", b.re, b.re), self.make("*", b.im, b.im)))
        product = self.multiply([a, self.conjugate(b)])
        return Value(self.make("/", product.re, square), self.make("/", product.im, square))

    def conjugate(self, value: Value) -> Value:
        """The conjugate."""
        return Value(value.re, None if value.im is None else self.make("-", value.im))

    def magnitude(self, value: Value) -> Value:
        """The absolute value."""
        if value.im is None:
            return Value(self.make("call", "fabs", value.re))
        return Value(self.make("call", "hypot", value.re, value.im))

    def power(self, base: Value, exponent: Value) -> Value:
        """A power with a whole exponent that is known."""
        wanted = exponent.re
        if exponent.im is not None or not isinstance(wanted, int | float) or wanted != int(wanted):
            raise Unsupported("a power of a complex number that is not a whole number")
        n = int(wanted)
        if not 1 <= abs(n) <= MAX_POWER:
            raise Unsupported(f"the power {n} of a complex number")
        base = self.named(base)
        res = self.multiply([base] * abs(n))
        return res if n > 0 else self.divide(Value(1.0), res)

    def entire(self, name: str, value: Value) -> Value:
        """A function that has no branches, of a complex number."""
        entire = ("exp", "sin", "cos", "sinh", "cosh")
        if name not in entire:
            raise Unsupported(f"`{name}` of a complex number")
        if value.im is None:
            return Value(self.make("call", name, self.number(value.re, value)))
        value = self.named(value)
        a, b = self.number(value.re, value), value.im
        if name == "exp":
            scale = self.name(self.make("call", "exp", a))
            return Value(self.make("*", scale, self.make("call", "cos", b)), self.make("*", scale, self.make("call", "sin", b)))
        if name in ("sinh", "cosh"):
            other = "cosh" if name == "sinh" else "sinh"
            return Value(
                self.make("*", self.make("call", name, a), self.make("call", "cos", b)),
                self.make("*", self.make("call", other, a), self.make("call", "sin", b)),
            )
        other = "cos" if name == "sin" else "sin"
        im = self.make("*", self.make("call", other, a), self.make("call", "sinh", b))
        re = self.make("*", self.make("call", name, a), self.make("call", "cosh", b))
        return Value(re, im if name == "sin" else self.make("-", im))

    def named(self, value: Value) -> Value:
        """The same, each part as it may be repeated."""
        return value if value.im is None else Value(self.name(value.re), self.name(value.im))
