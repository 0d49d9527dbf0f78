"""Compiles what both languages write for the same forms, and runs it on the same random cells."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ffcx.codegeneration
import numpy as np
import ufl
from ffcx.analysis import analyze_ufl_objects
from ffcx.codegeneration.codegeneration import generate_code
from ffcx.formatting import format_code
from ffcx.ir.representation import compute_ir
from ffcx.options import get_options

FLAGS = ["-std=c17", "-O1", "-w", "-shared", "-fPIC"]

INCLUDE = ffcx.codegeneration.get_include_path()

TOLERANCE = {"float64": 1e-9, "complex128": 1e-9, "float32": 2e-4, "complex64": 2e-4}
"""Errors beside the largest element: different orders of the same sums."""

N_COEFFICIENTS = 4096
"""More than any of these forms reads."""

PERMUTATIONS = {"interval": 1, "triangle": 2, "quadrilateral": 2, "tetrahedron": 6, "hexahedron": 8}
"""How many ways a neighbour's facet may be turned."""


@dataclass(frozen=True)
class Function:
    """A function ``tabulate_tensor``, and what it takes."""

    name: str
    n_results: int
    cell: str
    points: Any
    n_entities: int

    def data(self, dtype: str, seed: int) -> list[Any]:
        """Arguments: a cell that is not degenerate, and its neighbour."""
        rng = np.random.default_rng(seed)
        real = np.dtype(dtype).type(0).real.dtype

        def numbers(n: int) -> Any:
            res = rng.uniform(0.1, 1.0, n).astype(dtype)
            return res + 1j * rng.uniform(0.1, 1.0, n).astype(real) if res.dtype.kind == "c" else res

        coordinates = np.zeros((2, len(self.points), 3))
        coordinates[:, :, : self.points.shape[1]] = self.points
        coordinates += rng.uniform(-0.08, 0.08, coordinates.shape)
        entities = rng.integers(0, self.n_entities, 2).astype(np.intc)
        turned = rng.integers(0, PERMUTATIONS[self.cell], 2).astype(np.uint8)
        return [
            numbers(self.n_results).astype(dtype),
            numbers(N_COEFFICIENTS).astype(dtype),
            numbers(N_COEFFICIENTS).astype(dtype),
            coordinates.reshape(-1).astype(real),
            entities,
            turned,
        ]


@dataclass(frozen=True)
class Problem:
    """Forms, ready for both languages."""

    ir: Any
    options: dict[str, Any]
    functions: list[Function]

    def code(self, language: str, **more: Any) -> str:
        """The C of a language."""
        blocks, _ = generate_code(self.ir, {**self.options, "language": language, **more})
        return str(format_code(blocks)[1])


def problem(objects: Sequence[Any], dtype: str, names: Mapping[int, str] | None = None, **more: Any) -> Problem:
    """Analyses forms and expressions."""
    options = get_options({"scalar_type": dtype, **more})
    analysis = analyze_ufl_objects(list(objects), dtype)
    ir = compute_ir(analysis, dict(names or {}), "test", options, False)
    domains = [domain for form in analysis.form_data for domain in form.original_form.ufl_domains()]
    domains += [ufl.domain.extract_unique_domain(found) for found, _, _ in analysis.expressions]
    by_hash = {found.ufl_coordinate_element().basix_hash(): found for found in domains}
    functions = []
    for integral in ir.integrals:
        domain = by_hash[integral.expression.coordinate_element_hash]
        cell = domain.ufl_cell()
        n_entities = {"facet": cell.num_facets, "vertex": cell.num_vertices, "ridge": cell.num_ridges}.get(
            integral.expression.entity_type, 1
        )
        size = int(np.prod(integral.expression.tensor_shape, dtype=int))
        for kind in {key[0] for key in integral.expression.integrand}:
            name = f"{integral.expression.name}_{kind.name}"
            functions.append(Function(name, size, *geometry(domain), n_entities() if callable(n_entities) else n_entities))
    for expression in ir.expressions:
        domain = by_hash[expression.expression.coordinate_element_hash]
        points = next(iter(expression.expression.integrand))[1].points
        sizes = [len(points), *expression.expression.shape, *expression.expression.tensor_shape]
        functions.append(Function(expression.expression.name, int(np.prod(sizes, dtype=int)), *geometry(domain), 1))
    return Problem(ir, options, functions)


def geometry(domain: Any) -> tuple[str, Any]:
    """The cell and the points of its coordinate element."""
    found = domain.ufl_coordinate_element()
    return domain.ufl_cell().cellname, found._sub_element._element.points


def compiled(code: str, folder: Path, name: str, flags: Sequence[str] = tuple(FLAGS)) -> ctypes.CDLL:
    """The functions of a source."""
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(code)
    command = ["cc", *flags, f"-I{INCLUDE}", "-o", str(library), str(source), "-lm"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return ctypes.CDLL(str(library))


def call(library: ctypes.CDLL, function: Function, data: list[Any]) -> Any:
    """The tensor after a call, on a copy."""
    result = data[0].copy()
    found = getattr(library, f"tabulate_tensor_{function.name}")
    found.restype = None
    found(*(ctypes.c_void_p(array.ctypes.data) for array in (result, *data[1:])), None)
    return result


def compare(given: Problem, folder: Path, seeds: int = 6, must_be_finite: bool = True, **more: Any) -> str:
    """Fails if the two languages differ; gives the C of nestegg."""
    code = given.code("nestegg.ffcx", **more)
    own = compiled(given.code("C"), folder, "own")
    ours = compiled(code, folder, "ours")
    dtype = np.dtype(given.options["scalar_type"]).name
    assert given.functions
    for function in given.functions:
        for seed in range(seeds):
            data = function.data(dtype, seed)
            expected, found = call(own, function, data), call(ours, function, data)
            # A demo of FFCx takes functions out of their domains.
            is_number = np.isfinite(expected)
            assert np.array_equal(is_number, np.isfinite(found)), function.name
            assert is_number.all() or not must_be_finite, function.name
            scale = max(float(np.max(np.abs(expected - data[0]), where=is_number, initial=0.0)), 1.0)
            error = float(np.max(np.abs(found - expected), where=is_number, initial=0.0))
            assert error <= TOLERANCE[dtype] * scale, f"{function.name}: {error} beside {scale}"
    return code
