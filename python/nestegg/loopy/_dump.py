"""From loopy's objects to a kernel of the format.

In: a translation unit with one entry point.
Out: JSON. Kernels that it calls are inlined, substitution rules expanded, types inferred, all by loopy.
What the format has no place for raises :class:`nestegg.Unsupported`.
The order of loops is written out where loopy is told more about it than the format's default order says: priorities
of loops or instructions, or a linearization. What only loopy needs goes along in ``meta``, which nestegg does not touch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import islpy as isl
import loopy as lp
import numpy as np
from loopy.diagnostic import LoopyError
from loopy.kernel.data import (
    ArrayArg,
    ConcurrentTag,
    ConstantArg,
    ForceSequentialTag,
    InOrderSequentialSequentialTag,
    TemporaryVariable,
    UnrollHintTag,
    UnrollTag,
    ValueArg,
    VectorizeTag,
)
from loopy.kernel.function_interface import CallableKernel, ScalarCallable
from loopy.schedule import Barrier, CallKernel, EnterLoop, LeaveLoop, ReturnFromKernel, RunInstruction
from loopy.symbolic import DependencyMapper, LinearSubscript, Reduction, SubArrayRef
from loopy.type_inference import TypeReader
from pymbolic import primitives as p

from nestegg import _core
from nestegg.errors import Error, Unsupported
from nestegg.loopy._arrays import STORED, Layout, dtype_name, element_name, layout
from nestegg.loopy._from_json import names_in
from nestegg.loopy._functions import ShortSingles
from nestegg.loopy._order import Nesting, Step, in_order, linearize, with_list_order
from nestegg.loopy._parts import in_parts
from nestegg.loopy._reductions import with_single_results
from nestegg.loopy._to_json import Json, ToJson, function_name, negated
from nestegg.loopy._types import inferred
from nestegg.loopy._walk import subexpressions

FORMATS = ("nestegg-kernel/1", "nestegg-kernel/2")
"""The second has extents that are not stated, bounds that depend on data, and further integer types of arrays."""

META = "loopy"
"""The member of ``meta`` with what only loopy needs."""


def dump(t_unit: lp.TranslationUnit) -> str:
    """Write a kernel in the format, as JSON.

    Parameters
    ----------
    t_unit
        A translation unit with one entry point. Kernels that it calls are inlined.

    Returns
    -------
    str
        The kernel as JSON.

    Raises
    ------
    nestegg.Unsupported
        If the format cannot hold something in it.
    """
    dumped = _Dump(prepared(t_unit))
    text = to_json_text(dumped.kernel())
    if not dumped.bounding:
        return text
    try:
        # Domains that start at data are written as the format's readers see them: from zero.
        return to_json_text(json.loads(_core.convert(text, "<text>", True)))
    except Error as error:
        reasons = re.findall(r"(?:bounds of|cannot bound)[^\n]*", str(error))
        raise Unsupported(reasons[0] if reasons else error.summary) from error


def to_json_text(kernel: dict[str, Json]) -> str:
    """One line for each member of the long lists."""
    parts = []
    for name, value in kernel.items():
        if isinstance(value, list) and value:
            rows = ",\n".join("  " + json.dumps(row) for row in value)
            parts.append(f'"{name}": [\n{rows}]')
        else:
            parts.append(f'"{name}": {json.dumps(value)}')
    return "{" + ",\n".join(parts) + "}\n"


def entry_name(t_unit: lp.TranslationUnit) -> str:
    """The only entry point."""
    names = sorted(t_unit.entrypoints)
    if len(names) != 1:
        raise Unsupported(f"a kernel needs one entry point, and here are {len(names)}: {', '.join(names)}")
    return str(names[0])


def prepared(t_unit: lp.TranslationUnit) -> lp.TranslationUnit:
    """The same with one kernel, without substitution rules, all types known."""
    if isinstance(t_unit, lp.LoopKernel):
        raise Unsupported("this is one kernel of a translation unit; give the translation unit")
    name = entry_name(t_unit)
    try:
        t_unit = inlined(t_unit, name)
        kernel = t_unit[name]
        if kernel.linearization is not None:
            return lp.infer_unknown_types(t_unit, expect_completion=True)
        t_unit = inferred(lp.expand_subst(t_unit), name)
        t_unit = in_parts(with_single_results(t_unit, name), name)
        return t_unit if has_unique_reductions(t_unit[name]) else lp.make_reduction_inames_unique(t_unit)
    except LoopyError as error:
        raise Unsupported(f"loopy refuses it: {error}", name) from error


def has_unique_reductions(kernel: lp.LoopKernel) -> bool:
    """Whether each reduction has inames of its own."""
    inames = [
        iname
        for insn in kernel.instructions
        for expr in expressions(insn)
        for part in subexpressions(expr)
        if isinstance(part, Reduction)
        for iname in part.inames
    ]
    return len(set(inames)) == len(inames)


def inlined(t_unit: lp.TranslationUnit, entry: str) -> lp.TranslationUnit:
    """The same with all called kernels in their caller."""
    while True:
        callees = [
            name
            for name, callable in t_unit.callables_table.items()
            if isinstance(callable, CallableKernel) and name != entry
        ]
        called = [name for name in callees if name in called_by(t_unit[entry])]
        if not called:
            return t_unit
        t_unit = lp.inline_callable_kernel(t_unit, called[0])


def called_by(kernel: lp.LoopKernel) -> set[str]:
    """The names of functions that instructions call as a whole."""
    found = set()
    for insn in kernel.instructions:
        if isinstance(insn, (lp.CallInstruction, lp.Assignment)) and isinstance(insn.expression, p.Call):
            found.add(function_name(insn.expression.function))
    return found


class _Dump:
    """One kernel on its way."""

    def __init__(self, t_unit: lp.TranslationUnit) -> None:
        self.entry = t_unit[entry_name(t_unit)]
        self.functions = {
            str(id): callable.name
            for id, callable in t_unit.callables_table.items()
            if isinstance(callable, ScalarCallable) and isinstance(callable.name, str)
        }
        self.types = TypeReader(self.entry, t_unit.callables_table)
        self.dtypes = {iname: self.entry.index_dtype.numpy_dtype for iname in self.entry.all_inames()}
        for array in (*self.entry.args, *self.entry.temporary_variables.values()):
            self.dtypes[array.name] = getattr(array.dtype, "numpy_dtype", None) or refuse_dtype(array)
        self.instructions = [insn for insn in self.entry.instructions if not is_nothing(insn)]
        self.reductions = {
            insn.id: frozenset(
                iname
                for expr in expressions(insn)
                for part in subexpressions(expr)
                if isinstance(part, Reduction)
                for iname in part.inames
            )
            for insn in self.instructions
        }
        self.used_inames = frozenset().union(
            *(insn.within_inames | self.reductions[insn.id] for insn in self.instructions)
        )
        self.bounding = self._bounding()
        self.depends_on = self._dependences()
        linear = self._linear_arrays()
        self.layouts: dict[str, Layout] = {}
        for arg in self.entry.args:
            if isinstance(arg, (ArrayArg, ConstantArg)):
                self.layouts[arg.name] = layout(
                    arg, f"argument {arg.name}", is_linear=arg.name in linear, owns_memory=False
                )
            elif not isinstance(arg, ValueArg):
                raise Unsupported(f"arguments of type {type(arg).__name__} have no place in the format", arg.name)
        for temporary in self.entry.temporary_variables.values():
            self.layouts[temporary.name] = self._temporary_layout(temporary, temporary.name in linear)
        self.sizes = ToJson(self.layouts, self._dtype, f"kernel {self.entry.name}")
        self.parameters = self._parameters()

    def kernel(self) -> dict[str, Json]:
        """The whole kernel."""
        entry = self.entry
        self._refuse_groups()
        domains = list(self._domains())
        steps = [
            Step(insn.id, insn.within_inames, self.depends_on[insn.id], insn.priority) for insn in self.instructions
        ]
        linearization = self._linearization(steps)
        order = [step.id for step in in_order(steps)] if linearization is None else [
            name for word, name in linearization if word == "run"
        ]
        by_id = {insn.id: insn for insn in self.instructions}
        arguments = [self._argument(arg) for arg in entry.args if arg.name not in self.parameters]
        temporaries = [
            self._temporary(temporary) for _, temporary in sorted(entry.temporary_variables.items())
        ]
        instructions = [self._instruction(by_id[id]) for id in order]
        if linearization is None:
            self._add_dependences(instructions)
        is_open = any(None in layout.shape for layout in self.layouts.values())
        has_stored = any(array["dtype"] in STORED for array in [*arguments, *temporaries])
        is_second = is_open or has_stored or bool(self.bounding)
        kernel: dict[str, Json] = {"format": FORMATS[is_second], "name": entry.name}
        meta = self._meta()
        if meta:
            kernel["meta"] = {META: meta}
        kernel["parameters"] = [
            {"name": arg.name, "dtype": dtype_name(arg.dtype, f"argument {arg.name}")}
            for arg in entry.args
            if arg.name in self.parameters
        ]
        if not entry.assumptions.plain_is_universe():
            kernel["assumptions"] = set_text(entry.assumptions)
        kernel["domains"] = domains
        tags = [{"name": name, "tags": tags} for name in self._inames() if (tags := self._tags(name))]
        if tags:
            kernel["inames"] = tags
        kernel["arguments"] = arguments
        kernel["temporaries"] = temporaries
        kernel["instructions"] = instructions
        kernel["linearization"] = None if linearization is None else [list(item) for item in linearization]
        return kernel

    # {{{ declarations

    def _dtype(self, expr: Any) -> np.dtype[Any]:
        """The type of an expression, by loopy."""
        if isinstance(expr, (p.Subscript, LinearSubscript)):
            expr = expr.aggregate
        if isinstance(expr, p.Variable) and expr.name in self.dtypes:
            return self.dtypes[expr.name]
        try:
            found = self.types(expr)
        except (LoopyError, AttributeError, KeyError) as error:
            # A call in a predicate is one that loopy never resolves.
            raise Unsupported(f"loopy finds no type of `{expr}`", f"kernel {self.entry.name}") from error
        dtype = getattr(found, "numpy_dtype", None)
        if not isinstance(dtype, np.dtype):
            raise Unsupported(f"the type {found} of `{expr}` has no place in the format", f"kernel {self.entry.name}")
        return dtype

    def _linear_arrays(self) -> set[str]:
        """Arrays that are read or written by linear subscripts and have several axes."""
        found: set[str] = set()

        def look(expr: Any) -> None:
            for part in subexpressions(expr):
                if isinstance(part, LinearSubscript):
                    name = part.aggregate.name
                    array = self.entry.arg_dict.get(name) or self.entry.temporary_variables.get(name)
                    if array is not None and len(array.shape or ()) != 1:
                        found.add(name)
                if isinstance(part, SubArrayRef):
                    raise Unsupported(f"the part of an array `{part}` is given to something that cannot be inlined")

        for insn in self.instructions:
            for expr in expressions(insn):
                look(expr)
        return found

    def _parameters(self) -> set[str]:
        """Integers that sizes of loops or arrays depend on."""
        names: set[str] = set()
        for domain in self._used_domains():
            names |= set(domain.get_var_names(isl.dim_type.param))
        if not self.entry.assumptions.plain_is_universe():
            names |= set(self.entry.assumptions.get_var_names(isl.dim_type.param))
        for array in self.layouts.values():
            for extent in array.shape:
                names |= names_of(extent)
        names -= self.entry.all_inames()
        sizes = {name for array in self.layouts.values() for extent in array.shape for name in names_of(extent)}
        names -= set(self.bounding) - sizes
        scalars = {arg.name: arg for arg in self.entry.args if isinstance(arg, ValueArg)}
        for name in sorted(names):
            if name not in scalars:
                raise Unsupported(f"sizes that depend on data (`{name}`) have no place in the format")
            if scalars[name].is_output:
                raise Unsupported(f"`{name}` is a size and is written", f"kernel {self.entry.name}")
        return names

    def _bounding(self) -> dict[str, frozenset[str]]:
        """Temporaries that bound domains, and the instructions that write each."""
        names = {name for domain in self._used_domains() for name in domain.get_var_names(isl.dim_type.param)}
        writers = self.entry.writer_map()
        return {name: writers.get(name, frozenset()) for name in sorted(names & set(self.entry.temporary_variables))}

    def _bounds_of(self, inames: frozenset[str]) -> set[str]:
        """The temporaries that bound the domains of inames."""
        domains = (self.entry.get_home_domain_index(iname) for iname in inames)
        return {name for at in domains for name in self.entry.domains[at].get_var_names(isl.dim_type.param)} & set(self.bounding)

    def _used_domains(self) -> Iterator[Any]:
        """Domains of inames that instructions use, and those that these depend on."""
        used = set(self.used_inames)
        while True:
            found = [domain for domain in self.entry.domains if used & set(domain.get_var_names(isl.dim_type.set))]
            outer = {name for domain in found for name in domain.get_var_names(isl.dim_type.param)}
            if outer & self.entry.all_inames() <= used:
                return iter(found)
            used |= outer

    def _inames(self) -> list[str]:
        return [
            name
            for domain in self._used_domains()
            for name in domain.get_var_names(isl.dim_type.set)
        ]

    def _domains(self) -> Iterator[str]:
        for domain in self._used_domains():
            names = domain.get_var_names(isl.dim_type.set)
            is_joint = len(names) > 1 and set(domain.get_var_names(isl.dim_type.param)) & set(self.bounding)
            if is_joint:
                self._refuse_parts_of(names)
                yield from (str(own.coalesce().drop_unused_params()) for own in one_by_one(domain))
            else:
                yield set_text(domain)

    def _refuse_parts_of(self, names: list[str]) -> None:
        """A domain can be taken apart where all that uses an iname of it uses those before."""
        for insn in self.instructions:
            used = [name in insn.within_inames | self.reductions[insn.id] for name in names]
            if used != sorted(used, reverse=True):
                raise Unsupported("inames of one domain whose bounds depend on data, of which one is used alone", insn.id)

    def _argument(self, arg: Any) -> dict[str, Json]:
        place = f"argument {arg.name}"
        access = {(True, True): "readwrite", (False, True): "write"}.get((arg.is_input, arg.is_output), "read")
        shape = self.layouts[arg.name].shape if arg.name in self.layouts else ()
        return {
            "name": arg.name,
            "dtype": element_name(arg.dtype, place),
            "shape": [self._size(extent) for extent in shape],
            "access": access,
        }

    def _size(self, extent: Any) -> Json:
        """An extent, or nothing if it is not stated."""
        return None if extent is None else self.sizes.index(extent)

    def _temporary_layout(self, temporary: TemporaryVariable, is_linear: bool) -> Layout:
        place = f"temporary {temporary.name}"
        if temporary.base_storage is not None:
            raise Unsupported("storage that temporaries share has no place in the format", place)
        found = layout(temporary, place, is_linear=is_linear, owns_memory=True)
        if temporary.initializer is not None and found.axes is not None and not found.is_plain:
            return Layout(tuple(range(len(found.axes))), found.strides, tuple(temporary.shape))
        return found

    def _temporary(self, temporary: TemporaryVariable) -> dict[str, Json]:
        place = f"temporary {temporary.name}"
        initializer = None
        dtype = element_name(temporary.dtype, place)
        shape = [self.sizes.index(extent) for extent in self.layouts[temporary.name].shape]
        if temporary.initializer is not None:
            if any(temporary.name in insn.assignee_var_names() for insn in self.instructions):
                raise Unsupported("a table that is written has no place in the format", place)
            table = np.asarray(temporary.initializer)
            if table.dtype.kind == "f" and not np.isfinite(table).all():
                raise Unsupported("a table with infinite or undefined numbers has no place in the format", place)
            initializer = table.astype(np.dtype(dtype)).reshape(shape).tolist()
        return {"name": temporary.name, "dtype": dtype, "shape": shape, "initializer": initializer}

    def _tags(self, iname: str) -> list[str]:
        found = []
        for tag in sorted(self.entry.inames[iname].tags, key=str):
            if isinstance(tag, VectorizeTag):
                found.append("vec")
            elif isinstance(tag, (UnrollTag, UnrollHintTag)):
                found.append("unroll")
            elif isinstance(tag, (ForceSequentialTag, InOrderSequentialSequentialTag)):
                found.append("sequential")
            elif isinstance(tag, ConcurrentTag):
                found.append("parallel")
        return sorted(set(found))

    def _meta(self) -> dict[str, Json]:
        """What only loopy needs: the order of arguments, tags of inames, how arguments lie in memory."""
        meta: dict[str, Json] = {}
        names = [arg.name for arg in self.entry.args]
        in_format = sorted(names, key=lambda name: name not in self.parameters)
        if names != in_format:
            meta["arguments"] = names
        tags = {
            name: sorted(str(tag) for tag in self.entry.inames[name].tags if is_implementation_tag(tag))
            for name in self._inames()
        }
        tags = {name: of for name, of in tags.items() if of}
        if tags:
            meta["tags"] = tags
        layouts = {}
        for arg in self.entry.args:
            found = self.layouts.get(arg.name)
            if found is not None and not found.is_plain:
                layouts[arg.name] = {
                    "axes": None if found.axes is None else list(found.axes),
                    "shape": [self._size(extent) for extent in arg.shape or (None,)],
                    "strides": [self.sizes.index(stride) for stride in found.strides],
                }
        if layouts:
            meta["layouts"] = layouts
        return meta

    # }}}

    # {{{ instructions

    def _dependences(self) -> dict[str, frozenset[str]]:
        """What each instruction depends on, through those that do nothing."""
        nothing = {insn.id: insn for insn in self.entry.instructions if is_nothing(insn)}
        known: dict[str, frozenset[str]] = {}

        def through(ids: Any, seen: frozenset[str]) -> frozenset[str]:
            found: set[str] = set()
            for id in ids or ():
                if id not in nothing:
                    found.add(id)
                elif id in known:
                    found |= known[id]
                elif id not in seen:
                    known[id] = through(nothing[id].depends_on, seen | {id})
                    found |= known[id]
            return frozenset(found)

        found = {insn.id: through(insn.depends_on, frozenset()) for insn in self.instructions}
        for insn in self.instructions:
            for name in self._bounds_of(insn.within_inames | self.reductions[insn.id]):
                found[insn.id] |= self.bounding[name]
        return {id: before - {id} for id, before in found.items()}

    def _refuse_groups(self) -> None:
        for insn in self.instructions:
            if insn.conflicts_with_groups:
                raise Unsupported("groups of instructions that conflict have no place in the format", insn.id)

    def _linearization(self, steps: list[Step]) -> list[tuple[str, str]] | None:
        entry = self.entry
        if entry.linearization is not None:
            return list(self._given_linearization())
        if not entry.loop_priority and not any(insn.priority for insn in self.instructions):
            return None
        parents = {}
        writing = {insn.id: insn.within_inames for insn in self.instructions}
        for domain in entry.domains:
            names = frozenset(domain.get_var_names(isl.dim_type.param))
            outer = names & entry.all_inames()
            # What bounds a loop is assigned in loops around it.
            outer = outer.union(*(writing.get(id, frozenset()) for name in names for id in self.bounding.get(name, ())))
            parents.update({name: outer for name in domain.get_var_names(isl.dim_type.set)})
        position = {name: idx for idx, name in enumerate(self._inames())}
        return linearize(steps, Nesting(frozenset(entry.loop_priority), parents, position))

    def _given_linearization(self) -> Iterator[tuple[str, str]]:
        there = {insn.id for insn in self.instructions}
        for item in self.entry.linearization:
            if isinstance(item, EnterLoop):
                yield ("for", item.iname)
            elif isinstance(item, LeaveLoop):
                yield ("end", item.iname)
            elif isinstance(item, RunInstruction):
                if item.insn_id in there:
                    yield ("run", item.insn_id)
            elif not isinstance(item, (Barrier, CallKernel, ReturnFromKernel)):
                raise Unsupported(f"the schedule item {type(item).__name__} has no place in the format")

    def _add_dependences(self, instructions: list[Json]) -> None:
        tables = {name for name, found in self.entry.temporary_variables.items() if found.initializer is not None}
        arrays = set(self.dtypes) - tables - self.entry.all_inames()
        accesses = {}
        for insn in instructions:
            touched, written = accesses_of(insn, arrays)
            bounds = self._bounds_of(frozenset(insn["within_inames"]) | self.reductions[insn["id"]])
            accesses[insn["id"]] = touched | bounds, written
        depends_on = with_list_order(self.depends_on, accesses)
        for insn in instructions:
            insn["depends_on"] = depends_on[insn["id"]]

    def _instruction(self, insn: Any) -> Json:
        place = f"instruction {insn.id}"
        is_short = bool(self.entry.tags_of_type(ShortSingles))
        write = ToJson(self.layouts, self._dtype, place, self.functions, is_short=is_short)
        inames = [name for name in self._inames() if name in insn.within_inames]
        found: dict[str, Json] = {
            "id": insn.id,
            "kind": "assignment",
            "within_inames": inames,
            "depends_on": [],
            "predicates": unique([write.condition(predicate) for predicate in predicates(insn)]),
        }
        if isinstance(insn, lp.Assignment):
            if insn.atomicity:
                raise Unsupported("atomic updates have no place in the format", place)
            found["assignee"] = write.element(insn.assignee)
            found["expression"] = write.value(insn.expression, self._dtype(insn.assignee))
        elif isinstance(insn, lp.CallInstruction):
            if not isinstance(insn.expression, p.Call):
                raise Unsupported(f"`{insn.expression}` has several values, and only calls may", place)
            if any(isinstance(argument, SubArrayRef) for argument in (*insn.assignees, *insn.expression.parameters)):
                name = function_name(insn.expression.function)
                raise Unsupported(f"`{name}` takes arrays and is not a kernel that could be inlined", place)
            if len(insn.assignees) == 1:
                assignee = insn.assignees[0]
                found["assignee"] = write.element(assignee)
                found["expression"] = write.value(insn.expression, self._dtype(assignee))
            else:
                raise Unsupported("a call with several results is no function of C's math.h", place)
        elif isinstance(insn, lp.CInstruction):
            if any(not (isinstance(expr, p.Variable) and expr.name == name) for name, expr in insn.iname_exprs):
                raise Unsupported("C text that calls inames by other names", place)
            found["kind"] = "opaque"
            found["code"] = insn.code
            found["reads"] = sorted(insn.read_variables - self.entry.all_inames())
            found["writes"] = sorted(insn.assignee_var_names())
        else:
            raise Unsupported(f"instructions of type {type(insn).__name__} have no place in the format", place)
        return found

    # }}}


def refuse_dtype(array: Any) -> np.dtype[Any]:
    """What is no type of numpy's is none of the format's."""
    raise Unsupported(f"the type {array.dtype} has no place in the format", array.name)


def one_by_one(domain: Any) -> Iterator[Any]:
    """A set of several inames as one set for each, with those before it as parameters."""
    domain = domain.to_set()
    names = domain.get_var_names(isl.dim_type.set)
    before = None
    for at in range(len(names)):
        outer = domain.project_out(isl.dim_type.set, at + 1, len(names) - at - 1)
        own = outer.move_dims(isl.dim_type.param, outer.dim(isl.dim_type.param), isl.dim_type.set, 0, at)
        around = None if before is None else before.params()
        yield own if around is None else own.gist_params(around)
        before = outer.move_dims(isl.dim_type.param, outer.dim(isl.dim_type.param), isl.dim_type.set, 0, at + 1)


def names_of(extent: Any) -> set[str]:
    """The names in a size."""
    if extent is None or isinstance(extent, (int, np.integer)):
        return set()
    return {variable.name for variable in DependencyMapper(composite_leaves=False)(extent)}


def is_nothing(insn: Any) -> bool:
    """Whether an instruction computes nothing: a nop, a barrier of a kernel that runs in order, empty C text."""
    if isinstance(insn, (lp.NoOpInstruction, lp.BarrierInstruction)):
        return True
    return isinstance(insn, lp.CInstruction) and not insn.code.strip().strip(";").strip()


def is_implementation_tag(tag: Any) -> bool:
    """Whether a tag says how a loop runs, and is written in one word."""
    return isinstance(tag, (ConcurrentTag, UnrollTag, UnrollHintTag, ForceSequentialTag, InOrderSequentialSequentialTag))


def expressions(insn: Any) -> Iterator[Any]:
    """All that an instruction reads or writes."""
    yield from insn.predicates
    if isinstance(insn, (lp.Assignment, lp.CallInstruction)):
        yield from insn.assignees
        yield insn.expression
    elif isinstance(insn, lp.CInstruction):
        yield from insn.assignees


def predicates(insn: Any) -> list[Any]:
    """Conditions one by one, in an order that does not depend on hashes; those joined by `and` in theirs."""
    found: list[Any] = []
    for predicate in sorted(insn.predicates, key=str):
        found.extend(predicate.children if isinstance(predicate, p.LogicalAnd) else [predicate])
    return found


def unique(conditions: list[Json]) -> list[Json]:
    """The same without repetition."""
    return list({json.dumps(condition): condition for condition in conditions}.values())


def written(insn: Json) -> set[str]:
    """The arrays that an instruction of the format writes."""
    if insn["kind"] == "opaque":
        return set(insn["writes"])
    assignees = insn["assignees"] if insn["kind"] == "call" else [insn["assignee"]]
    return {assignee if isinstance(assignee, str) else assignee[1] for assignee in assignees}


def accesses_of(insn: Json, arrays: set[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Which of some arrays an instruction of the format touches, and which of them it writes."""
    found = names_in(insn["predicates"])
    for member in ("assignee", "assignees", "expression", "arguments", "reads", "writes"):
        found |= names_in(insn.get(member, []))
    return frozenset(found & arrays), frozenset(written(insn) & arrays)


def set_text(found: Any) -> str:
    """A set as isl writes it, with only the parameters that it uses."""
    return str(found.to_set().coalesce().remove_redundancies().drop_unused_params()) if isinstance(
        found, isl.BasicSet
    ) else str(found)


__all__ = ["META", "dump", "entry_name", "negated", "prepared", "to_json_text"]
