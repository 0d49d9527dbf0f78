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
    n_sides: int
    n_coefficients: int

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
        return self.texts(language, **more)[1]

    def texts(self, language: str, **more: Any) -> tuple[str, str]:
        """The header and the C of a language."""
        blocks, _ = generate_code(self.ir, {**self.options, "language": language, **more})
        header, source = format_code(blocks)
        return str(header), str(source)


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
            n_sides = 2 if integral.expression.integral_type == "interior_facet" else 1
            n_coefficients = n_sides * sum(coefficient.ufl_element().dim for coefficient in integral.expression.coefficient_offsets)
            if callable(n_entities):
                n_entities = n_entities()
            functions.append(Function(name, size, *geometry(domain), n_entities, n_sides, n_coefficients))
    for expression in ir.expressions:
        domain = by_hash[expression.expression.coordinate_element_hash]
        points = next(iter(expression.expression.integrand))[1].points
        sizes = [len(points), *expression.expression.shape, *expression.expression.tensor_shape]
        n_coefficients = sum(coefficient.ufl_element().dim for coefficient in expression.expression.coefficient_offsets)
        size = int(np.prod(sizes, dtype=int))
        functions.append(Function(expression.expression.name, size, *geometry(domain), 1, 1, n_coefficients))
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


def packed(function: Function, cells: list[list[Any]]) -> list[Any]:
    """The arguments of many cells one after another, as DOLFINx packs them; the constants are those of the first."""
    n_sides = function.n_sides
    sizes = [function.n_results, function.n_coefficients, None, n_sides * 3 * len(function.points), n_sides, n_sides]
    together = [np.concatenate([cell[idx][:size] for cell in cells]) for idx, size in enumerate(sizes)]
    together[2] = cells[0][2]
    return together


def call_batch(library: ctypes.CDLL, function: Function, cells: list[list[Any]]) -> Any:
    """The tensors after a call of the entry for many cells."""
    arguments = packed(function, cells)
    found = getattr(library, f"tabulate_tensor_{function.name}_batch")
    found.restype = ctypes.c_int
    assert found(ctypes.c_int64(len(cells)), *(ctypes.c_void_p(array.ctypes.data) for array in arguments), None) == 0
    return arguments[0].reshape(len(cells), -1)


def compare_batch(given: Problem, code: str, folder: Path) -> None:
    """Fails if the entry for many cells differs from calls for each."""
    library = compiled(code, folder, "batch")
    dtype = np.dtype(given.options["scalar_type"]).name
    for function in given.functions:
        for n_cells in (1, 3, 4, 9, 10, 67):
            cells = [function.data(dtype, seed) for seed in range(n_cells)]
            for cell in cells:
                cell[2] = cells[0][2]
            expected = np.array([call(library, function, cell) for cell in cells])
            found = call_batch(library, function, cells)
            scale = max(float(np.max(np.abs(expected - np.array([cell[0] for cell in cells])))), 1.0)
            error = float(np.max(np.abs(found - expected)))
            assert error <= TOLERANCE[dtype] * scale, f"{function.name}, {n_cells} cells: {error} beside {scale}"


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
