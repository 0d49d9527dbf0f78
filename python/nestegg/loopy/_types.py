"""Types of data that are assigned, as loopy infers them.

loopy's inference of a translation unit maps all of it several times: to resolve calls, to give each the function of its types, and to give
these their old names back. Its rules for expressions are used here, in the order of its inference: data that depend on others come after
them, and what depends on itself is looked at until nothing changes. Only instructions with calls are mapped, and once.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
from constantdict import constantdict
from loopy.diagnostic import DependencyTypeInferenceFailure
from loopy.kernel import KernelState
from loopy.kernel.function_interface import ScalarCallable
from loopy.library.function import get_loopy_callables
from loopy.symbolic import IdentityMapper, ResolvedFunction
from loopy.translation_unit import make_clbl_inf_ctx
from loopy.type_inference import TypeInferenceMapper, infer_unknown_types_for_a_single_kernel
from loopy.types import LoopyType
from pymbolic import primitives as p

from nestegg.loopy._walk import subexpressions

CALLS = (p.Call, p.CallWithKwargs)


def inferred(t_unit: lp.TranslationUnit, name: str) -> lp.TranslationUnit:
    """The same with all types known: by loopy, where that takes all of its inference."""
    found = typed(t_unit, name)
    if found is not None:
        return found
    if list(t_unit.callables_table) == [name] and not any(has_calls(insn) for insn in t_unit[name].instructions):
        # Nothing has to be resolved.
        context = make_clbl_inf_ctx(t_unit.callables_table, t_unit.entrypoints)
        kernel, _ = infer_unknown_types_for_a_single_kernel(t_unit[name], context)
        t_unit = t_unit.with_kernel(kernel)
        if is_typed(kernel):
            return t_unit
    return lp.infer_unknown_types(t_unit, expect_completion=True)


def typed(t_unit: lp.TranslationUnit, name: str) -> lp.TranslationUnit | None:
    """A translation unit with the types of all data of one kernel without substitution rules, and what it calls.

    Nothing where that takes more than the above: functions that have several types, instructions other than assignments that call
    something or give data their type, types that depend on each other.
    """
    kernel = t_unit[name]
    if kernel.state > KernelState.CALLS_RESOLVED:
        return None
    with_calls = [insn for insn in kernel.instructions if has_calls(insn)]
    if not with_calls and is_typed(kernel):
        return t_unit
    if any(not isinstance(insn, lp.Assignment) or has_calls_beside(insn) for insn in with_calls):
        return None
    functions = known_functions(t_unit) if with_calls else {}
    resolver = _Resolver()
    if with_calls:
        changed = {insn.id: insn.copy(expression=resolver(insn.expression)) for insn in with_calls}
        if not all(isinstance(functions.get(called), ScalarCallable) for called in resolver.called):
            return None
        instructions = [changed.get(insn.id, insn) for insn in kernel.instructions]
        kernel = kernel.copy(instructions=instructions, state=KernelState.CALLS_RESOLVED)
    called = {name: functions[name] for name in sorted(resolver.called)}
    entry = t_unit.callables_table[name]
    table = constantdict({name: entry, **called})
    known: dict[str, Any] = {data.name: data for data in (*kernel.temporary_variables.values(), *kernel.args)}
    types = TypeInferenceMapper(kernel, make_clbl_inf_ctx(table, t_unit.entrypoints), known)
    context = find_types(kernel, known, types)
    if context is None:
        return None
    # Each call, now that all types are known.
    types = types.copy(clbl_inf_ctx=context)
    for insn in with_calls:
        types(kernel.id_to_insn[insn.id].expression, return_dtype_set=True)
    found: dict[str, Any] = {}
    for call, function in types.old_calls_to_new_calls.items():
        old = call.function.name
        specialized = types.clbl_inf_ctx.callables[function.name]
        # Functions of several types have several names.
        if found.setdefault(old, specialized) != specialized:
            return None
    temporaries = {name: known[name] for name in kernel.temporary_variables}
    kernel = kernel.copy(temporary_variables=temporaries, args=[known[arg.name] for arg in kernel.args])
    return t_unit.copy(callables_table=constantdict({name: entry, **found})).with_kernel(kernel)


def find_types(kernel: lp.LoopKernel, known: dict[str, Any], types: TypeInferenceMapper) -> Any:
    """Give all data in ``known``, from which ``types`` reads, their types; the functions met on the way, or nothing where a type is not found."""
    context = types.clbl_inf_ctx
    unknown = {name for name, data in known.items() if data.dtype is None}
    for name in unknown & kernel.all_params() if unknown else ():
        known[name] = known[name].copy(dtype=kernel.index_dtype)
        unknown.remove(name)
    if not unknown:
        return context
    writer_map = kernel.writer_map()
    writers = {name: [kernel.id_to_insn[id] for id in writer_map.get(name, ())] for name in unknown}
    written = [insn for insns in writers.values() for insn in insns]
    if not all(isinstance(insn, lp.Assignment) for insn in written):
        return None
    needs = {name: {read for insn in writers[name] for read in insn.read_dependency_names()} & unknown for name in unknown}
    while unknown:
        ready = sorted(name for name in unknown if not (needs[name] & unknown) - {name})
        if not ready:
            return None
        for name in ready:
            while True:
                # Each remembers what it has seen, and types change.
                types = types.copy(clbl_inf_ctx=context)
                try:
                    found = types.combine([types(insn.expression, return_dtype_set=True) for insn in writers[name]])
                except DependencyTypeInferenceFailure:
                    return None
                context = types.clbl_inf_ctx
                if len(found) != 1:
                    return None
                if found[0] == known[name].dtype:
                    break
                known[name] = known[name].copy(dtype=found[0])
                if name not in needs[name]:
                    break
        unknown.difference_update(ready)
    return context


def is_typed(kernel: lp.LoopKernel) -> bool:
    """Whether all data have types."""
    return all(isinstance(data.dtype, LoopyType) for data in (*kernel.args, *kernel.temporary_variables.values()))


def has_calls(insn: Any) -> bool:
    """Whether an instruction calls something anywhere."""
    if isinstance(insn, lp.MultiAssignmentBase):
        return any_calls((*insn.predicates, *insn.assignees, insn.expression))
    return any_calls((*insn.predicates, *getattr(insn, "assignees", ())))


def has_calls_beside(insn: Any) -> bool:
    """Whether an assignment calls something elsewhere than in the value."""
    return any_calls((*insn.predicates, *insn.assignees))


def any_calls(expr: Any) -> bool:
    """Whether an expression has calls."""
    return any(isinstance(part, CALLS) for part in subexpressions(expr))


def known_functions(t_unit: lp.TranslationUnit) -> dict[str, Any]:
    """What loopy knows by name: functions of the translation unit, of the target, and its own."""
    given = {id: found for id, found in t_unit.callables_table.items() if isinstance(found, ScalarCallable)}
    return {**given, **t_unit.target.get_device_ast_builder().known_callables, **get_loopy_callables()}


class _Resolver(IdentityMapper):  # type: ignore[misc, unused-ignore]
    """Marks calls as resolved, and notes the names of what they call."""

    def __init__(self) -> None:
        super().__init__()
        self.called: set[str] = set()

    def map_call(self, expr: Any) -> Any:
        """A call; one of something without a plain name is noted as one of nothing."""
        function = expr.function
        is_resolved = isinstance(function, ResolvedFunction)
        inner = function.function if is_resolved else function
        self.called.add(inner.name if type(inner) is p.Variable else "")
        return p.Call(
            function if is_resolved else ResolvedFunction(function), tuple(self.rec(parameter) for parameter in expr.parameters)
        )

    def map_call_with_kwargs(self, expr: Any) -> Any:
        """Leaves it to loopy to refuse it."""
        self.called.add("")
        return expr
