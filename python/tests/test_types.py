"""Types that dumps find are those that loopy infers."""

from __future__ import annotations

from typing import Any

import loopy as lp
import pytest
from kernels import CASES, Case

from nestegg.loopy._dump import entry_name, inlined
from nestegg.loopy._types import typed

WALKED = [case for case in CASES if case.refused is None and case.make().default_entrypoint.linearization is None]

LEFT_TO_LOOPY = {
    "argmax_reduction", "last_of_equal_extrema", "pivots", "nearest_neighbours", "largest_sums", "largest_of_a_block",
    "last_segments", "product_since_the_last_small_one",
}  # fmt: skip
"""Reductions with two results."""


def types_of(kernel: lp.LoopKernel) -> dict[str, Any]:
    return {data.name: data.dtype for data in (*kernel.args, *kernel.temporary_variables.values())}


@pytest.mark.parametrize("case", WALKED, ids=[case.name for case in WALKED])
def test_types_are_those_of_loopy(case: Case) -> None:
    t_unit = case.make()
    name = entry_name(t_unit)
    t_unit = lp.expand_subst(inlined(t_unit, name))
    found = typed(t_unit, name)
    if found is None:
        assert case.name in LEFT_TO_LOOPY
        return
    expected = lp.infer_unknown_types(t_unit, expect_completion=True)
    assert types_of(found[name]) == types_of(expected[name])
    functions = {id: callable for id, callable in found.callables_table.items() if id != name}
    assert functions == {id: expected.callables_table[id] for id in functions}
