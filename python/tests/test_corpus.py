"""Kernels of the corpus and random kernels, as loopy kernels: the same values from the C of both."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import assert_same, c_code, call, compare, compiled, entry, operations, orders, with_counted_conditions
from loopy.diagnostic import LoopyError
from pymbolic import evaluate

import nestegg

ROOT = Path(__file__).parents[2]

ALL = os.environ.get("NESTEGG_LOOPY_CORPUS") == "all"
"""Whether large kernels run too: loopy takes minutes to generate their code."""

MAX_BYTES = 1_000_000 if ALL else 9_000

FIXTURES = sorted(
    path
    for group in ("tsfc", "coffee", "devito")
    for path in (ROOT / "fixtures" / group).glob("*.json")
    if path.stat().st_size <= MAX_BYTES
)


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_corpus(path: Path, tmp_path: Path) -> None:
    text = path.read_text()
    t_unit = nestegg.load(text)
    dumped = nestegg.dump(t_unit)
    assert nestegg.dump(nestegg.load(dumped)) == dumped
    result = nestegg.optimize(t_unit, threads=1, validate=False)
    assert nestegg.count(text).total >= result.after.total
    sizes = {parameter["name"]: 6 for parameter in json.loads(dumped)["parameters"]}
    compare(t_unit, result.kernel, tmp_path, sizes, {})


SMALL = [path for path in FIXTURES if path.stat().st_size <= (MAX_BYTES if ALL else 4_500)]


@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.stem)
def test_corpus_for_time(path: Path, tmp_path: Path) -> None:
    """The defaults of the command line: tables are computed with, and the order of loops is chosen."""
    t_unit = nestegg.load(path.read_text())
    result = nestegg.optimize(t_unit, level="O3", cost="time", threads=1, validate=False)
    sizes = {parameter["name"]: 6 for parameter in json.loads(nestegg.dump(t_unit))["parameters"]}
    compare(t_unit, result.kernel, tmp_path, sizes, {})
    if '"reduce"' not in result.json:
        chosen, emitted = orders(result, result.kernel)
        assert emitted == chosen


RANDOM = sorted(Path(os.environ.get("NESTEGG_RANDOM_KERNELS", "none")).glob("*.json"))


def arguments(kernel: Any, sizes: dict[str, int], data: dict[str, Any]) -> dict[str, Any]:
    """Arguments by name; what is only written begins as anything."""
    found = {}
    for arg in kernel.args:
        dtype = arg.dtype.numpy_dtype
        if arg.name in sizes:
            found[arg.name] = np.array([sizes[arg.name]], dtype=dtype)
        elif arg.name in data:
            found[arg.name] = np.array(data[arg.name], dtype=dtype)
        else:
            n = int(np.prod([evaluate(extent, dict(sizes)) for extent in arg.shape], dtype=int))
            found[arg.name] = np.zeros(max(n, 1), dtype=dtype)
        if found[arg.name].size == 0:
            found[arg.name] = np.zeros(1, dtype=dtype)
    return found


REFUSED: dict[str, str] = {}
"""Random kernels that loopy itself cannot generate code for, and what it says."""


@pytest.mark.parametrize("path", RANDOM, ids=lambda path: path.stem)
def test_random(path: Path, tmp_path: Path) -> None:
    case = json.loads(path.read_text())
    try:
        t_unit = nestegg.load(case["kernel"])
        code = c_code(t_unit)
    except (LoopyError, nestegg.Unsupported) as error:
        REFUSED[path.stem] = str(error)
        return
    dumped = nestegg.dump(t_unit)
    assert nestegg.dump(nestegg.load(dumped)) == dumped
    assert nestegg.validate(case["kernel"], dumped)
    result = nestegg.optimize(t_unit, threads=1, validate=False, parameters=case["sizes"])
    assert result.after.total <= result.before.total
    # A result may compute a condition once, where it is no predicate any more.
    before, after = (operations(with_counted_conditions(unit), case["sizes"]) for unit in (t_unit, result.kernel))
    assert after <= before
    runs = []
    for word, unit, text in (("first", t_unit, code), ("second", result.kernel, c_code(result.kernel))):
        (tmp_path / word).mkdir()
        runs.append((entry(unit), *compiled(text, entry(unit).name, tmp_path / word)))
    for data in case["data"]:
        given = arguments(runs[0][0], case["sizes"], data)
        # What passes through a single float is as exact as that, also in a double one.
        assert_same(*(call(function, names, given) for _, function, names in runs), is_single="float32" in dumped)


def test_few_random_kernels_are_refused() -> None:
    """After those above; pytest runs tests in their order."""
    for name, reason in REFUSED.items():
        print(f"{name}: {reason.splitlines()[0][:200]}")
    assert len(REFUSED) <= len(RANDOM) / 10, REFUSED
