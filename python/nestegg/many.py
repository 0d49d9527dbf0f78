"""Many kernels, on many processes or machines, each of them optimized once."""

from __future__ import annotations

import concurrent.futures
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future
from typing import TYPE_CHECKING, Literal, TypeAlias

from nestegg import _core
from nestegg.cache import Cache, folder
from nestegg.errors import Error, Unsupported
from nestegg.options import COST, LEVEL, Cost, PathLike, options
from nestegg.text import Made, Result, result
from nestegg.units import Kernel, dump

if TYPE_CHECKING:
    from nestegg._core import Optimized, Options

ManyProgress: TypeAlias = "bool | Callable[[int, int], object]"


def optimize_many(
    kernels: Iterable[Kernel],
    *,
    executor: Executor | None = None,
    cache: Cache = True,
    progress: ManyProgress = False,
    level: PathLike = LEVEL,
    cost: Cost = COST,
    machine: PathLike | None = None,
    float: Literal["strict", "reassociate", "fast"] | None = None,
    traps: Literal["ignore", "keep"] = "ignore",
    rules: Sequence[PathLike] = (),
    parameters: Mapping[str, int] | None = None,
    batch: int | Literal["auto"] | None = None,
    batch_shared: Sequence[str] = (),
    batch_layout: Literal["contiguous", "interleaved"] = "contiguous",
    max_statements: int | None = None,
    memory: int | None = None,
    accuracy: "float | None" = None,
    validate: bool = True,
    threads: int = 1,
) -> list[Result | Error]:
    """Optimize many kernels side by side; one that fails costs only itself.

    Results are kept in a cache, so that a run that was ended goes on where it was when it is started again, and
    processes that share the cache optimize each kernel once.

    Parameters
    ----------
    kernels
        Translation units of loopy, or texts.
    executor
        Where kernels are optimized: any executor of the standard library's interface, such as a pool of threads or
        processes, Dask's ``client.get_executor()``, or mpi4py's ``MPIPoolExecutor``. It is not shut down.
        By default, threads of this process, one for each processor.
    cache
        Where results are kept: true for the package's folder (:func:`nestegg.cache.folder`), false for nowhere, or a
        folder. The workers of an executor must see the same folder.
    progress
        True to show on standard error how many kernels are done, or a function that is called with how many are done
        and how many there are.
    threads
        Threads for each kernel.
    level, cost, machine, float, traps, rules, parameters, batch, batch_shared, batch_layout, max_statements, memory
        As for :func:`optimize_text`.
    accuracy, validate
        As for :func:`optimize_text`.

    Returns
    -------
    list
        For each kernel, in their order, its result, or the :class:`Error` that it failed with. An error says so too
        where a worker was lost on the way; what was done till then is in the cache.

    Raises
    ------
    Error
        If a file that an option names cannot be read.
    """
    told = options(
        level=level,
        cost=cost,
        machine=machine,
        float=float,
        traps=traps,
        rules=rules,
        parameters=parameters,
        batch=batch,
        batch_shared=batch_shared,
        batch_layout=batch_layout,
        max_statements=max_statements,
        memory=memory,
        accuracy=accuracy,
        validate=validate,
        threads=threads,
    )
    place = folder(cache)
    given = list(kernels)
    if executor is not None:
        return _on(executor, given, told, place, progress)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            return _on(pool, given, told, place, progress)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _on(
    executor: Executor, kernels: list[Kernel], told: Options, place: str | None, progress: ManyProgress
) -> list[Result | Error]:
    res: list[Result | Error | None] = [None] * len(kernels)
    futures: dict[Future[Made | Error], int] = {}
    work: dict[int, tuple[str, str]] = {}
    for idx, kernel in enumerate(kernels):
        try:
            text = kernel if isinstance(kernel, str) else dump(kernel)
        except Unsupported as error:
            res[idx] = error
            continue
        work[idx] = (text, f"<kernel {idx}>" if isinstance(kernel, str) else "<loopy>")
        try:
            futures[executor.submit(_work, *work[idx], told, place)] = idx
        except concurrent.futures.BrokenExecutor as error:
            res[idx] = _lost(error)
    tell = _teller(progress)
    n_done = len(kernels) - len(futures)
    tell(n_done, len(kernels))
    try:
        for future in concurrent.futures.as_completed(futures):
            idx = futures[future]
            kernel = kernels[idx]
            try:
                done = future.result()
            except Exception:  # noqa: BLE001 executors have errors of their own for lost workers
                done = _once_more(executor, work[idx], told, place)
            res[idx] = done if isinstance(done, Error) else result(done, None if isinstance(kernel, str) else kernel)
            n_done += 1
            tell(n_done, len(kernels))
    except BaseException:
        for future in futures:
            future.cancel()
        raise
    return [one if one is not None else Error("a kernel was forgotten; this is a bug of nestegg") for one in res]


def _work(text: str, name: str, told: Options, place: str | None) -> Made | Error:
    """Optimize one kernel, wherever this runs."""
    try:
        done: Optimized = _core.optimize(text, name, told, None, place)
    except Error as error:
        return error
    return Made.of(done)


def _once_more(executor: Executor, work: tuple[str, str], told: Options, place: str | None) -> Made | Error:
    """Optimize a kernel whose worker was lost on another, if there is one; what was done is in the cache."""
    try:
        return executor.submit(_work, *work, told, place).result()
    except Exception as error:  # noqa: BLE001 as before
        return _lost(error)


def _lost(error: Exception) -> Error:
    lost = Error(f"the worker was lost, and the kernel with it: {type(error).__name__}: {error}".rstrip(": "))
    lost.__cause__ = error
    return lost


def _teller(progress: ManyProgress) -> Callable[[int, int], object]:
    if not isinstance(progress, bool):
        return progress
    return _show if progress else lambda _done, _all: None


def _show(n_done: int, n_all: int) -> None:
    is_shown = sys.stderr.isatty()
    end = "\n" if n_done == n_all or not is_shown else ""
    sys.stderr.write(("\r\x1b[K" if is_shown else "") + f"nestegg: {n_done} of {n_all} kernels" + end)
    sys.stderr.flush()
