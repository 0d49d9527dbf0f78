"""Many kernels through every kind of executor, with one cache."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import loopy as lp
import numpy as np
import pytest

import nestegg
from many import kernel, n_made, results

N_KERNELS = 200

HERE = Path(__file__).parent

BAD = "kernel bad\nA[0] = B\n"


def test_a_kept_result_is_the_same(tmp_path: Path) -> None:
    made = nestegg.optimize_text(kernel(1), cache=tmp_path)
    kept = nestegg.optimize_text(kernel(1), cache=tmp_path)
    assert (made.from_cache, kept.from_cache) == (False, True)
    for one in (kept, nestegg.optimize_text(kernel(1))):
        assert (one.kernel_text, one.json, one.c, one.header) == (made.kernel_text, made.json, made.c, made.header)
    assert str(kept.report) == str(made.report), "seconds and all"
    assert kept.report.json == made.report.json
    assert not nestegg.optimize_text(kernel(1), cache=tmp_path, level="O2").from_cache
    assert nestegg.cache.size(tmp_path).results == 2
    assert nestegg.cache.clear(tmp_path).results == 2
    assert nestegg.cache.size(tmp_path) == nestegg.cache.Size(0, 0)
    assert not nestegg.optimize_text(kernel(1), cache=tmp_path).from_cache


def test_the_default_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NESTEGG_CACHE", str(tmp_path / "mine"))
    assert nestegg.cache.folder() == str(tmp_path / "mine")
    assert nestegg.cache.folder(False) is None
    assert nestegg.cache.size().results == 0
    assert n_made(nestegg.optimize_many([kernel(0), kernel(1)])) == 2
    assert n_made(nestegg.optimize_many([kernel(1), kernel(0), kernel(2)])) == 1
    assert nestegg.cache.size().results == 3
    monkeypatch.delenv("NESTEGG_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "all"))
    if sys.platform == "linux":
        assert nestegg.cache.folder() == str(tmp_path / "all/nestegg")


def test_one_failure_costs_only_itself(tmp_path: Path) -> None:
    unsupported = lp.make_kernel(
        "{ [i]: 0 <= i < 8 }",
        "y[i] = sqrt(x[i])",
        [lp.GlobalArg("y", np.complex128, shape=8), lp.GlobalArg("x", np.complex128, shape=8)],
    )
    supported = lp.make_kernel(
        "{ [i]: 0 <= i < 8 }",
        "y[i] = 2*x[i] + a*x[i]",
        [
            lp.GlobalArg("y", np.float64, shape=8),
            lp.GlobalArg("x", np.float64, shape=8),
            lp.ValueArg("a", np.float64),
        ],
        target=lp.CTarget(),
        name="scaled",
    )
    seen: list[tuple[int, int]] = []
    kernels = [kernel(0), BAD, supported, unsupported, kernel(1)]
    found = nestegg.optimize_many(kernels, cache=tmp_path, progress=lambda done, n: seen.append((done, n)))
    assert [isinstance(one, nestegg.Error) for one in found] == [False, True, False, True, False]
    assert isinstance(found[1], nestegg.Error)
    assert found[1].code is not None
    assert "<kernel 1>" in str(found[1])
    assert isinstance(found[3], nestegg.Unsupported)
    assert isinstance(found[2], nestegg.Result)
    assert set(found[2].kernel.entrypoints) == {"scaled"}
    assert seen == [(done, 5) for done in range(1, 6)]
    with pytest.raises(nestegg.Error):
        nestegg.optimize_many([kernel(0)], rules=[tmp_path / "missing.rules"])


def test_progress_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    nestegg.optimize_many([kernel(0), kernel(1)], cache=False, progress=True)
    assert capsys.readouterr().err.endswith("nestegg: 2 of 2 kernels\n")


def test_threads_that_ask_for_the_same(tmp_path: Path) -> None:
    with concurrent.futures.ThreadPoolExecutor(4) as executor:
        found = nestegg.optimize_many([kernel(idx % 10) for idx in range(60)], executor=executor, cache=tmp_path)
    assert n_made(found) == 10
    assert len({one.kernel_text for one in results(found)}) == 10


def test_processes(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, context) as executor:
        found = nestegg.optimize_many([kernel(idx % 10) for idx in range(40)] + [BAD], executor=executor, cache=tmp_path)
    assert isinstance(found[-1], nestegg.Error)
    assert n_made(found[:-1]) == 10


def test_a_pool_that_breaks_loses_nothing_that_is_done(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    kernels = [kernel(idx) for idx in range(N_KERNELS)]
    killed = threading.Event()

    def kill(done: int, _: int) -> None:
        if done >= 20 and not killed.is_set():
            killed.set()
            os.kill(next(iter(multiprocessing.active_children())).pid or 0, signal.SIGKILL)

    with concurrent.futures.ProcessPoolExecutor(2, context) as executor:
        found = nestegg.optimize_many(kernels, executor=executor, cache=tmp_path, progress=kill)
    lost = [one for one in found if isinstance(one, nestegg.Error)]
    assert lost
    assert all("the worker was lost" in str(one) for one in lost)
    n_done = nestegg.cache.size(tmp_path).results
    assert n_done >= N_KERNELS - len(lost) >= 20
    assert n_made(nestegg.optimize_many(kernels, cache=tmp_path)) == N_KERNELS - n_done


def cluster() -> Any:
    from distributed import LocalCluster

    return LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)


@pytest.fixture
def _tests_are_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE.parent), str(HERE)]))


@pytest.mark.usefixtures("_tests_are_importable")
def test_dask(tmp_path: Path) -> None:
    with cluster() as local, local.get_client() as client:
        kernels = [kernel(idx) for idx in range(N_KERNELS)]
        executor = client.get_executor()
        found = nestegg.optimize_many(kernels + kernels, executor=executor, cache=tmp_path)
        assert n_made(found) == N_KERNELS
        assert [one.kernel_text for one in results(found[:N_KERNELS])] == [
            one.kernel_text for one in results(found[N_KERNELS:])
        ]
        n_of_workers = [len(tasks) for tasks in client.has_what().values()]
        assert len(n_of_workers) == 2
        assert nestegg.cache.size(tmp_path).results == N_KERNELS


@pytest.mark.usefixtures("_tests_are_importable")
def test_dask_with_a_killed_worker(tmp_path: Path) -> None:
    with cluster() as local, local.get_client() as client:
        kernels = [kernel(idx) for idx in range(N_KERNELS)]
        pids = client.run(os.getpid)
        killed = threading.Event()

        def kill(done: int, _: int) -> None:
            if done >= 20 and not killed.is_set():
                killed.set()
                os.kill(next(iter(pids.values())), signal.SIGKILL)

        found = nestegg.optimize_many(kernels, executor=client.get_executor(), cache=tmp_path, progress=kill)
        assert killed.is_set()
        # Dask gives another worker what the killed one had, done or not: its results are in the cache.
        assert len(results(found)) == N_KERNELS
        assert nestegg.cache.size(tmp_path).results == N_KERNELS
        assert set(client.run(os.getpid).values()) != set(pids.values())


def mpirun(*arguments: str) -> list[int]:
    """What the first of two ranks prints: how many ranks there are, and how many kernels were made."""
    launcher = Path(sys.executable).parent / "mpiexec"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent), str(HERE)])}
    command = [str(launcher), "-n", "2", sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return [int(word) for word in done.stdout.split()]


@pytest.mark.parametrize("what", ["every_rank", "one_rank"])
def test_two_ranks(what: str, tmp_path: Path) -> None:
    arguments = [str(HERE / "many.py"), what, str(tmp_path), str(N_KERNELS)]
    assert mpirun(*arguments) == [2, N_KERNELS]
    assert nestegg.cache.size(tmp_path).results == N_KERNELS
    assert mpirun(*arguments) == [2, 0]


def test_a_pool_of_ranks(tmp_path: Path) -> None:
    arguments = ["-m", "mpi4py.futures", str(HERE / "many.py"), "pool", str(tmp_path), str(N_KERNELS)]
    assert mpirun(*arguments) == [2, N_KERNELS]


def test_a_killed_rank_loses_nothing_that_is_done(tmp_path: Path) -> None:
    program = f"import nestegg, many\nnestegg.optimize_many(map(many.kernel, range({N_KERNELS})), cache={str(tmp_path)!r})\n"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent), str(HERE)])}
    running = subprocess.Popen([sys.executable, "-c", program], env=environment)
    while nestegg.cache.size(tmp_path).results < 20:
        assert running.poll() is None
        time.sleep(0.005)
    running.kill()
    running.wait()
    n_done = nestegg.cache.size(tmp_path).results
    assert 20 <= n_done
    arguments = [str(HERE / "many.py"), "every_rank", str(tmp_path), str(N_KERNELS)]
    assert mpirun(*arguments) == [2, N_KERNELS - n_done]
