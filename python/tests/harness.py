"""Runs the C that loopy generates for two kernels on the same data, and compares."""

from __future__ import annotations

import ctypes
import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import islpy as isl
import loopy as lp
import numpy as np
from loopy.statistics import GuardedPwQPolynomial
from pymbolic import evaluate
from pymbolic import primitives as p

PREAMBLE = "".join(f"#include <{name}.h>\n" for name in ("math", "complex", "limits", "stdint", "stdbool"))
"""What loopy's C target uses and does not include."""

TOLERANCE = {"float64": 1e-9, "float32": 1e-4, "complex128": 1e-9, "complex64": 1e-4}
"""Errors beside the largest element: different orders of the same sums."""


def entry(t_unit: lp.TranslationUnit) -> Any:
    (name,) = t_unit.entrypoints
    return t_unit[name]


def c_code(t_unit: lp.TranslationUnit) -> str:
    return PREAMBLE + lp.generate_code_v2(t_unit).device_code()


def compiled(code: str, name: str, folder: Path) -> tuple[Any, list[str]]:
    """A function of the addresses of the arguments, and their names in their order. ctypes passes no complex numbers."""
    heads = re.findall(rf"\b{name}\(([^)]*)\)\s*{{", code)
    words = [word.strip() for word in heads[-1].split(",") if word.strip() not in ("", "void")]
    names = [re.findall(r"\w+", word)[-1] for word in words]
    passed = [
        f"a[{at}]" if "*" in word else f"*({word.removesuffix(names[at])} *) a[{at}]" for at, word in enumerate(words)
    ]
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(f"{code}\nvoid by_address(void **a) {{ {name}({', '.join(passed)}); }}\n")
    command = ["cc", "-O1", "-w", "-shared", "-fPIC", "-o", str(library), str(source), "-lm"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    function = ctypes.CDLL(str(library)).by_address
    function.restype = None
    return function, names


OPEN_EXTENT = 40
"""What an axis without an extent holds."""


def extent(array: Any, sizes: Mapping[str, int]) -> int:
    """How many elements the memory of an argument has."""
    shape = [
        OPEN_EXTENT if size is None else int(evaluate(size, dict(sizes)))
        for size in ([None] if array.shape is None else array.shape)
    ]
    strides = [int(evaluate(tag.stride, dict(sizes))) for tag in array.dim_tags or ()]
    return 1 + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))


def random_data(kernel: Any, sizes: Mapping[str, int], ranges: Mapping[str, int], seed: int) -> dict[str, Any]:
    """Arguments by name."""
    rng = np.random.default_rng(seed)
    data: dict[str, Any] = {}
    for arg in kernel.args:
        dtype = arg.dtype.numpy_dtype
        n = extent(arg, sizes) if isinstance(arg, lp.ArrayArg) else 1
        if arg.name in sizes:
            numbers = np.array([sizes[arg.name]])
        elif dtype.kind == "f":
            numbers = rng.uniform(0.1, 1.0, n)
        elif dtype.kind == "c":
            numbers = rng.uniform(0.1, 1.0, n) + 1j * rng.uniform(-1.0, 1.0, n)
        else:
            numbers = rng.integers(0, ranges.get(arg.name, 4), n)
        data[arg.name] = numbers.astype(dtype)
    return data


def call(function: Any, names: list[str], data: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments after a call: those of arrays are changed in place, of a copy."""
    held = {name: array.copy() for name, array in data.items()}
    function((ctypes.c_void_p * len(names))(*(held[name].ctypes.data for name in names)))
    return held


def assert_same(first: Mapping[str, Any], second: Mapping[str, Any], *, is_single: bool = False) -> None:
    """Fails if arguments differ by more than rounding; ``is_single`` if single floats take part in all of them."""
    for name, expected in first.items():
        found = second[name]
        if expected.dtype.kind not in "fc":
            np.testing.assert_array_equal(found, expected, err_msg=name)
            continue
        tolerance = TOLERANCE["float32" if is_single else expected.dtype.name]
        scale = float(np.max(np.abs(expected), initial=0.0)) or 1.0
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * scale, err_msg=name)


def compare(
    first: lp.TranslationUnit,
    second: lp.TranslationUnit,
    folder: Path,
    sizes: Mapping[str, int],
    ranges: Mapping[str, int],
) -> None:
    """Fails if the two differ on random data.

    Both are called by the names of their arguments: loopy leaves out those that are unused.
    """
    runs = []
    first = lp.infer_unknown_types(first, expect_completion=True)
    for word, t_unit in (("first", first), ("second", second)):
        kernel = entry(t_unit)
        (folder / word).mkdir(exist_ok=True)
        runs.append((kernel, *compiled(c_code(t_unit), kernel.name, folder / word)))
    for seed in (1, 2):
        data = random_data(runs[0][0], sizes, ranges, seed)
        results = [call(function, names, data) for _, function, names in runs]
        assert_same(*results)


def of_reals(t_unit: lp.TranslationUnit) -> bool:
    """Whether a kernel has no complex numbers."""
    return "complex" not in str(entry(lp.infer_unknown_types(t_unit, expect_completion=True)))


def orders(result: Any, t_unit: lp.TranslationUnit) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The loops and instructions that nestegg chose, and those that loopy emits, in their order; loops without their names.

    Where the two parts of complex numbers are stored as one, these are not the same.
    """
    chosen = json.loads(result.json)["linearization"]
    scheduled = entry(lp.linearize(lp.preprocess_program(t_unit))).linearization
    words = {"EnterLoop": "for", "LeaveLoop": "end", "RunInstruction": "run"}
    of_nestegg = [(word, rest[0] if word == "run" else "") for word, *rest in chosen if word in words.values()]
    # The loader adds instructions of its own, such as saved conditions.
    ids = {name for word, name in of_nestegg if word == "run"}
    of_loopy = [(words[type(item).__name__], getattr(item, "insn_id", "")) for item in scheduled if type(item).__name__ in words]
    return of_nestegg, [(word, name) for word, name in of_loopy if word != "run" or name in ids]


class Sizes(dict[str, int]):
    """Sizes, and as many rounds for a loop whose bounds depend on data: it starts at 0 and ends at 7."""

    def __missing__(self, name: str) -> int:
        return 0 if any(word in name for word in ("start", "lo", "least")) else 7


def with_counted_conditions(t_unit: lp.TranslationUnit) -> lp.TranslationUnit:
    """A kernel whose operations loopy counts with those of conditions, which it leaves out where they are predicates."""
    kernel = entry(t_unit)
    instructions = [
        insn.copy(expression=p.If(p.LogicalAnd(tuple(sorted(insn.predicates, key=str))), insn.expression, 0), predicates=frozenset())
        if isinstance(insn, lp.Assignment) and insn.predicates
        else insn
        for insn in kernel.instructions
    ]
    return t_unit.with_kernel(kernel.copy(instructions=instructions))


def operations(t_unit: lp.TranslationUnit, sizes: Mapping[str, int]) -> int:
    """loopy's own count of operations on floats, at these sizes.

    Without Barvinok, loopy takes domains for boxes. Here isl counts their points, so that the count is what it is with Barvinok.
    """
    known = Sizes(sizes)

    def guarded(_: Any, number: Any) -> Any:
        return GuardedPwQPolynomial(number, isl.BasicSet.universe(number.space.params()))

    def n_points(kernel: Any, points: Any, space: Any) -> Any:
        points = points.to_set().align_params(space)
        parameters = points.params().get_space()
        for at in range(points.dim(isl.dim_type.param)):
            points = points.fix_val(isl.dim_type.param, at, known[points.get_dim_name(isl.dim_type.param, at)])
        n = points.project_out(isl.dim_type.param, 0, points.dim(isl.dim_type.param)).count_val()
        return guarded(kernel, isl.PwQPolynomial.from_qpolynomial(isl.QPolynomial.val_on_domain(parameters, n)))

    with mock.patch.multiple("loopy.statistics", count=n_points, add_assumptions_guard=guarded):
        found = lp.get_op_map(t_unit, subgroup_size=1, count_redundant_work=True)
    total = 0
    for op, count in found.items():
        if op.dtype is not None and op.dtype.numpy_dtype.kind == "f":
            total += int(count.eval_with_dict(known))
    return total
