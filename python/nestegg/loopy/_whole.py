"""Kernels on pairs of reals with the complex arguments of the kernel that they were made of.

In: a kernel on pairs as :mod:`nestegg.loopy._load` makes it, each instruction after the one before it, and the kernel that was dumped.
Out: the same with its complex arguments. Parts are read by `real` and `imag`. Stores of the two parts of an element become one of a complex
number where both are in the same loops under the same conditions and nothing between them touches the element; any other store keeps the
other part as it is.
A complex number is put together by a function that moves its parts, because `re + 1j*im` spoils the real part where the imaginary one is
infinite; targets other than C have only the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import loopy as lp
import numpy as np
from loopy.kernel.data import AddressSpace
from loopy.symbolic import IdentityMapper, TypeCast, get_dependencies
from loopy.target.c import CTarget
from pymbolic import primitives as p

from nestegg import _core
from nestegg.loopy._arrays import monomials
from nestegg.loopy._dump import entry_name, inlined
from nestegg.loopy._functions import WHOLE, ComplexNumber
from nestegg.loopy._load import load_written
from nestegg.loopy._pairs import is_complex, real_dtype
from nestegg.loopy._parts import has_complex_numbers, read
from nestegg.loopy._walk import nodes


def load_like(text: str, like: lp.TranslationUnit) -> lp.TranslationUnit:
    """Make a translation unit of a kernel in JSON that nestegg wrote, with the arguments of the one that it was dumped from.

    Parameters
    ----------
    text
        The kernel.
    like
        What it was dumped from.

    Returns
    -------
    loopy.TranslationUnit
        Its complex arguments are those of ``like``, where its name is.
    """
    if not has_complex_numbers(like):
        return load_written(text, like=like)
    name = entry_name(like)
    inferred = lp.infer_unknown_types(inlined(like, name), expect_completion=True)[name]
    arguments = {arg.name: arg for arg in inferred.args if is_complex(arg.dtype)}
    found = load_written(_core.linearize(text, "<text>"), like=like, computed=arguments)
    if entry_name(found) != name:
        return found
    kernel = found[name]
    stores = _Stores(_Reads(arguments), isinstance(kernel.target, CTarget), kernel.get_var_name_generator())
    kernel = kernel.copy(
        instructions=list(stores.joined(kernel.instructions)),
        args=[arguments.get(arg.name, arg) for arg in kernel.args],
        temporary_variables={**kernel.temporary_variables, **stores.temporaries},
    )
    found = found.with_kernel(kernel)
    if any(real_dtype(arg.dtype) == np.float32 for arg in arguments.values()):
        # loopy's check of bounds stops at conversions; nestegg has checked them.
        found = lp.set_options(found, enforce_array_accesses_within_bounds="no_check")
    return lp.register_callable(found, WHOLE, ComplexNumber(WHOLE))


class _Reads(IdentityMapper):  # type: ignore[misc, unused-ignore]
    """Reads parts of complex arguments."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        super().__init__()
        self.arguments = arguments

    def map_subscript(self, expr: Any) -> Any:
        """An element, or a part of one."""
        if expr.aggregate.name not in self.arguments:
            return super().map_subscript(expr)
        part = expr.index_tuple[-1]
        dtype = real_dtype(self.arguments[expr.aggregate.name].dtype)
        # loopy takes parts of complex numbers of single precision for complex numbers.
        re, im = (
            TypeCast(dtype, found) if dtype == np.float32 else found
            for found in (p.Call(p.Variable(function), (self.element(expr),)) for function in ("real", "imag"))
        )
        if isinstance(part, (int, np.integer)):
            return im if part else re
        return p.If(p.Comparison(self.rec(part), "==", 0), re, im)

    def element(self, expr: Any) -> Any:
        """The element that a part is of."""
        indices = tuple(self.rec(index) for index in expr.index_tuple[:-1])
        if not indices:
            return expr.aggregate
        return p.Subscript(expr.aggregate, indices if len(indices) > 1 else indices[0])


class _Stores:
    """Joins stores of parts; ``temporaries`` gets the parts that wait for the other one."""

    def __init__(self, reads: _Reads, has_function: bool, new_name: Callable[[str], str]) -> None:
        self.reads = reads
        self.has_function = has_function
        self.new_name = new_name
        self.temporaries: dict[str, Any] = {}

    def joined(self, insns: list[Any]) -> Iterator[Any]:
        """The instructions, with a store of both parts where the second one was stored."""
        first_of: dict[int, int] = {}
        accesses = [self.elements(read(insn)) for insn in insns]
        for at, insn in enumerate(insns):
            if at not in first_of and self.stores_part(insn):
                partner = self.partner(insns, accesses, at)
                if partner is not None:
                    first_of[partner] = at
        firsts = set(first_of.values())
        before: dict[str, frozenset[str]] = {}
        waiting: dict[int, Any] = {}
        for at, insn in enumerate(insns):
            insn = insn.copy(depends_on=frozenset().union(*(before.get(id, {id}) for id in insn.depends_on)))
            if first_of.get(at + 1) == at:
                waiting[at] = self.reads(insn.expression)
                before[insn.id] = insn.depends_on
            elif at in firsts:
                waiting[at] = self.temporary(insn)
                yield self.replaced(insn, waiting[at], self.reads(insn.expression))
            elif self.stores_part(insn):
                yield self.store(insn, waiting[first_of[at]] if at in first_of else None)
            else:
                yield insn.with_transformed_expressions(self.reads)

    def stores_part(self, insn: Any) -> bool:
        """Whether an instruction stores a part of a complex number."""
        return (
            isinstance(insn, lp.Assignment)
            and isinstance(insn.assignee, p.Subscript)
            and insn.assignee.aggregate.name in self.reads.arguments
        )

    def elements(self, expr: Any) -> list[Any]:
        """All parts of complex numbers that an expression speaks of."""
        return [found for found in nodes(expr) if isinstance(found, p.Subscript) and found.aggregate.name in self.reads.arguments]

    def partner(self, insns: list[Any], accesses: list[list[Any]], at: int) -> int | None:
        """The store of the other part that the one at a place can wait for."""
        first = insns[at]
        fixed = frozenset().union(*(get_dependencies(expr) for expr in (*first.predicates, *first.assignee.index_tuple)))
        if touches(self.elements(tuple(first.predicates)), first.assignee):
            return None
        for later in range(at + 1, len(insns)):
            insn = insns[later]
            if not first.within_inames <= insn.within_inames:
                return None
            if (
                insn.within_inames == first.within_inames
                and self.stores_part(insn)
                and is_other_part(insn.assignee, first.assignee)
                and insn.predicates == first.predicates
            ):
                reads = [found for found in self.elements(insn.expression) if not is_other_part(found, first.assignee)]
                return None if touches(reads, first.assignee) else later
            if touches(accesses[later], first.assignee) or fixed & set(insn.assignee_var_names()):
                return None
        return None

    def temporary(self, insn: Any) -> Any:
        """Where a part waits."""
        name = insn.assignee.aggregate.name
        found = self.new_name(f"{name}_part")
        dtype = real_dtype(self.reads.arguments[name].dtype)
        self.temporaries[found] = lp.TemporaryVariable(found, dtype, shape=(), address_space=AddressSpace.PRIVATE)
        return p.Variable(found)

    def store(self, insn: Any, other: Any) -> Any:
        """A store of a part and the other one, which stays as it is if it is not given."""
        name, part = insn.assignee.aggregate.name, insn.assignee.index_tuple[-1]
        re, im = (self.reads(p.Subscript(insn.assignee.aggregate, (*insn.assignee.index_tuple[:-1], at))) for at in range(2))
        own = self.reads(insn.expression)
        first = self.whole(name, own, im if other is None else other)
        second = self.whole(name, re if other is None else other, own)
        if isinstance(part, (int, np.integer)):
            whole = second if part else first
        else:
            whole = p.If(p.Comparison(self.reads(part), "==", 0), first, second)
        return self.replaced(insn, self.reads.element(insn.assignee), whole)

    def whole(self, name: str, re: Any, im: Any) -> Any:
        """A complex number for an argument."""
        if self.has_function:
            return p.Call(p.Variable(WHOLE), (re, im))
        return p.Sum((re, p.Product((self.reads.arguments[name].dtype.numpy_dtype.type(1j), im))))

    def replaced(self, insn: Any, assignee: Any, expression: Any) -> Any:
        """An assignment of something else, under the same conditions."""
        predicates = frozenset(self.reads(predicate) for predicate in insn.predicates)
        return insn.copy(assignee=assignee, expression=expression, predicates=predicates)


def is_other_part(a: Any, b: Any) -> bool:
    """Whether two places are the parts of one element."""
    return bool(
        a.aggregate == b.aggregate and a.index_tuple[:-1] == b.index_tuple[:-1] and {a.index_tuple[-1], b.index_tuple[-1]} == {0, 1}
    )


def touches(elements: list[Any], place: Any) -> bool:
    """Whether parts may be of the element that a place is a part of."""
    return any(
        found.aggregate == place.aggregate and not are_apart(found.index_tuple[:-1], place.index_tuple[:-1]) for found in elements
    )


def are_apart(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    """Whether indices differ by a number on some axis."""
    for one, other in zip(a, b, strict=True):
        if isinstance(one, int) and isinstance(other, int):
            if one != other:
                return True
        elif set(monomials(p.Sum((one, p.Product((-1, other)))))) == {()}:
            return True
    return False
