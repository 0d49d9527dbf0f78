"""Types of data that are assigned, as loopy infers them.

loopy's inference of a kernel resolves calls and maps all expressions, which is most of its time and changes nothing where there are no
calls. Its rules for expressions are used here, in the order of its inference: data that depend on others come after them, and what depends
on itself is looked at until nothing changes.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
from loopy.diagnostic import DependencyTypeInferenceFailure
from loopy.translation_unit import make_clbl_inf_ctx
from loopy.type_inference import TypeInferenceMapper


def typed_without_calls(t_unit: lp.TranslationUnit, name: str) -> lp.LoopKernel | None:
    """A kernel without calls and substitution rules, with the types of all data; nothing where that takes more than the above."""
    kernel = t_unit[name]
    known: dict[str, Any] = {data.name: data for data in (*kernel.temporary_variables.values(), *kernel.args)}
    unknown = {name for name, data in known.items() if data.dtype is None}
    writer_map = kernel.writer_map()
    writers = {name: [kernel.id_to_insn[id] for id in writer_map.get(name, ())] for name in unknown}
    written = [insn for insns in writers.values() for insn in insns]
    if unknown & kernel.all_params() or not all(isinstance(insn, lp.Assignment) for insn in written):
        return None
    needs = {name: {read for insn in writers[name] for read in insn.read_dependency_names()} & unknown for name in unknown}
    types = TypeInferenceMapper(kernel, make_clbl_inf_ctx(t_unit.callables_table, t_unit.entrypoints), known)
    while unknown:
        ready = sorted(name for name in unknown if not (needs[name] & unknown) - {name})
        if not ready:
            return None
        for name in ready:
            while True:
                try:
                    found = types.combine([types(insn.expression, return_dtype_set=True) for insn in writers[name]])
                except DependencyTypeInferenceFailure:
                    return None
                if len(found) != 1:
                    return None
                if found[0] == known[name].dtype:
                    break
                known[name] = known[name].copy(dtype=found[0])
                if name not in needs[name]:
                    break
        unknown.difference_update(ready)
    temporaries = {name: known[name] for name in kernel.temporary_variables}
    return kernel.copy(temporary_variables=temporaries, args=[known[arg.name] for arg in kernel.args])
