"""Times nestegg beside loopy's own code generation, on the kernels of the tests.

``python python/bench/loopy.py [WORD ...]`` prints a table of the kernels whose names have one of these words: milliseconds of loopy from
a translation unit to C, and of ``nestegg.optimize`` with its default options, in all and in its parts. *dump* is what Python does before
the core, *core* is the core, and *load* makes a translation unit of the result, which is done when somebody asks for it: it is no part of
``nestegg.optimize``. ``--level O2`` adds a column with that level; several are allowed.

Every measurement has a translation unit of its own, made before the clock starts; the caches of loopy and of nestegg are off; the two
take turns. The medians of several rounds count. *first* is the first call for a kernel in this process beside loopy's first: later calls
find threads started and domains read.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# This file has the name of the package that it measures.
sys.path[:] = [path for path in sys.path if Path(path).resolve() != HERE]
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "tests")]

import loopy as lp
from kernels import CASES, Case

import nestegg
from nestegg.loopy import dump

CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "processor": time.process_time}

GOAL = 0.25
"""What nestegg may take of loopy's time, in the median."""


class Watch:
    """Seconds of each kind of work on one kernel, by each clock, in all rounds."""

    def __init__(self) -> None:
        self.seconds: dict[str, dict[str, list[float]]] = {}

    def time(self, word: str, work: Callable[[], Any]) -> Any:
        """Does some work."""
        begin = {name: clock() for name, clock in CLOCKS.items()}
        res = work()
        for name, clock in CLOCKS.items():
            self.seconds.setdefault(word, {}).setdefault(name, []).append(clock() - begin[name])
        return res

    def median(self, word: str, clock: str) -> float:
        """The median of the rounds."""
        return statistics.median(self.seconds[word][clock])


def measured(case: Case, levels: Sequence[str], n_rounds: int) -> tuple[Watch, Watch]:
    """The seconds of one kernel: of the first calls, and of as many rounds after them."""
    sizes = case.sizes_of(case.make())
    first, later = Watch(), Watch()
    for watch in (first, *[later] * n_rounds):
        t_unit = case.make()
        watch.time("loopy", lambda: lp.generate_code_v2(t_unit).device_code())
        t_unit = case.make()
        result = watch.time("nestegg", lambda: nestegg.optimize(t_unit, parameters=sizes))
        watch.time("load", lambda: result.kernel)
        t_unit = case.make()
        watch.time("dump", lambda: dump(t_unit))
        for level in levels:
            t_unit = case.make()
            watch.time(level, lambda: nestegg.optimize(t_unit, parameters=sizes, level=level))
    return first, later


def summary(ratios: dict[str, float]) -> str:
    """The median and the worst of some ratios."""
    worst = max(ratios, key=lambda name: ratios[name])
    median = statistics.median(ratios.values())
    return f"median {median:.3f}, greatest {ratios[worst]:.3f} ({worst}), of {len(ratios)}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Times nestegg beside loopy's own code generation.")
    parser.add_argument("words", nargs="*")
    parser.add_argument("--level", action="append", default=[], help="a level beside the default options")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--clock", choices=sorted(CLOCKS), default="wall", help="what the table shows")
    told = parser.parse_args()
    lp.set_caching_enabled(False)
    words = ["loopy", "nestegg", "dump", "core", "load", *told.level]
    print(f"| kernel | {' | '.join(words)} | nestegg / loopy |")
    print(f"| --- |{' --- |' * (len(words) + 1)}")
    ratios: dict[tuple[str, str], dict[str, float]] = {}
    for case in CASES:
        if case.refused is not None or (told.words and not any(word in case.name for word in told.words)):
            continue
        first, watch = measured(case, told.level, told.rounds)
        for clock in CLOCKS:
            ratios.setdefault((clock, "first nestegg"), {})[case.name] = first.median("nestegg", clock) / first.median("loopy", clock)
            seconds = {word: watch.median(word, clock) for word in watch.seconds}
            seconds["core"] = max(seconds["nestegg"] - seconds["dump"], 0.0)
            seconds["nestegg, load"] = seconds["nestegg"] + seconds["load"]
            for word in ("nestegg", "nestegg, load", *told.level):
                ratios.setdefault((clock, word), {})[case.name] = seconds[word] / seconds["loopy"]
            if clock == told.clock:
                row = [f"{1e3 * seconds[word]:.1f}" for word in words]
                print(f"| {case.name} | {' | '.join(row)} | {ratios[clock, 'nestegg'][case.name]:.3f} |", flush=True)
    print()
    for (clock, word), found in ratios.items():
        print(f"{clock} seconds, {word} / loopy: {summary(found)}")


if __name__ == "__main__":
    main()
