"""From a kernel of the format to loopy's objects.

In: a kernel of the format.
Out: a translation unit in which each loop of a linearization has an iname of its own, each instruction depends on the
one before it, and loops inside each other have their priorities: loopy's scheduler can choose this order only.
Where a domain has an iname that several loops run over, each loop gets a domain of its own: the projection of that
domain on its iname, with the inames of loops around it as parameters. That is what a loop runs over.
So does each loop over a union of sets, which runs over a convex hull under a condition, and each loop of a kernel where loopy
would take the domains of one nest for siblings.
If instructions write what a condition around them reads, the condition is computed first; so is a written index that
contains reductions.
Without a linearization, instructions depend on what the kernel says, and on earlier ones that touch the same data. If
loopy cannot nest the loops then, or iterations have an order, the kernel gets the linearization that the format means.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import islpy as isl
import loopy as lp
import numpy as np
from loopy.diagnostic import CannotBranchDomainTree
from loopy.kernel.data import AddressSpace, UnrollTag
from loopy.symbolic import LinearSubscript, TypeCast
from loopy.types import NumpyType
from pymbolic import primitives as p
from pytools import UniqueNameGenerator

from nestegg import _core
from nestegg.errors import Error, Unsupported
from nestegg.loopy._dump import META, accesses_of, entry_name, prepared, written
from nestegg.loopy._from_json import BITS, FromJson, Type, names_in
from nestegg.loopy._functions import EXTREMA, MathFunction, ShortSingles, WholeExtremum
from nestegg.loopy._order import Step, in_order, with_list_order
from nestegg.loopy._parts import has_complex_numbers

Json = Any

COMPUTED = {"call", "reduce", "min", "max", "cast", *BITS}
"""What loopy does not look for in predicates."""

LIMITS = [("00_nestegg_limits", "#include <limits.h>\n#include <math.h>")]
"""The headers of the names that reductions of extrema begin with."""


def load(
    text: str, *, like: lp.TranslationUnit | None = None, target: Any = None, computed: Collection[str] = ()
) -> lp.TranslationUnit:
    """Make a translation unit of a kernel.

    Parameters
    ----------
    text
        A kernel in JSON or text.
    like
        Where arguments, tags, target and options come from: the translation unit that the kernel was dumped from.
    target
        The target, where ``like`` does not give one; by default loopy's C target.
    computed
        Arrays that no predicate reads in the result, because their elements will be calls.

    Returns
    -------
    loopy.TranslationUnit
        Its code is generated in the order of the kernel's linearization.

    Raises
    ------
    nestegg.Error
        If the text is no kernel.
    nestegg.Unsupported
        If loopy cannot hold something in it.
    """
    return load_written(_core.convert(text, "<text>", True), like=like, target=target, computed=computed)


def load_written(
    text: str, *, like: lp.TranslationUnit | None = None, target: Any = None, computed: Collection[str] = ()
) -> lp.TranslationUnit:
    """As :func:`load`, of JSON that nestegg wrote."""
    kernel = json.loads(text)
    if like is not None and has_complex_numbers(like):
        like = prepared(like)
    if like is not None and entry_name(like) != kernel["name"]:
        # A batch of what was the kernel of one element: other arguments, the same target.
        target = like[entry_name(like)].target
        like = None
    if kernel["linearization"] is None:
        is_ordered = any("sequential" in iname["tags"] for iname in kernel.get("inames") or [])
        converted = unsigned(kernel) | set(computed)
        insns = kernel["instructions"]
        if not is_ordered and not any(needs_saved_condition(insn, converted) or has_reduction_in_index(insn) for insn in insns):
            found, is_exact = loaded(kernel, like, target, computed)
            if is_exact and lp.has_schedulable_iname_nesting(found[entry_name(found)]):
                return found
        kernel = json.loads(_core.linearize(text, "<text>"))
    return loaded(kernel, like, target, computed)[0]


def loaded(
    kernel: dict[str, Json], like: lp.TranslationUnit | None, target: Any, computed: Collection[str]
) -> tuple[lp.TranslationUnit, bool]:
    """The translation unit of a kernel in the order that it has, and whether its domains are those of the kernel, for loopy.

    Without a linearization it is not known which loops are around the second loop over an iname of a joint domain.
    """
    loader = _Load(kernel, like, target, computed, is_typed=False)
    found = loader.t_unit()
    if any(len(kinds) > 1 for kinds in loader.kinds.values()):
        loader = _Load(kernel, like, target, computed, is_typed=True)
        found = loader.t_unit()
    if kernel["linearization"] is not None:
        return found, True
    entry = found[entry_name(found)]
    return found, not loader.has_split_joint_domain and not branches(entry, nests_of(entry))


@dataclass
class _Run:
    """An instruction in its place, with the conditions around it as the format writes them."""

    id: str
    loops: tuple[str, ...]
    names: dict[str, str]
    conditions: list[Any]


@dataclass
class _Loop:
    """A loop: its iname in the kernel, its name in loopy, and those around it."""

    iname: str
    name: str
    around: dict[str, str] = field(default_factory=dict)


class _Load:
    """One kernel on its way."""

    def __init__(
        self,
        kernel: dict[str, Json],
        like: lp.TranslationUnit | None,
        target: Any,
        computed: Collection[str],
        *,
        is_typed: bool,
    ) -> None:
        self.kernel = kernel
        self.like = None if like is None else like[entry_name(like)]
        self.target = self.like.target if self.like is not None else target or lp.CTarget()
        meta = kernel.get("meta")
        self.meta: dict[str, Json] = meta.get(META, {}) if isinstance(meta, dict) else {}
        self.layouts: dict[str, Json] = self.meta.get("layouts", {})
        self.instructions = {insn["id"]: insn for insn in kernel["instructions"]}
        self.shapes = {array["name"]: array["shape"] for array in kernel["arguments"] + kernel["temporaries"]}
        self.is_typed = is_typed
        self.kinds: dict[Any, set[str]] = {}
        self.rounded: set[float] = set()
        self.unrolled = self._unrolled()
        insns = json.dumps([kernel["instructions"], kernel.get("substitutions"), kernel.get("linearization")])
        self.is_double = "float32" not in insns + json.dumps(kernel["arguments"] + kernel["temporaries"])
        self.has_casts = is_typed or '"cast"' in insns or bool(unsigned(kernel))
        self.has_extrema = any(f'"reduce", "{word}"' in insns for word in ("min", "max"))
        self.unsigned = unsigned(kernel)
        self.computed = self.unsigned | set(computed)
        self.dtypes = {
            array["name"]: array["dtype"]
            for array in kernel["arguments"] + kernel["temporaries"] + (kernel.get("parameters") or [])
        }
        self.domains = [isl.Set.read_from_str(isl.DEFAULT_CONTEXT, text) for text in kernel["domains"]]
        self.unions = {idx for idx, domain in enumerate(self.domains) if domain.coalesce().n_basic_set() > 1}
        self.domain_of = {
            name: idx
            for idx, domain in enumerate(self.domains)
            for name in domain.get_var_names(isl.dim_type.set)
        }
        taken = set(self.shapes) | set(self.domain_of)
        taken |= {parameter["name"] for parameter in kernel.get("parameters") or []}
        taken |= {rule["name"] for rule in kernel.get("substitutions") or []}
        self.new_name = UniqueNameGenerator(taken)
        self.new_id = UniqueNameGenerator(set(self.instructions))
        self.rules = {rule["name"]: rule for rule in kernel.get("substitutions") or []}
        self.replaced = self._replaced()
        self.loops: list[_Loop] = []
        self.seen: set[str] = set()
        self.has_split_joint_domain = False
        self.saved: list[lp.TemporaryVariable] = []
        self.functions: set[str] = set()

    def t_unit(self) -> lp.TranslationUnit:
        """The whole translation unit."""
        kernel = self.kernel
        instructions = self._instructions()
        rules = [
            lp.SubstitutionRule(rule["name"], tuple(rule["parameters"]), self._reader({}).within(rule["expression"], is_in_float=True))
            for name, rule in self.rules.items()
            if name not in self.replaced
        ]
        domains, conditions = self._domains(is_chain=False)
        if self.kernel.get("linearization") is not None and has_inner(domains) and branches(of_domains(domains), self._nests()):
            domains, conditions = self._domains(is_chain=True)
        if conditions:
            instructions = [self._under(insn, conditions) for insn in instructions]
        domains = self._nested(domains, instructions)
        arguments = self._arguments()
        unread = self._keep_arguments(arguments, instructions)
        like = self.like
        extra: dict[str, Any] = {}
        if self.has_extrema:
            extra = {"symbol_manglers": [mangle_limit], "preambles": LIMITS}
        if like is not None:
            extra = {
                "preambles": [*like.preambles, *extra.get("preambles", [])],
                "preamble_generators": like.preamble_generators,
                "symbol_manglers": [*like.symbol_manglers, *extra.get("symbol_manglers", [])],
                "silenced_warnings": like.silenced_warnings,
                "options": like.options,
                "tags": like.tags,
                "index_dtype": like.index_dtype,
            }
        found = lp.make_kernel(
            domains or ["{ : }"],
            [*rules, *instructions, *unread],
            [*arguments, *self._temporaries(), *self.saved],
            assumptions=isl.BasicSet.read_from_str(isl.DEFAULT_CONTEXT, kernel.get("assumptions") or "{ : }"),
            target=self.target,
            name=kernel["name"],
            lang_version=(2018, 2),
            default_offset=0,
            **extra,
        )
        for name in sorted(self.functions):
            if name not in found.callables_table and name not in self.target_functions():
                found = lp.register_callable(found, name, MathFunction(name))
        for name in EXTREMA.values():
            if name not in found.callables_table:
                found = lp.register_callable(found, name, WholeExtremum(name))
        if self.rounded:
            found = found.with_kernel(found[kernel["name"]].tagged(ShortSingles()))
        priorities = [loops for loops in self.nests if len(loops) > 1]
        if priorities:
            entry = found[kernel["name"]]
            found = found.with_kernel(entry.copy(loop_priority=entry.loop_priority | frozenset(priorities)))
        if self.has_casts or any(names_in(shape) & {"max", "min"} for shape in self.shapes.values()):
            # loopy's check of bounds stops at conversions and extrema; nestegg has checked them.
            found = lp.set_options(found, enforce_array_accesses_within_bounds="no_check")
        return self._tagged(found)

    def _replaced(self) -> dict[str, Json]:
        """Rules that are replaced by what they stand for: those that speak of inames, themselves or through others.

        All are where literals may meet single floats, and where a reduction is an argument: each use has inames of its own.
        """
        if not self.is_double:
            return self.rules
        if has_reduction_as_argument([self.kernel["instructions"], self.kernel.get("linearization"), list(self.rules.values())]):
            return self.rules
        words = {name: names_in(rule["expression"]) for name, rule in self.rules.items()}
        found: set[str] = set()
        while True:
            more = {name for name, of in words.items() if name not in found and of & (found | set(self.domain_of))}
            if not more:
                return {name: self.rules[name] for name in self.rules if name in found}
            found |= more

    def target_functions(self) -> Mapping[str, Any]:
        """The functions that the target knows."""
        return dict(self.target.get_device_ast_builder().known_callables)

    def _unrolled(self) -> set[str]:
        """The inames of loops that loopy may write out."""
        found = {name for name, tags in self.meta.get("tags", {}).items() if "unr" in tags}
        found |= {iname["name"] for iname in self.kernel.get("inames") or [] if "unroll" in iname["tags"]}
        if self.like is not None:
            found |= {name for name, iname in self.like.inames.items() if iname.tags_of_type(UnrollTag)}
        return found

    # {{{ loops

    def _open(self, iname: str, names: Mapping[str, str]) -> str:
        """A loop over an iname, inside others."""
        name = iname if iname not in self.seen else self.new_name(iname)
        self.seen.add(iname)
        self.loops.append(_Loop(iname, name, dict(names)))
        return name

    def _nests(self) -> list[frozenset[str]]:
        """The names of the loops around each place."""
        return [frozenset([*loop.around.values(), loop.name]) for loop in self.loops]

    def _domains(self, *, is_chain: bool) -> tuple[list[Any], dict[str, Any]]:
        """The domains, and the conditions of loops that are no convex set.

        In a chain each loop has a domain of its own with the loop around it as a parameter. Loops over a union have one, too: the
        condition of a union on its inames can be asked where all of them are open.
        """
        split = set(range(len(self.domains))) if is_chain else set(self.unions)
        for loop in self.loops:
            outer_names = [outer for outer, name in loop.around.items() if outer != name]
            if loop.name != loop.iname or any(
                outer in self._parameters_of(loop.iname) for outer in outer_names
            ):
                split.add(self.domain_of[loop.iname])
        self.has_split_joint_domain = any(self.domains[idx].dim(isl.dim_type.set) > 1 for idx in split)
        used = {self.domain_of[loop.iname] for loop in self.loops}
        conditions: dict[str, Any] = {}
        domains = [basic_set(domain)[0] for idx, domain in enumerate(self.domains) if idx in used and idx not in split]
        for loop in self.loops:
            if self.domain_of[loop.iname] in split:
                basic, condition = basic_set(self._own_domain(loop))
                domains.append(with_parameter(basic, [*loop.around.values()][-1:]) if is_chain else basic)
                if condition is not None:
                    conditions[loop.name] = condition
        return domains, conditions

    def _nested(self, domains: list[Any], instructions: list[Any]) -> list[Any]:
        """The domains, those that data bound with the inames of loops around them as parameters: loopy nests domains by these."""
        data = set(self.shapes)
        if not any(data & set(domain.get_var_names(isl.dim_type.param)) for domain in domains):
            return domains
        depth = {loop.name: len(loop.around) for loop in self.loops}
        domains = sorted(domains, key=lambda it: min(depth.get(name, 0) for name in it.get_var_names(isl.dim_type.set)))
        used = [insn.within_inames | insn.reduction_inames() for insn in instructions]
        before: set[str] = set()
        found = []
        for domain in domains:
            own, given = set(domain.get_var_names(isl.dim_type.set)), set(domain.get_var_names(isl.dim_type.param))
            if data & given:
                users = [inames for inames in used if own & inames]
                around = before.intersection(*users) if users else set()
                for name in sorted(around - given):
                    at = domain.dim(isl.dim_type.param)
                    domain = domain.add_dims(isl.dim_type.param, 1).set_dim_name(isl.dim_type.param, at, name)
            before |= own
            found.append(domain)
        return found

    def _parameters_of(self, iname: str) -> set[str]:
        return set(self.domains[self.domain_of[iname]].get_var_names(isl.dim_type.param))

    def _own_domain(self, loop: _Loop) -> Any:
        """What a loop runs over, given the loops around it."""
        domain = self.domains[self.domain_of[loop.iname]]
        for name in domain.get_var_names(isl.dim_type.set):
            at = domain.find_dim_by_name(isl.dim_type.set, name)
            if name in loop.around:
                n_params = domain.dim(isl.dim_type.param)
                domain = domain.move_dims(isl.dim_type.param, n_params, isl.dim_type.set, at, 1)
            elif name != loop.iname:
                domain = domain.project_out(isl.dim_type.set, at, 1)
        for at, name in enumerate(domain.get_var_names(isl.dim_type.param)):
            if name in loop.around:
                domain = domain.set_dim_name(isl.dim_type.param, at, loop.around[name])
        return domain.set_dim_name(isl.dim_type.set, 0, loop.name)

    # }}}

    # {{{ instructions

    def _instructions(self) -> list[Any]:
        self.nests: set[tuple[str, ...]] = set()
        if self.kernel.get("linearization") is not None:
            runs = self._runs()
            befores: list[list[str]] = [[runs[idx - 1].id] if idx else [] for idx in range(len(runs))]
        else:
            runs = []
            for insn in self.kernel["instructions"]:
                for iname in insn["within_inames"]:
                    if iname not in self.seen:
                        self._open(iname, {})
                runs.append(_Run(insn["id"], (), {}, []))
            befores = self._dependences()
        return [self._instruction(run, before) for run, before in zip(runs, befores, strict=True)]

    def _runs(self) -> list[_Run]:
        """Instructions in their order, each with the loops and conditions around it."""
        items = self.kernel["linearization"]
        runs: list[_Run] = []
        names: dict[str, str] = {}
        conditions: list[Any] = []
        for at, (word, *rest) in enumerate(items):
            if word == "for":
                names = {**names, rest[0]: self._open(rest[0], names)}
            elif word == "end":
                names = {iname: name for iname, name in names.items() if iname != rest[0]}
            elif word == "if":
                conditions.append(self._condition(rest[0], items[at + 1 :], runs, names, conditions))
            elif word == "endif":
                conditions.pop()
            else:
                insn = self.instructions[rest[0]]
                around = list(conditions)
                if needs_saved_condition(insn, self.computed):
                    around = [self._saved([*conditions, *insn["predicates"]], runs, names)]
                    self.instructions[rest[0]] = insn = {**insn, "predicates": []}
                if has_reduction_in_index(insn):
                    self.instructions[rest[0]] = self._with_saved_indices(insn, around, runs, names)
                runs.append(_Run(rest[0], tuple(names.values()), dict(names), around))
                self.nests.add(tuple(names.values()))
        return runs

    def _condition(
        self,
        condition: Json,
        inside: list[Json],
        runs: list[_Run],
        names: dict[str, str],
        around: list[Any],
    ) -> Any:
        """A condition as a predicate; it is saved first if what it guards may change it."""
        read = names_in(condition)
        if read & (COMPUTED | self.computed):
            return self._saved([*around, condition], runs, names)
        depth = 0
        for word, *rest in inside:
            depth += {"if": 1, "endif": -1}.get(word, 0)
            if depth < 0:
                break
            if word == "run" and read & written(self.instructions[rest[0]]):
                return self._saved([*around, condition], runs, names)
        return condition

    def _saved(self, conditions: list[Json], runs: list[_Run], names: dict[str, str]) -> Json:
        """Saves whether all conditions hold, each evaluated only if those before it do."""
        name = self._temporary("condition", "int32")
        self._save(name, ["if", conjoined(conditions), 1, 0], [], [], runs, names)
        return ["!=", name, 0]

    def _with_saved_indices(self, insn: Json, around: list[Json], runs: list[_Run], names: dict[str, str]) -> Json:
        """Saves indices of what is written that have reductions; loopy computes none there."""
        word, array, *indices = insn["assignee"]
        for at, index in enumerate(indices):
            if "reduce" not in names_in(index):
                continue
            dtype = "int64" if self._reader({}).type_of(index) == Type.INT64 else "int32"
            name = self._temporary("index", dtype)
            indices[at] = name
            self._save(name, index, insn["predicates"], around, runs, names)
        return {**insn, "assignee": [word, array, *indices]}

    def _temporary(self, word: str, dtype: str) -> str:
        """The name of a new scalar."""
        name = self.new_name(word)
        self.saved.append(lp.TemporaryVariable(name, numpy_dtype(dtype), shape=(), address_space=AddressSpace.PRIVATE))
        self.shapes[name] = []
        self.dtypes[name] = dtype
        return name

    def _save(
        self, name: str, value: Json, predicates: list[Json], around: list[Any], runs: list[_Run], names: dict[str, str]
    ) -> None:
        """An instruction that computes a scalar here."""
        id = self.new_id(name)
        assigned = {"assignee": name, "expression": value}
        self.instructions[id] = {"id": id, "kind": "assignment", "predicates": predicates, **assigned}
        runs.append(_Run(id, tuple(names.values()), dict(names), around))
        self.nests.add(tuple(names.values()))

    def _instruction(self, run: _Run, before: list[str]) -> Any:
        insn = self.instructions[run.id]
        read = self._reader(run.names)
        inames = run.loops if self.kernel.get("linearization") is not None else tuple(insn["within_inames"])
        predicates = [read(predicate) for predicate in (*run.conditions, *insn["predicates"])]
        common: dict[str, Any] = {
            "id": run.id,
            "within_inames": frozenset(inames),
            "within_inames_is_final": True,
            "depends_on": frozenset(before),
            "depends_on_is_final": True,
            "predicates": conjunction(predicates),
        }
        if insn["kind"] == "assignment":
            assignee = insn["assignee"]
            dtype = self.dtypes[assignee if isinstance(assignee, str) else assignee[1]]
            return lp.Assignment(unconverted(read(assignee)), read.assigned(insn["expression"], dtype), **common)
        if insn["kind"] == "call":
            call = read(["call", insn["function"], *insn["arguments"]])
            return lp.CallInstruction(tuple(read(assignee) for assignee in insn["assignees"]), call, **common)
        if any(iname != name for iname, name in run.names.items()):
            raise Unsupported("C text in a loop that is not the only one over its iname", f"instruction {run.id}")
        return lp.CInstruction(
            tuple((iname, p.Variable(iname)) for iname in inames),
            insn["code"],
            read_variables=frozenset(insn["reads"]),
            assignees=tuple(p.Variable(name) for name in insn["writes"]),
            **common,
        )

    def _dependences(self) -> list[list[str]]:
        """What the kernel says, and list order where two touch the same data and one of them writes."""
        insns = {insn["id"]: insn for insn in self.kernel["instructions"]}
        steps = [Step(id, frozenset(), frozenset(insn["depends_on"]), 0) for id, insn in insns.items()]
        tables = {table["name"] for table in self.kernel["temporaries"] if table["initializer"] is not None}
        arrays = set(self.shapes) - tables
        accesses = {step.id: accesses_of(insns[step.id], arrays) for step in in_order(steps)}
        found = with_list_order({id: insn["depends_on"] for id, insn in insns.items()}, accesses)
        return [found[id] for id in insns]

    def _reader(self, names: Mapping[str, str]) -> FromJson:
        def name(found: str) -> Any:
            layout = self.layouts.get(found)
            if layout is not None and found in self.shapes and self.shapes[found]:
                raise Error(f"the array `{found}` stands without indices")
            return converted(found, p.Variable(names.get(found, found)))

        def converted(array: str, element: Any) -> Any:
            return TypeCast(np.dtype(np.int64), element) if array in self.unsigned else element

        def access(array: str, indices: tuple[Any, ...]) -> Any:
            return converted(array, element(array, tuple(as_index(index) for index in indices)))

        def as_index(index: Any) -> Any:
            # loopy takes no conversion there, and an unsigned number needs none.
            inner = unconverted(index)
            array = inner.aggregate if isinstance(inner, p.Subscript) else inner
            return inner if isinstance(array, p.Variable) and array.name in self.unsigned else index

        def element(array: str, indices: tuple[Any, ...]) -> Any:
            layout = self.layouts.get(array)
            if not indices:
                return p.Variable(array)
            if layout is None:
                return p.Subscript(p.Variable(array), indices if len(indices) > 1 else indices[0])
            if layout["axes"] is None:
                return LinearSubscript(p.Variable(array), indices[0])
            axes = layout["axes"]
            back = dict(zip(axes, indices, strict=False))
            found = tuple(back[axis] for axis in range(len(axes)))
            return p.Subscript(p.Variable(array), found if len(found) > 1 else found[0])

        def bind(inames: list[str], bound: Mapping[str, str]) -> tuple[dict[str, str], Any]:
            found: dict[str, str] = {}
            conditions = []
            for iname in inames:
                found[iname] = self._open(iname, {**names, **bound, **found})
                if self.domain_of[iname] in self.unions:
                    _, condition = basic_set(self._own_domain(self.loops[-1]))
                    conditions += [] if condition is None else [condition]
            return found, p.LogicalAnd(tuple(conditions)) if len(conditions) > 1 else [*conditions, None][0]

        found = _Counting(
            access, name, bind, self.replaced, self.dtypes, self.is_double, self.is_typed, self.unrolled
        )
        found.functions, found.kinds, found.rounded = self.functions, self.kinds, self.rounded
        return found

    def _under(self, insn: Any, conditions: dict[str, Any]) -> Any:
        """An instruction under the conditions of the loops around it."""
        found = [conditions[name] for name in sorted(insn.within_inames) if name in conditions]
        return insn.copy(predicates=conjunction([*found, *insn.predicates])) if found else insn

    # }}}

    # {{{ declarations

    def _sizes(self) -> FromJson:
        """Reads sizes, whose numbers loopy wants as they are."""
        reader = self._reader({})
        reader.is_typed = False
        return reader

    def _arguments(self) -> list[Any]:
        if self.like is not None:
            dtypes = {arg["name"]: numpy_dtype(arg["dtype"]) for arg in self.kernel["arguments"]}
            return [
                arg.copy(dtype=NumpyType(dtypes[arg.name])) if arg.dtype is None and arg.name in dtypes else arg
                for arg in self.like.args
            ]
        reader = self._sizes()

        def size(extent: Json) -> Any:
            return None if extent is None else reader(extent)

        found: dict[str, Any] = {}
        for parameter in self.kernel.get("parameters") or []:
            found[parameter["name"]] = lp.ValueArg(parameter["name"], np.dtype(parameter["dtype"]))
        for arg in self.kernel["arguments"]:
            name, dtype = arg["name"], numpy_dtype(arg["dtype"])
            is_output, is_input = arg["access"] != "read", arg["access"] != "write"
            if not arg["shape"] and not is_output:
                found[name] = lp.ValueArg(name, dtype)
                continue
            shape: Any = tuple(size(extent) for extent in arg["shape"])
            strides: Any = None
            layout = self.layouts.get(name)
            if layout is not None:
                shape = tuple(size(extent) for extent in layout["shape"])
                strides = tuple(size(stride) for stride in layout["strides"])
            found[name] = lp.GlobalArg(
                name, dtype, shape=shape, strides=strides, is_input=is_input, is_output=is_output, offset=0
            )
        order = [name for name in self.meta.get("arguments", []) if name in found]
        return [found[name] for name in [*order, *(name for name in found if name not in order)]]

    def _temporaries(self) -> list[Any]:
        size = self._sizes()
        found = []
        for temporary in self.kernel["temporaries"]:
            dtype = numpy_dtype(temporary["dtype"])
            shape = tuple(size(extent) for extent in temporary["shape"])
            table = temporary["initializer"]
            found.append(
                lp.TemporaryVariable(
                    temporary["name"],
                    dtype,
                    shape=shape,
                    initializer=None if table is None else np.array(table, dtype=dtype).reshape(shape),
                    read_only=table is not None,
                    address_space=AddressSpace.GLOBAL if shape and table is not None else AddressSpace.PRIVATE,
                )
            )
        return found

    def _keep_arguments(self, arguments: list[Any], instructions: list[Any]) -> list[Any]:
        """An instruction that reads arguments that only the input reads, so that the interface stays as it is."""
        if self.like is None:
            return []
        there: set[str] = set()
        for insn in instructions:
            there |= insn.dependency_names() | set(insn.assignee_var_names())
        for domain in self.domains:
            there |= set(domain.get_var_names(isl.dim_type.param))
        was = set()
        for insn in self.like.instructions:
            was |= insn.dependency_names() | set(insn.assignee_var_names())
        lost = {arg.name for arg in arguments if arg.name in was and arg.name not in there}
        if not lost:
            return []
        return [lp.CInstruction((), "", read_variables=frozenset(lost), id=self.new_id("keep"), within_inames=frozenset())]

    def _tagged(self, found: lp.TranslationUnit) -> lp.TranslationUnit:
        """Tags of inames: those that loops had in the input, else those that the kernel states."""
        if self.like is not None:
            given = {name: list(iname.tags) for name, iname in self.like.inames.items() if iname.tags}
        else:
            given = dict(self.meta.get("tags", {}))
            for entry in self.kernel.get("inames") or []:
                if "unroll" in entry["tags"]:
                    given.setdefault(entry["name"], ["unr"])
        kernel = found[self.kernel["name"]]
        if not given:
            return found
        nests = self._nests()
        if self.kernel.get("linearization") is None:
            nests = nests_of(kernel)
        nests = [nest for nest in nests if not branches(kernel, [nest])]
        tags = [
            (loop.name, tag)
            for loop in self.loops
            for tag in given.get(loop.iname, [])
            if not (tag == "unr" or isinstance(tag, UnrollTag)) or can_unroll(kernel, loop.name, nests)
        ]
        return lp.tag_inames(found, tags) if tags else found

    # }}}


class _Counting(FromJson):
    """Reads expressions and notes the functions that they call."""

    functions: set[str]

    def operand(self, expr: Json, meets: Type) -> Any:
        """The expression."""
        if isinstance(expr, list) and expr[0] == "call":
            self.functions.add(expr[1])
        return super().operand(expr, meets)


def unconverted(element: Any) -> Any:
    """An element of an array, where it is written."""
    return element.child if isinstance(element, TypeCast) else element


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The dtype of that name."""
    return np.dtype(name)


def conjunction(predicates: list[Any]) -> frozenset[Any]:
    """Predicates that hold together, in their order: one may guard an access of the next."""
    unique = list(dict.fromkeys(predicates))
    return frozenset(unique if len(unique) < 2 else [p.LogicalAnd(tuple(unique))])


def needs_saved_condition(insn: Json, converted: set[str]) -> bool:
    """Whether an instruction writes what its predicates read, or they compute what loopy does not find in predicates."""
    return bool(names_in(insn["predicates"]) & (written(insn) | COMPUTED | converted))


def unsigned(kernel: dict[str, Json]) -> set[str]:
    """The arrays whose elements C would compute with modulo a power of two; the format takes them for int64."""
    arrays = kernel["arguments"] + kernel["temporaries"]
    return {array["name"] for array in arrays if array["dtype"] in ("uint32", "uint64")}


def can_unroll(kernel: lp.LoopKernel, iname: str, nests: list[frozenset[str]]) -> bool:
    """Whether loopy can write a loop out: its bounds are numbers, and no nest is empty in all of a copy."""
    try:
        bounds = kernel.get_iname_bounds(iname, constants_only=True)
    except isl.Error:
        return False
    first, last = (int(bound.max_val().to_python()) for bound in (bounds.lower_bound_pw_aff, bounds.upper_bound_pw_aff))
    for nest in nests:
        if iname not in nest:
            continue
        domain, assumptions = isl.align_two(kernel.get_inames_domain(nest), isl.BasicSet.from_params(kernel.assumptions))
        domain &= assumptions
        at = domain.find_dim_by_name(isl.dim_type.set, iname)
        if any(domain.fix_val(isl.dim_type.set, at, value).is_empty() for value in range(first, last + 1)):
            return False
    return True


def has_reduction_as_argument(part: Json) -> bool:
    """Whether a reduction is an argument of a substitution rule."""
    waiting = [part]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, list):
            if part[:1] == ["subst"] and "reduce" in names_in(part[2:]):
                return True
            waiting.extend(part)
    return False


def has_reduction_in_index(insn: Json) -> bool:
    """Whether a reduction is in the index of what is written."""
    return insn["kind"] == "assignment" and "reduce" in names_in(insn["assignee"])


def conjoined(predicates: list[Json]) -> Json:
    """Predicates as one condition."""
    return predicates[0] if len(predicates) == 1 else ["and", *predicates]


def mangle_limit(kernel: Any, name: str) -> Any:
    """The names that loopy begins reductions of extrema with, and does not know in C."""
    if name in ("HUGE_VAL", "INFINITY"):
        return NumpyType(np.dtype(np.float64 if name == "HUGE_VAL" else np.float32)), name
    if name in ("INT_MAX", "INT_MIN", "LONG_MAX", "LONG_MIN"):
        return NumpyType(np.dtype(np.int32 if name.startswith("INT") else np.int64)), name
    return None


def has_inner(domains: list[Any]) -> bool:
    """Whether an iname of one domain is a parameter of another: only these can be siblings."""
    inames = {name for domain in domains for name in domain.get_var_names(isl.dim_type.set)}
    return any(inames & set(domain.get_var_names(isl.dim_type.param)) for domain in domains)


def of_domains(domains: list[Any]) -> lp.LoopKernel:
    """A kernel with nothing but domains."""
    return lp.make_kernel(domains, [], [], lang_version=(2018, 2)).default_entrypoint


def nests_of(kernel: lp.LoopKernel) -> list[frozenset[str]]:
    """The inames around each instruction, and those around what its reductions compute."""
    return [
        insn.within_inames | inner
        for insn in kernel.instructions
        for inner in [frozenset(), *(frozenset([iname]) for iname in sorted(insn.reduction_inames()))]
    ]


def branches(kernel: lp.LoopKernel, nests: list[frozenset[str]]) -> bool:
    """Whether loopy takes the domains of some nest for siblings."""
    for nest in nests:
        try:
            kernel.get_leaf_domain_indices(nest)
        except CannotBranchDomainTree:
            return True
    return False


def with_parameter(domain: Any, names: list[str]) -> Any:
    """A set with further parameters, which it need not use."""
    for name in names:
        if domain.find_dim_by_name(isl.dim_type.param, name) < 0:
            at = domain.dim(isl.dim_type.param)
            domain = domain.insert_dims(isl.dim_type.param, at, 1).set_dim_name(isl.dim_type.param, at, name)
    return domain


def basic_set(found: Any) -> tuple[Any, Any]:
    """A convex set, and the condition that is left where the set is not convex."""
    found = found.coalesce()
    parts = found.get_basic_sets()
    if len(parts) == 1:
        return parts[0], None
    if not parts:
        return found.simple_hull(), None
    from loopy.symbolic import set_to_cond_expr

    hull = found.simple_hull()
    return hull, set_to_cond_expr(found.gist(hull.to_set()))
