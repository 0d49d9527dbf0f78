"""What loopy prints of a kernel is the kernel: the same that `nestegg.dump` writes of the objects."""

from __future__ import annotations

import json
import re
from typing import Any

import loopy as lp
import numpy as np
import pytest
from kernels import CASES, Case

import nestegg
from nestegg.loopy._dump import entry_name

VERSION_2 = {
    "unsigned_numbers", "facet_numbers", "without_extent", "pyop2_wrapper", "csr", "csr_from_start_to_end", "rows_of_lengths",
    "near_field", "extruded_columns", "rows_with_a_window", "two_inames_that_data_end",
}  # fmt: skip
"""What the second version of the format holds: the reader of prints refuses it."""

LOWERED = {
    "argmax_reduction", "last_of_equal_extrema", "pivots", "nearest_neighbours", "largest_sums", "largest_of_a_block",
    "last_segments", "product_since_the_last_small_one", "complex_squares", "complex_multiples", "complex_axpy",
    "complex_dot", "complex_matvec", "complex_columns", "complex_rows", "helmholtz_elements", "twiddle_factors",
    "butterflies", "plane_waves", "greens_functions", "julia_set", "complex_branches",
}  # fmt: skip
"""What the package writes in words that the format has, and the reader of prints does not."""

HELD = [case for case in CASES if case.refused is None and case.name not in VERSION_2 | LOWERED]
REFUSED = [case for case in CASES if case not in HELD]

COLOUR = re.compile("\x1b\\[[0-9;]*m")
ARROWS = re.compile("^[ \u2190-\u21ff\u2500-\u257f]*", re.MULTILINE)


def data_of(t_unit: lp.TranslationUnit) -> dict[str, Any]:
    """What a print leaves out."""
    data: dict[str, Any] = {}
    kernels = [t_unit[name] for name, found in t_unit.callables_table.items() if hasattr(found, "subkernel")]
    for kernel in kernels:
        for name, temporary in kernel.temporary_variables.items():
            if temporary.initializer is not None:
                data[name] = np.asarray(temporary.initializer).real.tolist()
    assumptions = t_unit[entry_name(t_unit)].assumptions
    if not assumptions.plain_is_universe():
        data["assumptions"] = str(assumptions)
    return data


def with_data(text: str, data: dict[str, Any]) -> str:
    lines = [f"{name}: {value if isinstance(value, str) else json.dumps(value)}\n" for name, value in data.items()]
    return text + "\nDATA:\n" + "".join(lines)


def flat(expr: Any, names: dict[str, str]) -> Any:
    """An expression without what the print loses or loopy makes anew: grouping of equal operations, names of reduction inames."""
    if isinstance(expr, str):
        return names.get(expr, expr)
    if not isinstance(expr, list):
        return float(expr) if isinstance(expr, float) else expr
    head, *rest = expr
    if head == "-" and len(rest) == 2:
        return flat(["+", rest[0], ["-", rest[1]]], names)
    if head == "reduce":
        op, inames, inner = rest
        inside = names | {iname: f"reduced {len(names) + idx}" for idx, iname in enumerate(inames)}
        return [head, op, len(inames), flat(inner, inside)]
    rest = [flat(operand, names) for operand in rest]
    if head in ("+", "*", "and", "or"):
        parts = [[head, *operand[1:]] if isinstance(operand, list) and operand[0] == head else [operand] for operand in rest]
        rest = [part for own in parts for part in (own[1:] if own[0] == head and len(own) > 1 else own)]
    return [head, *rest]


def comparable(text: str) -> dict[str, Any]:
    """What a dump and a print have in common."""
    kernel = json.loads(text)
    return {
        "name": kernel["name"],
        "parameters": kernel.get("parameters", []),
        "arguments": kernel.get("arguments", []),
        "temporaries": kernel.get("temporaries", []),
        "tags": {iname["name"]: iname["tags"] for iname in kernel.get("inames", [])},
        "instructions": {
            insn["id"]: (
                sorted(insn["within_inames"]),
                sorted(json.dumps(flat(condition, {})) for condition in insn["predicates"]),
                [flat(insn[field], {}) for field in ("assignee", "expression") if field in insn],
                ["".join(insn.get("code", "").split()), insn.get("reads"), insn.get("writes")],
            )
            for insn in kernel["instructions"]
        },
    }


SHORTENED = {"variable_coefficients"}
"""Where Python shortens a substitution rule, so that its inside is lost."""


def unit_of(case: Case) -> lp.TranslationUnit:
    """The kernel; without its substitution rules, where the print would lose them."""
    return lp.expand_subst(case.make()) if case.name in SHORTENED else case.make()


CALLS = {"wrapper_around_element_kernel", "callee"}
"""Where loopy names the inames and instructions of a kernel that it inlines."""


@pytest.mark.parametrize("case", HELD, ids=[case.name for case in HELD])
def test_prints_are_the_kernels(case: Case) -> None:
    t_unit = unit_of(case)
    printed = with_data(str(t_unit), data_of(t_unit))
    dumped, read = nestegg.dump(t_unit), nestegg.to_json(printed)
    if case.name not in CALLS:
        assert comparable(read) == comparable(dumped)
    parameters = case.sizes_of(t_unit)
    assert nestegg.count(read, parameters=parameters).total == nestegg.count(dumped, parameters=parameters).total
    verdict = nestegg.validate(dumped, read, parameters=parameters)
    assert verdict, verdict


@pytest.mark.parametrize("case", HELD, ids=[case.name for case in HELD])
def test_colours_and_arrows_say_nothing(case: Case) -> None:
    t_unit = unit_of(case)
    printed = with_data(str(t_unit), data_of(t_unit))
    plain = ARROWS.sub("", COLOUR.sub("", printed))
    assert nestegg.to_json(plain) == nestegg.to_json(printed)


@pytest.mark.parametrize("case", HELD, ids=[case.name for case in HELD])
def test_tables_are_asked_for(case: Case) -> None:
    t_unit = unit_of(case)
    tables = [name for name in data_of(t_unit) if name != "assumptions"]
    if not tables:
        nestegg.to_json(str(t_unit))
        return
    with pytest.raises(nestegg.Error, match="lost the values of the table"):
        nestegg.to_json(str(t_unit))


@pytest.mark.parametrize("case", [case for case in HELD if case.name in SHORTENED], ids=sorted(SHORTENED))
def test_rules_that_python_shortens_are_lost(case: Case) -> None:
    with pytest.raises(nestegg.Error, match="lost the inside of a substitution rule"):
        nestegg.to_json(str(case.make()))


@pytest.mark.parametrize("case", REFUSED, ids=[case.name for case in REFUSED])
def test_what_is_refused_has_its_reason(case: Case) -> None:
    t_unit = case.make()
    with pytest.raises(nestegg.Error, match="has no place|is not declared"):
        nestegg.to_json(with_data(str(t_unit), data_of(t_unit)))
