"""Times what nestegg writes for FFCx beside FFCx's own C, with and without its sum factorization.

``python python/bench/ffcx.py --level O2 [WORD ...]`` prints a table of the problems whose names have one of these words. Operations are
counted as docs/counting.md says, FFCx's by the kernel that its tree is. The least time of several rounds counts, of calls that go through
some cells in turn; all C is compiled with the same flags.

``python python/bench/ffcx.py --batch 4 [WORD ...]`` times one cell of the entry for many cells instead, beside FFCx's function and ours
called cell by cell; each cell has arguments of its own.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

HERE = Path(__file__).resolve().parent
# This file has the name of the package that it measures.
sys.path[:] = [path for path in sys.path if Path(path).resolve() != HERE]
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "tests")]

import ffcx_forms
import ffcx_harness as harness
from ffcx.codegeneration.backend import FFCXBackend
from ffcx.codegeneration.expression_generator import ExpressionGenerator
from ffcx.codegeneration.integral_generator import IntegralGenerator

from nestegg import _core
from nestegg.errors import Unsupported
from nestegg.ffcx import _body
from nestegg.ffcx._kernel import read_kernel

FLAGS = ["-std=gnu17", "-O3", "-march=native", "-ffast-math", "-w", "-shared", "-fPIC"]

N_CELLS = 16

N_TOGETHER = 64
"""So many cells are given to the entry for many at once."""

TIMER = """
#include <stddef.h>
#include <stdint.h>
#include <time.h>

typedef void kernel(void *, const void *, const void *, const void *, const int *, const uint8_t *, void *);

double nestegg_seconds(kernel *f, char *A, size_t a, const void *w, const void *c, const char *x, size_t s, const int *e,
                       const uint8_t *p, long n)
{
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (long i = 0; i < n; ++i)
        f(A + a * (size_t)(i % CELLS), w, c, x + s * (size_t)(i % CELLS), e, p, NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
}
""".replace("CELLS", str(N_CELLS))

TIMER_TOGETHER = """
#include <stddef.h>
#include <stdint.h>
#include <time.h>

typedef void kernel(void *, const void *, const void *, const void *, const int *, const uint8_t *, void *);
typedef int entry(int64_t, void *, const void *, const void *, const void *, const int *, const uint8_t *, void *);

/* Calls of g for all cells at once, or of f for each where there is no g. Other work on the machine is not counted. */
double nestegg_seconds(kernel *f, entry *g, char *A, size_t a, const char *w, size_t u, const void *c, const char *x, size_t s,
                       const int *e, const uint8_t *p, size_t k, long n)
{
    struct timespec begin, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    for (long round = 0; round < n; ++round)
        if (g)
            g(CELLS, A, w, c, x, e, p, NULL);
        else
            for (size_t i = 0; i < CELLS; ++i)
                f(A + a * i, w + u * i, c, x + s * i, e + k * i, p + k * i, NULL);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    return (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
}
""".replace("CELLS", str(N_TOGETHER))


def operations(given: harness.Problem, options: dict[str, Any]) -> list[int]:
    """Operations of each function as FFCx writes it."""
    dtype = options["scalar_type"]
    found = []
    for ir in given.ir.integrals:
        for domain in {key[0] for key in ir.expression.integrand}:
            found.append(IntegralGenerator(ir, FFCXBackend(ir, options)).generate(domain))
    for ir in given.ir.expressions:
        found.append(ExpressionGenerator(ir, FFCXBackend(ir, options)).generate())
    return [json.loads(_core.count(read_kernel(tree, "own", dtype).json, "own", [])[1])["total"] for tree in found]


def written(given: harness.Problem, chosen: dict[str, Any]) -> tuple[str, list[int]]:
    """The C of nestegg, and the operations of each function."""
    found: list[int] = []

    class Noted:
        @staticmethod
        def optimize(*arguments: Any, **named: Any) -> Any:
            done = _core.optimize(*arguments, **named)
            found.append(json.loads(_core.count(done.json, "ours", [])[1])["total"])
            return done

    with mock.patch.object(_body, "_core", Noted):
        return given.code("nestegg.ffcx", **chosen), found


def timed(library: ctypes.CDLL, timer: ctypes.CDLL, function: harness.Function, dtype: str, seconds: float) -> float:
    """Seconds of one call, in one round."""
    cells = [function.data(dtype, seed) for seed in range(N_CELLS)]
    tensors = np.zeros((N_CELLS, cells[0][0].size), dtype=dtype)
    coordinates = np.array([cell[3] for cell in cells])
    _, w, c, _, entities, turned = cells[0]
    measure = timer.nestegg_seconds
    measure.restype = ctypes.c_double
    kernel = getattr(library, f"tabulate_tensor_{function.name}")
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (tensors, w, c, coordinates, entities, turned)]
    size, step = (ctypes.c_size_t(array.strides[0]) for array in (tensors, coordinates))
    n = 16
    while True:
        took = measure(kernel, pointers[0], size, *pointers[1:3], pointers[3], step, *pointers[4:], ctypes.c_long(n))
        if took >= seconds:
            return float(took) / n
        n = max(2 * n, int(1.2 * n * seconds / max(took, 1e-9)))


def timed_together(
    library: ctypes.CDLL, timer: ctypes.CDLL, function: harness.Function, dtype: str, seconds: float, by_entry: bool
) -> float:
    """Seconds of one cell of many, in one round."""
    A, w, c, x, entities, turned = harness.packed(function, [function.data(dtype, seed) for seed in range(N_TOGETHER)])
    A[:] = 0
    measure = timer.nestegg_seconds
    measure.restype = ctypes.c_double
    name = f"tabulate_tensor_{function.name}"
    kernel, entry = (None, getattr(library, f"{name}_batch")) if by_entry else (getattr(library, name), None)
    arguments: list[Any] = [kernel, entry]
    for array, has_step in ((A, True), (w, True), (c, False), (x, True), (entities, False), (turned, False)):
        arguments.append(ctypes.c_void_p(array.ctypes.data))
        if has_step:
            arguments.append(ctypes.c_size_t(array.nbytes // N_TOGETHER))
    arguments.append(ctypes.c_size_t(function.n_sides))
    n = 1
    while True:
        took = measure(*arguments, ctypes.c_long(n))
        if took >= seconds:
            return float(took) / n / N_TOGETHER
        n = max(2 * n, int(1.2 * n * seconds / max(took, 1e-9)))


def problems(words: Sequence[str]) -> list[tuple[str, Any]]:
    """The problems whose names have one of the words; all if there are none."""
    return [item for item in ffcx_forms.PROBLEMS.items() if not words or any(word in item[0] for word in words)]


def together(told: argparse.Namespace, chosen: dict[str, Any]) -> None:
    """The table of cells together."""
    print("| function | FFCx | nestegg, one cell | nestegg, cells together | together / FFCx | together / one |")
    print("| --- | --- | --- | --- | --- | --- |")
    ratios: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        timer = harness.compiled(TIMER_TOGETHER, folder, "timer", FLAGS)
        for title, (dtype, make) in problems(told.words):
            given = harness.problem(make(), dtype)
            own = harness.compiled(given.code("C"), folder, f"{title}_own", FLAGS)
            ours = harness.compiled(given.code("nestegg.ffcx", **chosen), folder, f"{title}_ours", FLAGS)
            for idx, function in enumerate(given.functions):
                least = [float("inf")] * 3
                for _ in range(told.rounds):
                    for kind, (library, by_entry) in enumerate(((own, False), (ours, False), (ours, True))):
                        found = timed_together(library, timer, function, dtype, told.milliseconds / 1e3, by_entry)
                        least[kind] = min(least[kind], found)
                ratios.append((least[2] / least[0], least[2] / least[1]))
                label = title if len(given.functions) == 1 else f"{title} {idx}"
                row = [label, *(f"{1e9 * value:.1f}" for value in least), *(f"{ratio:.3f}" for ratio in ratios[-1])]
                print(f"| {' | '.join(row)} |", flush=True)
    print()
    for kind, column in zip(("FFCx", "one cell"), zip(*ratios, strict=True), strict=True):
        print(f"beside {kind}: geometric mean {mean(list(column)):.3f}, greatest {max(column):.3f}, of {len(column)}")


def mean(ratios: list[float]) -> float:
    return float(np.exp(np.mean(np.log(ratios)))) if ratios else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description="Times nestegg beside FFCx.")
    parser.add_argument("words", nargs="*")
    parser.add_argument("--level", default=None)
    parser.add_argument("--cost", default=None)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--milliseconds", type=float, default=5.0)
    parser.add_argument("--batch", default=None, metavar="W", help="time cells together instead, W in the lanes of vectors")
    told = parser.parse_args()
    given = (("level", told.level), ("cost", told.cost), ("batch", told.batch))
    chosen = {f"nestegg_{name}": value for name, value in given if value}
    if told.batch:
        together(told, chosen)
        return
    print("| function | operations: FFCx | factorized | nestegg | ns: FFCx | factorized | nestegg | ratio | seconds |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    ratios: dict[str, list[float]] = {"own": [], "best": [], "operations": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        timer = harness.compiled(TIMER, folder, "timer", FLAGS)
        for title, (dtype, make) in problems(told.words):
            own = harness.problem(make(), dtype)
            try:
                counts = {"own": operations(own, own.options)}
            except Unsupported as refused:
                print(f"{title} is left to FFCx: {refused}", file=sys.stderr)
                continue
            begin = time.perf_counter()
            ours, counted = written(own, chosen)
            took = time.perf_counter() - begin
            libraries = {
                "own": harness.compiled(own.code("C"), folder, f"{title}_own", FLAGS),
                "ours": harness.compiled(ours, folder, f"{title}_ours", FLAGS),
            }
            functions = {"own": own.functions, "ours": own.functions}
            counts["ours"] = counted
            # FFCx factorizes sums over elements of tensor products only.
            if title.endswith("_tensor"):
                factorized = harness.problem(make(), dtype, sum_factorization=True)
                libraries["factorized"] = harness.compiled(factorized.code("C"), folder, f"{title}_sum", FLAGS)
                functions["factorized"] = factorized.functions
                counts["factorized"] = operations(factorized, factorized.options)
            for idx, function in enumerate(own.functions):
                least = dict.fromkeys(libraries, float("inf"))
                for _ in range(told.rounds):
                    for kind, library in libraries.items():
                        found = timed(library, timer, functions[kind][idx], dtype, told.milliseconds / 1e3)
                        least[kind] = min(least[kind], found)
                best = min(value for kind, value in least.items() if kind != "ours")
                ratios["own"].append(least["ours"] / least["own"])
                ratios["best"].append(least["ours"] / best)
                ratios["operations"].append(max(counts["ours"][idx], 1) / max(counts["own"][idx], 1))
                numbers = [counts[kind][idx] if kind in counts else "" for kind in ("own", "factorized", "ours")]
                times = [f"{1e9 * least[kind]:.1f}" if kind in least else "" for kind in ("own", "factorized", "ours")]
                label = title if len(own.functions) == 1 else f"{title} {idx}"
                row = [label, *numbers, *times, f"{ratios['own'][-1]:.3f}", f"{took:.1f}" if idx == 0 else ""]
                print(f"| {' | '.join(map(str, row))} |", flush=True)
    print()
    for kind, found in ratios.items():
        print(f"{kind}: geometric mean {mean(found):.3f}, greatest {max(found):.3f}, of {len(found)}")


if __name__ == "__main__":
    main()
