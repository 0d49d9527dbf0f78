"""What nestegg writes for FFCx computes what FFCx's own C computes."""

from __future__ import annotations

import ctypes
import json
import logging
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import ffcx_forms
import ffcx_harness as harness
import numpy as np
import pytest
import ufl

from nestegg.errors import Error
from nestegg.ffcx._settings import settings

DEMOS = sorted(Path(os.environ.get("NESTEGG_FFCX_DEMOS", "nowhere")).glob("*.py"))
"""FFCx's own demos: its source distribution has them, its wheel has not."""

NOT_COMPLEX = {"BiharmonicHHJ", "BiharmonicRegge", "StabilisedStokes"}
"""FFCx does not take these with complex scalars either."""

OUT_OF_DOMAIN = {("MathFunctions", "float64"), ("HyperElasticity", "complex128")}
"""These take the inverse sine of two, and exponentials of large complex numbers: some numbers are not finite, of both languages."""

IS_OWN = "FFCx's own code"

LEFT = {"advection_complex"}
"""Problems of which FFCx writes a part: the root of a complex number."""

DEEP = [
    "poisson_triangle_2", "poisson_tetrahedron_1", "poisson_quadrilateral_2", "poisson_hexahedron_1", "elasticity_triangle_2",
    "hyperelasticity_triangle_1", "interior_penalty_triangle_1", "helmholtz_complex", "poisson_triangle_2_single", "upwind",
    "permuted_facets", "by_quadrature_element", "gradient_expression",
]  # fmt: skip
"""Problems that are tried as users get them by default."""

TOGETHER = [
    ("poisson_triangle_2", "4"), ("poisson_hexahedron_1", "8"), ("poisson_triangle_2_single", "auto"),
    ("elasticity_triangle_1_single", "16"), ("elasticity_tetrahedron_1", "1"), ("hyperelasticity_triangle_1", "4"),
    ("helmholtz_complex", "4"), ("helmholtz_complex_single", "auto"), ("advection_complex", "4"),
    ("interior_penalty_triangle_1", "auto"), ("interior_penalty_triangle_1_complex", "2"), ("upwind", "4"),
    ("permuted_facets", "4"), ("curved", "4"), ("manifold", "2"), ("points", "4"), ("several_rules", "4"),
    ("by_quadrature_element", "8"), ("gradient_expression", "4"), ("gradient_expression_complex", "2"),
    ("inverse_expression", "8"),
]  # fmt: skip
"""Problems whose cells are put together, and widths."""


@pytest.mark.parametrize("name", ffcx_forms.PROBLEMS)
def test_forms(name: str, tmp_path: Path) -> None:
    dtype, make = ffcx_forms.PROBLEMS[name]
    code = harness.compare(harness.problem(make(), dtype), tmp_path, nestegg_level="O1", nestegg_cost="operations")
    assert "written by nestegg" in code
    assert (IS_OWN in code) == (name in LEFT)


@pytest.mark.parametrize("name", DEEP)
def test_forms_by_default(name: str, tmp_path: Path) -> None:
    dtype, make = ffcx_forms.PROBLEMS[name]
    assert IS_OWN not in harness.compare(harness.problem(make(), dtype), tmp_path)


@pytest.mark.parametrize(("name", "width"), TOGETHER)
def test_cells_together(name: str, width: str, tmp_path: Path) -> None:
    """The entry for many cells does for each what `tabulate_tensor` does, and the header declares it."""
    dtype, make = ffcx_forms.PROBLEMS[name]
    given = harness.problem(make(), dtype)
    header, code = given.texts("nestegg.ffcx", nestegg_batch=width, nestegg_level="O1")
    heads = re.findall(r"^int tabulate_tensor_\w+_batch\([^)]*\);", header, flags=re.MULTILINE)
    assert [re.findall(r"\w+(?=_batch)", head)[0] for head in heads] == [f"tabulate_tensor_{f.name}" for f in given.functions]
    assert code.count("// Cell by cell") == code.count(IS_OWN)
    assert (IS_OWN in code) == (name in LEFT)
    harness.compare_batch(given, code, tmp_path)


@pytest.mark.parametrize("name", ["poisson_tetrahedron_2", "interior_penalty_triangle_1"])
def test_cells_together_by_default(name: str, tmp_path: Path) -> None:
    dtype, make = ffcx_forms.PROBLEMS[name]
    given = harness.problem(make(), dtype)
    harness.compare_batch(given, given.code("nestegg.ffcx", nestegg_batch="4"), tmp_path)


def test_one_cell_is_as_without_batch() -> None:
    """The functions of UFCx stay byte for byte, and so does the header but for its declarations."""
    dtype, make = ffcx_forms.PROBLEMS["helmholtz_complex"]
    given = harness.problem(make(), dtype)
    alone = given.texts("nestegg.ffcx", nestegg_level="O1")
    together = given.texts("nestegg.ffcx", nestegg_level="O1", nestegg_batch="4")
    assert "batch" not in alone[0] + alone[1]
    for first, second in zip(alone, together, strict=True):
        lines = iter(second.splitlines())
        assert all(line in lines for line in first.splitlines())


def test_no_memory(tmp_path: Path) -> None:
    """Where memory is short, the entry says so, and no number is right."""
    dtype, make = ffcx_forms.PROBLEMS["mass_hexahedron_2"]
    given = harness.problem(make(), dtype)
    code = given.code("nestegg.ffcx", nestegg_level="O1", nestegg_batch="16")
    harness.compare_batch(given, code, tmp_path)
    assert " malloc(" in code
    without = "#define NO_MEMORY(size) NULL\n" + code.replace(" malloc(", " NO_MEMORY(")
    (function,) = given.functions
    entry = getattr(harness.compiled(without, tmp_path, "without"), f"tabulate_tensor_{function.name}_batch")
    arguments = harness.packed(function, [function.data(dtype, seed) for seed in range(3)])
    assert entry(ctypes.c_int64(3), *(ctypes.c_void_p(array.ctypes.data) for array in arguments), None) == 1
    assert np.isnan(arguments[0]).all()


def test_no_pointers(tmp_path: Path) -> None:
    """Arguments that nothing reads may be null, and no cells are no work."""
    for name in ("mass_interval_3", "advection_complex"):
        dtype, make = ffcx_forms.PROBLEMS[name]
        given = harness.problem(make(), dtype)
        code = given.code("nestegg.ffcx", nestegg_level="O1", nestegg_batch="2")
        library = harness.compiled(code, tmp_path, name)
        for function in given.functions:
            entry = getattr(library, f"tabulate_tensor_{function.name}_batch")
            assert entry(ctypes.c_int64(0), *[None] * 7) == 0
            cells = [function.data(dtype, seed) for seed in range(3)]
            expected = harness.call_batch(library, function, cells)
            data = harness.packed(function, cells)
            # Integrals over cells read neither entities nor permutations, and a mass matrix reads no coefficients.
            read = [0, 3] if name == "mass_interval_3" else range(4)
            pointers = [ctypes.c_void_p(data[idx].ctypes.data) if idx in read else None for idx in range(7)]
            assert entry(ctypes.c_int64(3), *pointers) == 0
            assert np.array_equal(data[0].reshape(3, -1), expected)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("path", [path for path in DEMOS if path.stem != "test_demos"], ids=lambda path: path.stem)
def test_demos(path: Path, dtype: str, tmp_path: Path) -> None:
    if dtype.startswith("complex") and path.stem in NOT_COMPLEX:
        pytest.skip("FFCx does not take it with complex scalars")
    if "Complex" in path.stem and not dtype.startswith("complex"):
        pytest.skip("FFCx takes it with complex scalars only")
    found = ufl.algorithms.load_ufl_file(str(path))
    objects = found.forms + found.expressions + found.elements
    given = harness.problem(objects, dtype, found.object_names)
    is_finite = (path.stem, dtype) not in OUT_OF_DOMAIN
    # Without validation: one of them takes minutes, and this test compares too.
    harness.compare(
        given, tmp_path, must_be_finite=is_finite, nestegg_level="O1", nestegg_cost="operations", nestegg_validate=False
    )


def test_demos_are_there() -> None:
    assert len(DEMOS) >= 28


FORM = """
import basix.ufl
from ufl import *

mesh = Mesh(basix.ufl.element("Lagrange", "triangle", 1, shape=(2,)))
V = FunctionSpace(mesh, basix.ufl.element("Lagrange", "triangle", 2))
u, v, f = TrialFunction(V), TestFunction(V), Coefficient(V)
a = inner(grad(u), grad(v)) * dx + inner(avg(u), avg(v)) * dS
L = inner(bessel_J(1, f), v) * dx
"""


STRICT = ["-std=c17", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", f"-I{harness.INCLUDE}"]


def run(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "form.py").write_text(FORM)
    command = [sys.executable, "-m", "ffcx", *words, "form.py"]
    return subprocess.run(command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True)


def declared(text: str) -> list[str]:
    return re.findall(r"^(?:extern )?ufcx_\w+\*? \w+|^void tabulate_tensor_\w+\([^)]*\)", text, flags=re.MULTILINE)


def test_command_line(tmp_path: Path) -> None:
    """The header is FFCx's, and so are all names, types and signatures of the source."""
    (tmp_path / "own").mkdir()
    (tmp_path / "ours").mkdir()
    own = run(tmp_path / "own")
    ours = run(tmp_path / "ours", "--language", "nestegg.ffcx", NESTEGG_LEVEL="O1")
    assert own.returncode == ours.returncode == 0, ours.stderr

    def texts(kind: str) -> list[str]:
        return [(tmp_path / which / f"form.{kind}").read_text() for which in ("own", "ours")]

    first, second = ([line for line in text.splitlines() if "language" not in line] for text in texts("h"))
    assert first == second
    first, second = (declared(text) for text in texts("c"))
    assert first == second and len(first) > 6
    assert "leaves `integral_" in ours.stderr and "`bessel_j`" in ours.stderr
    assert texts("c")[1].count(IS_OWN) == 1
    # The Bessel functions of FFCx's own code are none of this standard.
    subprocess.run(["cc", *STRICT, "-D_GNU_SOURCE", "-c", "form.c"], cwd=tmp_path / "ours", check=True)


def test_command_line_with_batch(tmp_path: Path) -> None:
    """Compilers find nothing to warn of, and C++ reads the header."""
    done = run(tmp_path, "--language", "nestegg.ffcx", NESTEGG_LEVEL="O1", NESTEGG_BATCH="4")
    assert done.returncode == 0, done.stderr
    (tmp_path / "with_header.c").write_text('#include "form.h"\n#include "form.c"\n')
    subprocess.run(["cc", *STRICT, "-D_GNU_SOURCE", "-c", "with_header.c"], cwd=tmp_path, check=True)
    (tmp_path / "header.cpp").write_text('#include "form.h"\n')
    subprocess.run(["c++", f"-I{harness.INCLUDE}", "-c", "header.cpp"], cwd=tmp_path, check=True)
    wrong = run(tmp_path, "--language", "nestegg.ffcx", NESTEGG_BATCH="3")
    assert wrong.returncode != 0 and "`nestegg_batch` cannot be `3`" in wrong.stderr


def test_options_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "ffcx_options.json").write_text(json.dumps({"nestegg_level": "O7"}))
    done = run(tmp_path, "--language", "nestegg.ffcx", NESTEGG_LEVEL="O1")
    assert done.returncode != 0 and "O7" in done.stderr


def test_options() -> None:
    assert settings({})["level"] == "O3"
    assert settings({"nestegg_rules": "a.rules:b.rules", "nestegg_validate": "no"})["rules"] == ["a.rules", "b.rules"]
    with pytest.raises(Error, match="nestegg_levle"):
        settings({"nestegg_levle": "O1"})
    with pytest.raises(Error, match="`nestegg_batch` cannot be `3`; a width is 1, 2, 4, 8, 16 or `auto`"):
        settings({"nestegg_batch": "3"})
    with pytest.raises(Error, match="nestegg_threads"):
        settings({"nestegg_threads": "many"})


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NESTEGG_BATCH", "auto")
    assert settings({})["batch"] == "auto"
    assert settings({"nestegg_batch": 8})["batch"] == 8
    monkeypatch.setenv("NESTEGG_LEVEL", "O2")
    assert settings({})["level"] == "O2"
    assert settings({"nestegg_level": "O0"})["level"] == "O0"


def test_wrong_level_is_no_warning() -> None:
    dtype, make = ffcx_forms.PROBLEMS["mass_interval_3"]
    with pytest.raises(Error, match="O9"):
        harness.problem(make(), dtype).code("nestegg.ffcx", nestegg_level="O9")


def test_same_text_twice() -> None:
    dtype, make = ffcx_forms.PROBLEMS["helmholtz_complex"]
    given = harness.problem(make(), dtype)
    assert given.code("nestegg.ffcx", nestegg_level="O1") == given.code("nestegg.ffcx", nestegg_level="O1")


def test_warning(caplog: pytest.LogCaptureFixture) -> None:
    dtype, make = ffcx_forms.PROBLEMS["advection_complex"]
    with caplog.at_level(logging.WARNING, logger="ffcx"):
        harness.problem(make(), dtype).code("nestegg.ffcx", nestegg_level="O1")
    assert any("`sqrt` of a complex number" in record.getMessage() for record in caplog.records)


def page_blocks() -> list[tuple[str, str]]:
    text = (Path(__file__).parents[2] / "docs/ffcx.md").read_text()
    found: list[Any] = re.findall(r"^```(console|python)\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    return found


def test_page(tmp_path: Path) -> None:
    """The commands of the page run as they stand, those of the shell after its form is written, and so does its Python."""
    blocks = page_blocks()
    texts = [text for kind, text in blocks if kind == "python"]
    (tmp_path / "form.py").write_text(texts[0])
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def run_script(command: str) -> None:
        environment = {**os.environ, "PATH": path}
        done = subprocess.run(command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}: {done.stderr}"

    n_ran = 0
    for kind, text in blocks:
        commands = [line[2:] for line in text.splitlines() if line[:2] == "$ "] if kind == "console" else []
        commands = [command for command in commands if "pip install" not in command and "python/bench" not in command]
        if commands:
            # The commands of a block share their variables.
            run_script("set -e\n" + "\n".join(commands))
            n_ran += len(commands)
    assert n_ran >= 6
    assert len(texts) == 2
    (tmp_path / "cells.py").write_text(texts[1])
    run_script("python cells.py")
