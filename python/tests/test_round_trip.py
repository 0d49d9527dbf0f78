"""loopy → nestegg → loopy: the same values, no more operations, the same interface."""

from __future__ import annotations

from pathlib import Path

import loopy as lp
import pytest
from harness import compare, entry, of_reals, operations, orders
from kernels import CASES, Case

import nestegg
from nestegg.loopy import load_like

HELD = [case for case in CASES if case.refused is None]
REFUSED = [case for case in CASES if case.refused is not None]


UNCOUNTED = {
    "linear_subscripts": "LinearSubscript",
    **dict.fromkeys(("argmax_reduction", "last_of_equal_extrema", "pivots", "nearest_neighbours", "largest_sums", "largest_of_a_block"), "ArgExtOp"),
    **dict.fromkeys(("last_segments", "product_since_the_last_small_one"), "SegmentedOp"),
}
"""What loopy itself cannot count."""


LEFT_TO_LOOPY = {"max_reduction", "min_reduction", *(name for name, what in UNCOUNTED.items() if what == "ArgExtOp")}
"""Where nestegg leaves reductions of extrema as they are, loopy places their loops."""


def ids(cases: list[Case]) -> list[str]:
    return [case.name for case in cases]


def test_there_are_enough_kernels_and_few_are_refused() -> None:
    assert len(CASES) >= 60
    assert len(REFUSED) <= len(CASES) / 10


@pytest.mark.parametrize("case", HELD, ids=ids(HELD))
def test_results_are_equal(case: Case, tmp_path: Path) -> None:
    t_unit = case.make()
    result = nestegg.optimize(t_unit, parameters=case.sizes_of(t_unit), threads=1)
    compare(t_unit, result.kernel, tmp_path, case.sizes, case.ranges)
    assert result.after.total <= result.before.total


@pytest.mark.parametrize("case", HELD, ids=ids(HELD))
def test_loopy_counts_no_more(case: Case) -> None:
    t_unit = case.make()
    result = nestegg.optimize(t_unit, parameters=case.sizes_of(t_unit), threads=1, validate=False)
    if case.name in UNCOUNTED:
        with pytest.raises(Exception, match=UNCOUNTED[case.name]):
            operations(t_unit, case.sizes)
        if UNCOUNTED[case.name] == "LinearSubscript":
            return
    if of_reals(t_unit) and case.name not in UNCOUNTED:
        assert operations(result.kernel, case.sizes) <= operations(t_unit, case.sizes)
    else:
        # loopy counts operations on complex numbers as one, and counts reductions with two results once they are loops.
        first, second = (nestegg.load(text, like=t_unit) for text in (nestegg.dump(t_unit), result.json))
        assert operations(second, case.sizes) <= operations(first, case.sizes)


@pytest.mark.parametrize("case", HELD, ids=ids(HELD))
def test_dumps_are_fixed_points(case: Case) -> None:
    first = nestegg.dump(case.make())
    assert nestegg.dump(nestegg.load(first)) == first
    assert nestegg.dump(nestegg.load(first, like=case.make())) == first


@pytest.mark.parametrize("case", HELD, ids=ids(HELD))
def test_what_is_loaded_computes_the_same(case: Case, tmp_path: Path) -> None:
    t_unit = case.make()
    compare(t_unit, nestegg.load(nestegg.dump(t_unit), like=t_unit), tmp_path, case.sizes, case.ranges)


@pytest.mark.parametrize("case", HELD, ids=ids(HELD))
def test_the_interface_stays(case: Case) -> None:
    t_unit = case.make()
    kernel = nestegg.optimize(t_unit, parameters=case.sizes_of(t_unit), threads=1, validate=False).kernel
    assert kernel.entrypoints == t_unit.entrypoints
    first, second = (entry(lp.infer_unknown_types(unit, expect_completion=True)).args for unit in (t_unit, kernel))
    assert [(arg.name, type(arg), arg.dtype) for arg in second] == [(arg.name, type(arg), arg.dtype) for arg in first]
    assert [arg.shape for arg in second if isinstance(arg, lp.ArrayArg)] == [arg.shape for arg in first if isinstance(arg, lp.ArrayArg)]
    assert type(kernel.target) is type(t_unit.target)


@pytest.mark.parametrize("case", REFUSED, ids=ids(REFUSED))
def test_what_is_refused_has_its_reason(case: Case) -> None:
    with pytest.raises(nestegg.Unsupported, match=case.refused):
        nestegg.dump(case.make())


@pytest.mark.parametrize("case", HELD, ids=ids(HELD))
def test_loopy_emits_the_order_that_nestegg_chose(case: Case) -> None:
    """loopy's schedule has the loops and instructions of the linearization, in its order."""
    t_unit = case.make()
    result = nestegg.optimize(t_unit, parameters=case.sizes_of(t_unit), threads=1, validate=False)
    if '"reduce"' in result.json:
        assert case.name in LEFT_TO_LOOPY
        return
    chosen, emitted = orders(result, result.kernel if of_reals(t_unit) else nestegg.load(result.json, like=t_unit))
    assert emitted == chosen


@pytest.mark.parametrize("name", ["largest_sums", "nearest_neighbours", "helmholtz_elements", "greens_functions"])
def test_results_for_time_are_equal(name: str, tmp_path: Path) -> None:
    case = next(case for case in CASES if case.name == name)
    t_unit = case.make()
    result = nestegg.optimize(t_unit, level="O3", cost="time", parameters=case.sizes_of(t_unit), threads=1)
    compare(t_unit, result.kernel, tmp_path, case.sizes, case.ranges)


@pytest.mark.parametrize("name", ["complex_axpy", "butterflies", "complex_branches", "complex_matvec"])
def test_results_with_complex_arguments_are_read_again(name: str) -> None:
    t_unit = next(case for case in CASES if case.name == name).make()
    assert nestegg.validate(t_unit, nestegg.optimize(t_unit).kernel)


ORDERS_OF_PARTS = {
    "a loop over parts": """
        for p, i
            y[i, p] = 2*x[i, p]
            z[i, p] = y[i, p] + x[i, p]
        end
        """,
    "interleaved": """
        for i
            y[i, 0] = 2*x[i, 0]
            z[i, 1] = 3*x[i, 1]
            y[i, 1] = 2*x[i, 1]
            z[i, 0] = 3*x[i, 0]
        end
        """,
    "one after the other": """
        for i
            y[i, 0] = 2*x[i, 0]
            z[i, 0] = y[i, 0] + x[i, 0]
            y[i, 1] = 2*x[i, 1]
            z[i, 1] = y[i, 1] + x[i, 1]
        end
        """,
    "other elements between": """
        for i
            y[i, 0] = 2*x[i, 0] if i == n - 1 else x[i, 0]
            if i > 0
                y[i - 1, 0] = y[i - 1, 0]*2
                y[i - 1, 1] = y[i - 1, 1]*2
            end
            y[i, 1] = 2*x[i, 1] if i == n - 1 else x[i, 1]
            z[i, 1] = 3*x[i, 1]
            z[i, 0] = 3*x[i, 0]
        end
        """,
    "one reads the other": """
        for i
            y[i, 0] = 2*x[i, 1]
            y[i, 1] = y[i, 0]
            y[i, 0] = 2*x[i, 0]
            z[i, 1] = 3*x[i, 1]
            z[i, 0] = 3*x[i, 0]
        end
        """,
}


@pytest.mark.parametrize("name", ORDERS_OF_PARTS)
def test_parts_are_stored_in_any_order(name: str, tmp_path: Path) -> None:
    t_unit = next(case for case in CASES if case.name == "complex_multiples").make()
    text = f"""
    kernel loopy_kernel linearized
    param n : int32
    domain [n] -> {{ [i, p] : 0 <= i < n and 0 <= p < 2 }}
    arg y : float64[n, 2] readwrite
    arg z : float64[n, 2] readwrite
    arg x : float64[n, 2] read
    {ORDERS_OF_PARTS[name]}
    """
    compare(t_unit, load_like(nestegg.to_json(text), t_unit), tmp_path, {"n": 7}, {})


def test_elements_are_put_together(tmp_path: Path) -> None:
    """A loop over elements keeps its interface; a kernel of one element becomes one of many."""
    cases = {case.name: case for case in CASES}
    of_many = cases["flux_differences"]
    t_unit = of_many.make()
    result = nestegg.optimize(t_unit, batch=4, parameters={"ne": 9})
    assert result.report.data["batch"]["width"] == 4
    compare(t_unit, result.kernel, tmp_path, {"ne": 9}, {})
    of_one = nestegg.optimize(cases["mass_matrix"].make(), batch=4)
    assert entry(of_one.kernel).name == "loopy_kernel_batch"
    assert lp.generate_code_v2(of_one.kernel).device_code().count("for (") > 1


def test_names_of_translation_units_are_asked_for() -> None:
    kernel = CASES[0].make().default_entrypoint
    with pytest.raises(nestegg.Unsupported, match="translation unit"):
        nestegg.dump(kernel)
