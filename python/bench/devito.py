"""Times nestegg beside Devito's own C, on the operators of ``fixtures/devito``.

``pip install devito pytest`` and then ``python python/bench/devito.py [--threads 2] [--points 128] [WORD ...]`` print a table of the operators
whose names have one of these words. Devito gets its default optimizations and its autotuner. Its C has a loop over time steps, before which it computes
what is the same in all of them; a kernel of ``fixtures`` is one step. So there are two columns for Devito: a step within the loop, and a step
with all that it needs. Both programs work on arrays of the same values, take turns, and must agree; medians of the rounds count.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# This file has the name of the package that it measures.
sys.path[:] = [path for path in sys.path if Path(path).resolve() != HERE]

POINTS = 64
"""Points along each axis in the fixtures."""

N_ABSORBING = 10
"""Of these on each side in absorbing layers."""

SAFE_INVERSE = "#define SafeInv(a, b) (((a) < 1.1920929e-7F || (b) < 1.1920929e-7F) ? 0.0F : 1.0F/(a))"
"""Devito's macro for reciprocals."""


def acoustic(model: Callable[[str, int], Any]) -> tuple[Any, list[Any]]:
    from devito import TimeFunction
    from examples.seismic.acoustic.operators import iso_stencil

    ground = model("layers-isotropic", 8)
    return ground, iso_stencil(TimeFunction(name="u", grid=ground.grid, time_order=2, space_order=8), ground, "OT2")


def tilted(model: Callable[[str, int], Any]) -> tuple[Any, list[Any]]:
    from devito import TimeFunction
    from examples.seismic.tti.operators import kernel_centered

    ground = model("layers-tti", 4)
    u, v = (TimeFunction(name=name, grid=ground.grid, time_order=2, space_order=4) for name in "uv")
    return ground, kernel_centered(ground, u, v)


def elastic(model: Callable[[str, int], Any]) -> tuple[Any, list[Any]]:
    from devito import Eq, TensorTimeFunction, VectorTimeFunction, diag, div, grad, solve

    ground = model("layers-elastic", 4)
    v = VectorTimeFunction(name="v", grid=ground.grid, space_order=4, time_order=1)
    tau = TensorTimeFunction(name="tau", grid=ground.grid, space_order=4, time_order=1)
    strain = grad(v.forward) + grad(v.forward).transpose(inner=False)
    of_v = v.dt - ground.b * div(tau)
    of_tau = tau.dt - ground.lam * diag(div(v.forward)) - ground.mu * strain
    pairs = ((v.forward, of_v), (tau.forward, of_tau))
    return ground, [Eq(value, ground.damp * solve(equation, value)) for value, equation in pairs]


def viscoelastic(model: Callable[[str, int], Any]) -> tuple[Any, list[Any]]:
    import sympy
    from devito import Eq, TensorTimeFunction, VectorTimeFunction, diag, div, grad, solve

    ground = model("layers-viscoelastic", 4)
    frequency = 0.012
    t_s = (sympy.sqrt(1.0 + 1.0 / ground.qp**2) - 1.0 / ground.qp) / frequency
    t_ep = 1.0 / (frequency**2 * t_s)
    t_es = (1.0 + frequency * ground.qs * t_s) / (frequency * ground.qs - frequency**2 * t_s)
    v = VectorTimeFunction(name="v", grid=ground.grid, space_order=4, time_order=1)
    tau, r = (TensorTimeFunction(name=name, grid=ground.grid, space_order=4, time_order=1) for name in "tr")
    strain = grad(v.forward) + grad(v.forward).transpose(inner=False)
    volume = ground.lam * diag(div(v.forward))
    of_v = v.dt - ground.b * div(tau)
    of_tau = tau.dt - r.forward - t_ep / t_s * volume - ground.mu * t_es / t_s * strain
    of_r = r.dt + 1 / t_s * (r + (t_ep / t_s - 1) * volume + ground.mu * (t_es / t_s - 1) * strain)
    pairs = ((v.forward, of_v), (r.forward, of_r), (tau.forward, of_tau))
    return ground, [Eq(value, ground.damp * solve(equation, value)) for value, equation in pairs]


OPERATORS = {
    "acoustic_so8": acoustic,
    "elastic_so4": elastic,
    "tti_so4": tilted,
    "viscoelastic_so4": viscoelastic,
}


class Theirs:
    """An operator of Devito, tuned."""

    def __init__(self, make: Callable[[Any], tuple[Any, list[Any]]], points: int) -> None:
        import numpy as np
        from devito import Operator
        from examples.seismic import demo_model

        def model(kind: str, order: int) -> Any:
            shape = (points - 2 * N_ABSORBING,) * 3
            return demo_model(kind, space_order=order, shape=shape, nbl=N_ABSORBING, dtype=np.float32, spacing=(10.0,) * 3)

        self.ground, equations = make(model)
        self.operator = Operator(equations, subs=self.ground.spacing_map, opt="advanced")
        self.dt = 0.1 * float(self.ground.critical_dt)
        self.fields = {one.name: one for one in self.operator.parameters if getattr(one, "is_DiscreteFunction", False)}
        random = np.random.default_rng(0)
        for field in self.fields.values():
            if field.is_TimeFunction:
                field.data[:] = 1e-3 * random.random(field.data.shape)
        self.operator.apply(time_m=2, time_M=400, dt=self.dt, autotune=("aggressive", "runtime"))
        self.sizes = dict(self.operator._state["autotuning"][-1].get("tuned", {}))

    def run(self, n_steps: int) -> tuple[float, float]:
        """Milliseconds of a step within the loop over time, and of what comes before the loop."""
        summary = self.operator.apply(time_m=6, time_M=5 + n_steps, dt=self.dt, **self.sizes)
        seconds = {key.name: entry.time for key, entry in summary.items()}
        last = max(seconds)
        before = sum(value for name, value in seconds.items() if name != last)
        return 1e3 * seconds[last] / n_steps, 1e3 * before


class Ours:
    """A step in the C that nestegg writes, compiled, on arrays of its own."""

    def __init__(self, name: str, theirs: Theirs, folder: Path, told: argparse.Namespace) -> None:
        kernel, source, library = (folder / f"{name}.{extension}" for extension in ("json", "c", "so"))
        given = fixture(name, told.points)
        kernel.write_text(json.dumps(given))
        openmp = ["--openmp"] if told.threads > 1 else []
        subprocess.run([told.nestegg, "optimize", str(kernel), *openmp, "-o", str(source)], check=True, capture_output=True)
        text = subprocess.run([told.nestegg, "cflags"], check=True, capture_output=True, text=True).stdout
        flags = [*text.split(), *(["-fopenmp"] if openmp else [])]
        source.write_text(f"{SAFE_INVERSE}\n{source.read_text()}")
        subprocess.run(["gcc", *flags, "-shared", "-fPIC", str(source), "-o", str(library), "-lm"], check=True)
        self.function = getattr(ctypes.CDLL(str(library)), name)
        self.arrays: dict[str, Any] = {}
        arguments: list[Any] = []
        for argument in given["arguments"]:
            if not argument["shape"]:
                arguments.append(ctypes.c_float(theirs.dt))
                continue
            self.arrays[argument["name"]] = values(theirs, argument["name"]).copy()
            arguments.append(ctypes.c_void_p(self.arrays[argument["name"]].ctypes.data))
        self.arguments = arguments

    def run(self, n_steps: int) -> float:
        """Milliseconds of a step."""
        begin = time.perf_counter()
        for _ in range(n_steps):
            self.function(*self.arguments)
        return 1e3 * (time.perf_counter() - begin) / n_steps


def fixture(name: str, points: int) -> dict[str, Any]:
    """A kernel of the fixtures, on a grid of so many points along each axis."""
    given: dict[str, Any] = json.loads((ROOT / "fixtures" / "devito" / f"{name}.json").read_text())
    given["domains"] = [domain.replace(f"< {POINTS} ", f"< {points} ") for domain in given["domains"]]
    for argument in given["arguments"]:
        argument["shape"] = [extent + points - POINTS for extent in argument["shape"]]
    return given


def values(theirs: Theirs, name: str) -> Any:
    """What an argument of a kernel is in Devito: a field, or one of a field's buffers in time step 6."""
    found = re.fullmatch(r"(\w+)_t(\d)", name)
    if not found:
        return theirs.fields[name].data_with_halo
    data = theirs.fields[found[1]].data_with_halo
    # Step 6 reads buffer 0; t1 is the one before where there are three, and t2 the one that is written; of two, t1 is written.
    buffers = {2: (0, 1), 3: (0, 2, 1)}[data.shape[0]]
    return data[buffers[int(found[2])]]


def difference(theirs: Theirs, ours: Ours) -> float:
    """By how much arrays differ at most after one step of both, of the largest value."""
    import numpy as np

    ours.run(1)
    theirs.run(1)
    worst = 0.0
    for name, array in ours.arrays.items():
        expected = np.asarray(values(theirs, name))
        worst = max(worst, float(np.abs(array - expected).max() / max(np.abs(expected).max(), 1e-30)))
    return worst


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Times nestegg beside Devito.")
    parser.add_argument("words", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--points", type=int, default=POINTS, help="points along each axis")
    parser.add_argument("--steps", type=int, default=100, help="time steps in one round")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--nestegg", default=str(ROOT / "target" / "release" / "nestegg"), help="the program")
    told = parser.parse_args(words)
    os.environ.update(OMP_NUM_THREADS=str(told.threads), DEVITO_LOGGING="ERROR", DEVITO_ARCH="gcc")
    os.environ["DEVITO_LANGUAGE"] = "openmp" if told.threads > 1 else "C"
    print("| operator | Devito, step in the loop | Devito, step alone | nestegg | in the loop | alone | difference |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    ratios: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, make in OPERATORS.items():
            if told.words and not any(word in name for word in told.words):
                continue
            theirs = Theirs(make, told.points)
            ours = Ours(name, theirs, Path(folder), told)
            differs = difference(theirs, ours)
            rounds = [(*theirs.run(told.steps), ours.run(told.steps)) for _ in range(told.rounds)]
            inside, before, own = (statistics.median(column) for column in zip(*rounds, strict=True))
            ratios.append((own / inside, own / (inside + before)))
            row = [name, *(f"{value:.3f}" for value in (inside, inside + before, own)), *(f"{ratio:.2f}" for ratio in ratios[-1])]
            print(f"| {' | '.join(row)} | {differs:.1e} |", flush=True)
    if ratios:
        means = [statistics.geometric_mean(column) for column in zip(*ratios, strict=True)]
        print(f"\ngeometric means: in the loop {means[0]:.2f}, alone {means[1]:.2f}")


if __name__ == "__main__":
    main()
