"""Reductions with two results, as assignments that the format has.

In: a kernel without substitution rules whose types are known.
Out: the same without `argmax`, `argmin` and segmented reductions.

``v, k = argmax(i, a, b)`` becomes a loop over ``i`` that keeps the greatest ``a`` so far and its ``i``, and ``k = b`` there: that of the last
point that has the greatest ``a``, as loopy's comparisons choose. An index that is looked for afterwards, by comparing each ``a`` with their
maximum, would be lost where the two are rounded in different ways. Only the extremum of no points is a reduction. Over several inames
loopy leaves it open which point is the last.
A segmented sum is one over the points from the last flag on, which another loop finds; its flag says whether there is any.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
from loopy.match import Id, Or
from loopy.symbolic import Reduction, SubstitutionMapper, get_dependencies
from loopy.type_inference import TypeReader
from loopy.types import NumpyType
from pymbolic import primitives as p
from pymbolic.mapper.substitutor import make_subst_func

from nestegg.errors import Unsupported

EXTREMA = {ArgMaxReductionOperation: "max", ArgMinReductionOperation: "min"}

SEGMENTED = {SegmentedSumReductionOperation: "sum", SegmentedProductReductionOperation: "product"}


@dataclass(frozen=True)
class Step:
    """An assignment.

    Attributes
    ----------
    assignee, expression
        What is assigned, and what to.
    is_in_loop
        Whether the inames of the reduction are around it.
    condition
        What must hold besides the conditions of the reduction.
    """

    assignee: Any
    expression: Any
    is_in_loop: bool = False
    condition: Any = None


def with_single_results(t_unit: lp.TranslationUnit, name: str) -> lp.TranslationUnit:
    """Write reductions with two results as assignments; a kernel without any is the same.

    Raises
    ------
    nestegg.Unsupported
        If a flag of a segmented reduction may be another number than 0 or 1, or its points have no order.
    """
    kernel = t_unit[name]
    if not any(has_two_results(insn) for insn in kernel.instructions):
        return t_unit
    types = TypeReader(kernel, t_unit.callables_table)
    new_name, new_id = kernel.get_var_name_generator(), kernel.get_instruction_id_generator()
    temporaries = dict(kernel.temporary_variables)
    instructions: list[Any] = []
    loops: list[tuple[tuple[str, ...], Any]] = []
    for insn in kernel.instructions:
        if has_two_results(insn):
            lowered = _Lowered(kernel, insn, types, temporaries, new_name)
            assignments, in_loop = lowered.instructions(new_id)
            instructions.extend(assignments)
            loops.append((lowered.inames, Or(tuple(Id(id) for id in in_loop))))
        else:
            instructions.append(insn)
    kernel = kernel.copy(instructions=instructions, temporary_variables=temporaries)
    for inames, within in loops:
        kernel = lp.duplicate_inames(kernel, inames, within=within)
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

    def instructions(self, new_id: Callable[[str], str]) -> tuple[list[Any], list[str]]:
        """What computes the results, the last one with the instruction's name; and those in a loop."""
        insn = self.insn
        operation = type(insn.expression.operation)
        if operation in EXTREMA:
            steps = self.extremum(EXTREMA[operation])
        elif operation in SEGMENTED:
            steps = self.segments(SEGMENTED[operation])
        else:
            raise Unsupported(f"the reduction `{insn.expression.operation}` has no place in the format", self.place)
        before = insn.depends_on
        found: list[Any] = []
        in_loop: list[str] = []
        for idx, step in enumerate(steps):
            id = insn.id if idx == len(steps) - 1 else new_id(insn.id)
            if step.is_in_loop:
                in_loop.append(id)
            found.append(
                lp.Assignment(
                    step.assignee,
                    step.expression,
                    id=id,
                    depends_on=before,
                    depends_on_is_final=True,
                    within_inames=insn.within_inames | frozenset(self.inames if step.is_in_loop else ()),
                    within_inames_is_final=True,
                    predicates=insn.predicates if step.condition is None else under(insn.predicates, step.condition),
                    priority=insn.priority,
                    groups=insn.groups,
                    conflicts_with_groups=insn.conflicts_with_groups,
                    tags=insn.tags,
                )
            )
            before = insn.depends_on | {id}
        return found, in_loop

    def extremum(self, word: str) -> list[Step]:
        """An extremum and where it is."""
        value, index = self.insn.expression.expr
        dtype = self.dtype(value)
        is_one = len(self.inames) == 1
        point = p.Variable(self.inames[0]) if is_one else index
        none, last = self.before_all(), self.temporary("last", self.dtype(point))
        extreme, candidate = self.temporary("extreme", dtype), self.temporary("candidate", dtype)
        is_better = self.temporary("is_better", np.dtype(np.bool_))
        is_first = p.Comparison(last, "<=", none)
        better = p.Comparison(candidate, ">=" if word == "max" else "<=", extreme)
        found = SubstitutionMapper(make_subst_func({self.inames[0]: last}))(index) if is_one else last
        if not (none == -1 and index == point):
            found = p.If(is_first, -1, found)
        to_value, to_index = self.insn.assignees
        steps = [
            Step(extreme, literal(0, dtype)),
            Step(last, none),
            Step(candidate, value, is_in_loop=True),
            Step(is_better, p.LogicalOr((is_first, better)), is_in_loop=True),
            Step(extreme, candidate, is_in_loop=True, condition=is_better),
            Step(last, point, is_in_loop=True, condition=is_better),
        ]
        if not has_points(self.kernel, frozenset(self.inames), self.insn.within_inames):
            steps.append(Step(extreme, Reduction(word, self.inames, value), condition=is_first))
        return [*steps, Step(to_index, found), Step(to_value, extreme)]

    def segments(self, word: str) -> list[Step]:
        """A reduction of the last segment, and whether a segment begins anywhere."""
        if len(self.inames) > 1:
            raise Unsupported("a segmented reduction over several inames, which have no order", self.place)
        value, flag = self.insn.expression.expr
        if not self.is_condition(flag):
            raise Unsupported(f"the flag `{flag}`, which may be another number than 0 or 1: write `!= 0`", self.place)
        dtype = self.dtype(value)
        point = p.Variable(self.inames[0])
        none, last = self.before_all(), self.temporary("last", self.dtype(point))
        segment = self.temporary("segment", dtype)
        is_later = p.LogicalAnd((flag, p.Comparison(point, ">", last)))
        body = p.If(p.Comparison(point, ">=", last), value, literal(word == "product", dtype))
        to_value, to_flag = self.insn.assignees
        return [
            Step(last, none),
            Step(last, p.If(is_later, point, last), is_in_loop=True),
            Step(segment, Reduction(word, self.inames, body)),
            Step(to_flag, p.If(p.Comparison(last, ">", none), 1, 0)),
            Step(to_value, segment),
        ]

    def before_all(self) -> int:
        """An integer below all points."""
        is_small = len(self.inames) == 1 and is_from_zero(self.kernel, self.inames[0])
        return -1 if is_small else int(np.iinfo(np.int32).min)

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


def has_two_results(insn: Any) -> bool:
    """Whether an instruction is a reduction with two results."""
    return isinstance(insn, lp.CallInstruction) and isinstance(insn.expression, Reduction)


def under(predicates: frozenset[Any], condition: Any) -> frozenset[Any]:
    """Predicates, and a condition that has a value only where they hold."""
    return frozenset([p.LogicalAnd((*sorted(predicates, key=str), condition)) if predicates else condition])


def literal(number: int, dtype: np.dtype[Any]) -> Any:
    """A number of a type."""
    return dtype.type(number) if dtype.kind == "f" else int(number)


def is_from_zero(kernel: lp.LoopKernel, iname: str) -> bool:
    """Whether an iname has no negative values."""
    domain = kernel.get_inames_domain(iname).to_set()
    at = domain.find_dim_by_name(isl.dim_type.set, iname)
    return bool(domain.upper_bound_val(isl.dim_type.set, at, -1).is_empty())


def has_points(kernel: lp.LoopKernel, inames: frozenset[str], outer: frozenset[str]) -> bool:
    """Whether inames have values wherever the loops around them run."""
    inside = kernel.get_inames_domain(outer | inames).to_set()
    for iname in inames:
        inside = inside.project_out(isl.dim_type.set, inside.find_dim_by_name(isl.dim_type.set, iname), 1)
    around = kernel.get_inames_domain(outer).to_set() if outer else isl.Set.universe(inside.get_space().params())
    around = as_condition(around).intersect(kernel.assumptions.to_set().params())
    return bool(around.is_subset(as_condition(inside)))


def as_condition(domain: Any) -> Any:
    """A set of inames as a condition on names."""
    n_names, n_inames = domain.dim(isl.dim_type.param), domain.dim(isl.dim_type.set)
    return domain.move_dims(isl.dim_type.param, n_names, isl.dim_type.set, 0, n_inames).params()
