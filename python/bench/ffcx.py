"""Times what nestegg writes for FFCx beside FFCx's own C, with and without its sum factorization.

``python python/bench/ffcx.py --level O2 [WORD ...]`` prints a table of the problems whose names have one of these words. Operations are
counted as docs/counting.md says, FFCx's by the kernel that its tree is. The least time of several rounds counts, of calls that go through
some cells in turn; all C is compiled with the same flags.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import sys
import tempfile
import time
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


def mean(ratios: list[float]) -> float:
    return float(np.exp(np.mean(np.log(ratios)))) if ratios else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description="Times nestegg beside FFCx.")
    parser.add_argument("words", nargs="*")
    parser.add_argument("--level", default=None)
    parser.add_argument("--cost", default=None)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--milliseconds", type=float, default=5.0)
    told = parser.parse_args()
    chosen = {f"nestegg_{name}": value for name, value in (("level", told.level), ("cost", told.cost)) if value}
    print("| function | operations: FFCx | factorized | nestegg | ns: FFCx | factorized | nestegg | ratio | seconds |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    ratios: dict[str, list[float]] = {"own": [], "best": [], "operations": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        timer = harness.compiled(TIMER, folder, "timer", FLAGS)
        for title, (dtype, make) in ffcx_forms.PROBLEMS.items():
            if told.words and not any(word in title for word in told.words):
                continue
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
