"""What takes translation units of loopy. loopy is imported when it is needed first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from nestegg.cache import Cache
from nestegg.options import COST, LEVEL, Cost, PathLike, Progress, options
from nestegg.text import Count, Result, Verdict, count_text, run, validate_text

if TYPE_CHECKING:
    import loopy as lp

Kernel: TypeAlias = "str | lp.TranslationUnit"


def dump(t_unit: lp.TranslationUnit) -> str:
    """Write a kernel of loopy in the format, as JSON.

    Kernels that it calls are inlined, substitution rules are expanded, types are inferred, and complex numbers are pairs of reals.

    Parameters
    ----------
    t_unit
        A translation unit with one entry point.

    Returns
    -------
    str
        The kernel as JSON.

    Raises
    ------
    Unsupported
        If the format cannot hold something in it; the reason says what.
    """
    from nestegg.loopy import dump

    return dump(t_unit)


def load(text: str, *, like: lp.TranslationUnit | None = None, target: Any = None) -> lp.TranslationUnit:
    """Make a translation unit of a kernel in JSON or text.

    loopy generates its code in the order of the kernel's linearization: loops have inames, priorities and
    dependences that leave its scheduler no other choice.

    Parameters
    ----------
    text
        The kernel.
    like
        Where arguments, tags, target and options come from: the translation unit that the kernel was dumped from. Its
        complex arguments are pairs of reals here; :attr:`Result.kernel` has them as they are.
    target
        The target, where ``like`` does not give one; by default loopy's C target.

    Returns
    -------
    loopy.TranslationUnit
        The kernel.

    Raises
    ------
    Error
        If the text is no kernel.
    Unsupported
        If loopy cannot hold something in it.
    """
    from nestegg.loopy import load

    return load(text, like=like, target=target)


def optimize(
    t_unit: lp.TranslationUnit,
    *,
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
    threads: int | None = None,
    progress: Progress = False,
    cache: Cache = False,
) -> Result:
    """Make the same kernel with fewer operations.

    Parameters
    ----------
    t_unit
        A translation unit with one entry point.
    batch
        So many elements are put together. A kernel that is a loop over elements keeps its interface; one of a single
        element becomes a kernel of many, ``NAME_batch``, with arguments of its own.
    level, cost, machine, float, traps, rules, parameters, batch_shared, batch_layout, max_statements, memory, accuracy
        As for :func:`optimize_text`.
    validate, threads, progress, cache
        As for :func:`optimize_text`.

    Returns
    -------
    Result
        Its ``kernel`` has the same entry point and arguments.

    Raises
    ------
    Unsupported
        If the format cannot hold something in the kernel.
    Error
        If the kernel or an option is at fault, or no result holds.
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
    return run(dump(t_unit), "<loopy>", told, progress, cache, like=t_unit)


def count(kernel: Kernel, *, parameters: Mapping[str, int] | None = None) -> Count:
    """Count the operations of a kernel: a translation unit, or a text in JSON or in the text form.

    Parameters
    ----------
    kernel
        The kernel.
    parameters
        Values of its parameters; by default the kernel's estimates, else 100.

    Returns
    -------
    Count
        The operations by kind and by loop depth.
    """
    return count_text(_text(kernel), parameters=parameters)


def validate(first: Kernel, second: Kernel, *, parameters: Mapping[str, int] | None = None) -> Verdict:
    """Ask whether two kernels compute the same values; each is a translation unit or a text.

    Parameters
    ----------
    first
        The kernel that says what is right.
    second
        The kernel that is compared with it.
    parameters
        Values of its parameters; by default the kernel's estimates, else 100.

    Returns
    -------
    Verdict
        True if they are equal, and the evidence.
    """
    return validate_text(_text(first), _text(second), parameters=parameters)


def _text(kernel: Kernel) -> str:
    return kernel if isinstance(kernel, str) else dump(kernel)
