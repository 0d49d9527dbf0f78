"""Reductions with two results, as assignments that the format has.

In: a kernel without substitution rules whose types are known.
Out: the same without `argmax`, `argmin` and segmented reductions.

The index of an extremum is that of the last point that has it, as loopy's comparisons choose. ``v, k = argmax(i, a, b)`` becomes
``t = max(i, a)``, ``p = none``, ``p = i if a == t and i > p else p`` in a loop over ``i``, ``k = b at p``, ``v = t``. Over several inames
loopy leaves it open which point is the last; here it is the one with the greatest ``b``.
A segmented sum is one over the points from the last flag on, which is found in the same way; its flag says whether there is any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import islpy as isl
import loopy as lp
import numpy as np
from loopy.kernel.data import AddressSpace
from loopy.library.reduction import (
    ArgMaxReductionOperation,
    ArgMinReductionOperation,
    SegmentedProductReductionOperation,
    SegmentedSumReductionOperation,
)
from loopy.match import Id
from loopy.symbolic import Reduction, SubstitutionMapper, get_dependencies
from loopy.type_inference import TypeReader
from loopy.types import NumpyType
from pymbolic import primitives as p
from pymbolic.mapper.substitutor import make_subst_func

from nestegg.errors import Unsupported

EXTREMA = {ArgMaxReductionOperation: "max", ArgMinReductionOperation: "min"}

SEGMENTED = {SegmentedSumReductionOperation: "sum", SegmentedProductReductionOperation: "product"}

Step = tuple[Any, Any, tuple[str, ...]]
"""An assignee, an expression, and the inames of loops around them that the instruction does not have."""


def with_single_results(t_unit: lp.TranslationUnit, name: str) -> lp.TranslationUnit:
    """Write reductions with two results as assignments.

    Raises
    ------
    nestegg.Unsupported
        If a flag of a segmented reduction may be another number than 0 or 1, or its points have no order.
    """
    kernel = t_unit[name]
    types = TypeReader(kernel, t_unit.callables_table)
    new_name, new_id = kernel.get_var_name_generator(), kernel.get_instruction_id_generator()
    temporaries = dict(kernel.temporary_variables)
    instructions: list[Any] = []
    loops: dict[str, tuple[str, ...]] = {}
    for insn in kernel.instructions:
        if isinstance(insn, lp.CallInstruction) and isinstance(insn.expression, Reduction):
            lowered = _Lowered(kernel, insn, types, temporaries, new_name)
            instructions.extend(lowered.instructions(new_id, loops))
        else:
            instructions.append(insn)
    kernel = kernel.copy(instructions=instructions, temporary_variables=temporaries)
    for id, inames in loops.items():
        kernel = lp.duplicate_inames(kernel, inames, within=Id(id))
    return t_unit.with_kernel(kernel)


class _Lowered:
    """One instruction on its way; ``temporaries`` gets those that it needs."""

    def __init__(
        self, kernel: lp.LoopKernel, insn: Any, types: TypeReader, temporaries: dict[str, Any], new_name: Callable[[str], str]
    ) -> None:
        self.kernel = kernel
        self.insn = insn
        self.types = types
        self.temporaries = temporaries
        self.new_name = new_name
        self.place = f"instruction {insn.id}"
        self.inames = insn.expression.inames
        written = set(insn.assignee_var_names())
        if any(written & get_dependencies(predicate) for predicate in insn.predicates):
            raise Unsupported("a reduction with two results whose condition reads what it writes", self.place)
        if not isinstance(insn.expression.expr, tuple):
            raise Unsupported("a reduction with two results of another one, or of a call", self.place)

    def instructions(self, new_id: Callable[[str], str], loops: dict[str, tuple[str, ...]]) -> Iterator[Any]:
        """What computes the results; the last one has the instruction's name. ``loops`` gets the inames that some need for themselves."""
        insn = self.insn
        operation = type(insn.expression.operation)
        if operation in EXTREMA:
            steps = self.extremum(EXTREMA[operation])
        elif operation in SEGMENTED:
            steps = self.segments(SEGMENTED[operation])
        else:
            raise Unsupported(f"the reduction `{insn.expression.operation}` has no place in the format", self.place)
        before = insn.depends_on
        for idx, (assignee, expression, inames) in enumerate(steps):
            id = insn.id if idx == len(steps) - 1 else new_id(insn.id)
            if inames:
                loops[id] = inames
            yield lp.Assignment(
                assignee,
                expression,
                id=id,
                depends_on=before,
                depends_on_is_final=True,
                within_inames=insn.within_inames | frozenset(inames),
                within_inames_is_final=True,
                predicates=insn.predicates,
                priority=insn.priority,
                groups=insn.groups,
                conflicts_with_groups=insn.conflicts_with_groups,
                tags=insn.tags,
            )
            before = insn.depends_on | {id}

    def extremum(self, word: str) -> list[Step]:
        """An extremum and where it is."""
        value, index = self.insn.expression.expr
        extreme = self.temporary("extreme", self.dtype(value))
        is_one = len(self.inames) == 1
        point = p.Variable(self.inames[0]) if is_one else index
        none, last, steps = self.last_point(point, p.Comparison(value, "==", extreme))
        found = SubstitutionMapper(make_subst_func({self.inames[0]: last}))(index) if is_one else last
        if not (none == -1 and index == point):
            found = p.If(p.Comparison(last, "<=", none), -1, found)
        to_value, to_index = self.insn.assignees
        return [(extreme, Reduction(word, self.inames, value), ()), *steps, (to_index, found, ()), (to_value, extreme, ())]

    def segments(self, word: str) -> list[Step]:
        """A reduction of the last segment, and whether a segment begins anywhere."""
        if len(self.inames) > 1:
            raise Unsupported("a segmented reduction over several inames, which have no order", self.place)
        value, flag = self.insn.expression.expr
        if not self.is_condition(flag):
            raise Unsupported(f"the flag `{flag}`, which may be another number than 0 or 1: write `!= 0`", self.place)
        dtype = self.dtype(value)
        neutral = dtype.type(word == "product") if dtype.kind == "f" else int(word == "product")
        point = p.Variable(self.inames[0])
        none, last, steps = self.last_point(point, flag)
        segment = self.temporary("segment", dtype)
        body = p.If(p.Comparison(point, ">=", last), value, neutral)
        to_value, to_flag = self.insn.assignees
        return [
            *steps,
            (segment, Reduction(word, self.inames, body), ()),
            (to_flag, p.If(p.Comparison(last, ">", none), 1, 0), ()),
            (to_value, segment, ()),
        ]

    def last_point(self, point: Any, condition: Any) -> tuple[int, Any, list[Step]]:
        """The greatest number of points where a condition holds: one below all, the variable, and what computes it."""
        none = -1 if len(self.inames) == 1 and is_from_zero(self.kernel, self.inames[0]) else int(np.iinfo(np.int32).min)
        last = self.temporary("last", self.dtype(point))
        is_later = p.LogicalAnd((condition, p.Comparison(point, ">", last)))
        return none, last, [(last, none, ()), (last, p.If(is_later, point, last), self.inames)]

    def temporary(self, what: str, dtype: np.dtype[Any]) -> Any:
        """A scalar for one value of the instruction."""
        name = self.new_name(f"{what}_{self.insn.id}")
        self.temporaries[name] = lp.TemporaryVariable(name, dtype, shape=(), address_space=AddressSpace.PRIVATE)
        return p.Variable(name)

    def dtype(self, expr: Any) -> np.dtype[Any]:
        found = self.types(expr)
        if not isinstance(found, NumpyType):
            raise Unsupported(f"the type {found} of `{expr}` has no place in the format", self.place)
        return found.numpy_dtype

    def is_condition(self, expr: Any) -> bool:
        """Whether a flag is 0 or 1."""
        if isinstance(expr, p.If):
            return self.is_condition(expr.then) and self.is_condition(expr.else_)
        if isinstance(expr, (int, np.integer)):
            return int(expr) in (0, 1)
        return bool(self.dtype(expr).kind == "b")


def is_from_zero(kernel: lp.LoopKernel, iname: str) -> bool:
    """Whether an iname has no negative values."""
    domain = kernel.get_inames_domain(iname).to_set()
    at = domain.find_dim_by_name(isl.dim_type.set, iname)
    return bool(domain.upper_bound_val(isl.dim_type.set, at, -1).is_empty())
