"""What needs no loopy: kernels as text in, kernels as text out."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol

from nestegg import _core
from nestegg.cache import Cache, folder
from nestegg.errors import Error, NotValidated
from nestegg.options import COST, LEVEL, Cost, PathLike, Progress, given, options, watcher
from nestegg.report import Operations, Report

if TYPE_CHECKING:
    import loopy as lp

    from nestegg._core import Options


class Texts(Protocol):
    """A result in texts, as the core and other processes give it."""

    @property
    def kernel_text(self) -> str:
        """The kernel in the text form."""

    @property
    def json(self) -> str:
        """The kernel in JSON."""

    @property
    def report_text(self) -> str:
        """The story for people."""

    @property
    def report_json(self) -> str:
        """The story for programs."""

    @property
    def c(self) -> tuple[str, str] | None:
        """The C source and its header."""

    @property
    def c_refused(self) -> str | None:
        """Why there is no C."""

    @property
    def warnings(self) -> list[str]:
        """What is worth a warning."""

    @property
    def from_cache(self) -> bool:
        """Whether all of it was kept."""


@dataclass(frozen=True)
class Made:
    """Texts that were all made, for another process: the core makes its own when it is asked for them."""

    kernel_text: str
    json: str
    report_text: str
    report_json: str
    c: tuple[str, str] | None
    c_refused: str | None
    warnings: list[str]
    from_cache: bool

    @classmethod
    def of(cls, texts: Texts) -> Made:
        """Make all texts of a result."""
        return cls(**{one.name: getattr(texts, one.name) for one in fields(cls)})


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """An optimized kernel with its story; each text is made when somebody asks for it."""

    _texts: Texts
    _like: lp.TranslationUnit | None = None

    @cached_property
    def kernel_text(self) -> str:
        """The kernel in the text form."""
        return self._texts.kernel_text

    @cached_property
    def json(self) -> str:
        """The kernel in JSON."""
        return self._texts.json

    @cached_property
    def report(self) -> Report:
        """The story of the run."""
        return Report(self._texts.report_text, self._texts.report_json)

    @property
    def from_cache(self) -> bool:
        """Whether it was in the cache; the story is then that of the run that made it."""
        return self._texts.from_cache

    @property
    def before(self) -> Operations:
        """Operations of the input."""
        return self.report.before

    @property
    def after(self) -> Operations:
        """Operations of the result."""
        return self.report.after

    @property
    def c(self) -> str:
        """The kernel as C11.

        Raises
        ------
        Error
            If C has no words for something in the kernel.
        """
        return self._product()[0]

    @property
    def header(self) -> str:
        """The header of :attr:`c`."""
        return self._product()[1]

    @cached_property
    def kernel(self) -> lp.TranslationUnit:
        """The kernel as a translation unit of loopy, with the entry point and the arguments of the input.

        Raises
        ------
        ImportError
            If loopy is not installed.
        """
        from nestegg.loopy import load, load_like

        return load(self.json) if self._like is None else load_like(self.json, self._like)

    def _product(self) -> tuple[str, str]:
        product = self._texts.c
        if product is None:
            raise Error(self._texts.c_refused or "there is no C of this kernel")
        return product

    def __getstate__(self) -> dict[str, Any]:
        """What another process gets: all texts, which only this one can make."""
        return {**self.__dict__, "_texts": Made.of(self._texts)}

    def __eq__(self, other: object) -> bool:
        """Whether kernel and story are the same."""
        if not isinstance(other, Result):
            return NotImplemented
        return (self.json, self.report) == (other.json, other.report)

    def __hash__(self) -> int:
        """A hash of the kernel."""
        return hash(self.json)

    def __repr__(self) -> str:
        """The kernel's name and what was won."""
        return f"<nestegg.Result {self.report.data['kernel']}: {self.report.summary}>"

    def __str__(self) -> str:
        """The kernel in the text form."""
        return self.kernel_text

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


@dataclass(frozen=True)
class Count:
    """Operations of a kernel.

    Attributes
    ----------
    kernel
        The kernel's name.
    total
        All operations.
    by_kind
        Those of each kind.
    by_depth
        Those in so many loops, reductions included.
    text
        A table of kinds and depths.
    """

    kernel: str
    total: int
    by_kind: Mapping[str, int]
    by_depth: Mapping[int, int]
    text: str = field(repr=False)

    def __int__(self) -> int:
        """All operations."""
        return self.total

    def __str__(self) -> str:
        """A table of kinds and depths."""
        return self.text.rstrip("\n")


@dataclass(frozen=True)
class Verdict:
    """Whether two kernels compute the same values; true if they do.

    Attributes
    ----------
    is_equal
        The answer.
    evidence
        What was compared, or the first difference.
    """

    is_equal: bool
    evidence: str

    def __bool__(self) -> bool:
        """The answer."""
        return self.is_equal

    def __str__(self) -> str:
        """The answer and its evidence."""
        return f"{'equal' if self.is_equal else 'not equal'}; {self.evidence}"


def optimize_text(
    text: str,
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
    name: str = "<text>",
) -> Result:
    """Write the same kernel with fewer operations.

    Other Python threads run meanwhile, and Ctrl-C interrupts.

    Parameters
    ----------
    text
        A kernel in JSON or in the text form.
    level
        How hard to try: ``"O0"`` to ``"O3"``, a strategy that ``rules`` define, a strategy file, or ``"FILE#NAME"``.
    cost
        What is made small.
    machine
        The machine for ``cost="time"``: a file that ``nestegg calibrate`` wrote, or the name of one that comes with nestegg.
    float
        What may be done to floats; by default what the strategy says, else ``"reassociate"``.
    traps
        Whether quotients and calls of floats may be evaluated where the kernel does not.
    rules
        Files with further rules, or folders of them.
    parameters
        Values that the cost and the validation assume for parameters; by default the kernel's estimates, else 100.
    batch
        So many elements are put together, one in each lane of vectors.
    batch_shared
        Arguments that all elements of a batch share.
    batch_layout
        How the arguments of elements lie in memory.
    max_statements
        How many statements straight-line code may have.
    memory
        How many bytes the temporaries of a result may take together.
    accuracy
        How many times the rounding errors of the input those of a result may be; infinity allows all.
    validate
        Whether the result is compared with the input.
    threads
        Threads of the run; by default one for each processor. The result is the same with any number.
    progress
        True to show each stage on standard error, or a function that is called with each stage and its seed.
    cache
        Where results are kept: true for the package's folder (:func:`nestegg.cache.folder`), or a folder.
    name
        What errors call the text.

    Returns
    -------
    Result
        The kernel and the story of the run.

    Raises
    ------
    Error
        If the input is at fault, or no result holds.
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
    return run(text, name, told, progress, cache)


def run(
    text: str, name: str, told: Options, progress: Progress, cache: Cache, like: lp.TranslationUnit | None = None
) -> Result:
    """Optimize with options that are read already; results that look like ``like`` when they are loaded."""
    return result(_core.optimize(text, name, told, watcher(progress), folder(cache)), like)


def result(done: Texts, like: lp.TranslationUnit | None) -> Result:
    """Make a result of its texts, and warn of what they warn of."""
    for warning in done.warnings:
        warnings.warn(warning, NotValidated, stacklevel=4)
    return Result(done, like)


def count_text(text: str, *, parameters: Mapping[str, int] | None = None, name: str = "<text>") -> Count:
    """Count the operations of a kernel in JSON or text."""
    table, found = _core.count(text, name, given(parameters))
    data: dict[str, Any] = json.loads(found)
    by_depth = {int(depth): int(operations) for depth, operations in data["by_depth"].items()}
    return Count(data["kernel"], data["total"], data["by_kind"], by_depth, table)


def validate_text(
    first: str,
    second: str,
    *,
    parameters: Mapping[str, int] | None = None,
    names: tuple[str, str] = ("<first>", "<second>"),
) -> Verdict:
    """Ask whether two kernels in JSON or text compute the same values."""
    is_equal, evidence = _core.validate((first, names[0]), (second, names[1]), given(parameters))
    return Verdict(is_equal, evidence)


def to_json(text: str, name: str = "<text>") -> str:
    """Convert a kernel to JSON."""
    return _core.convert(text, name, True)


def to_text(text: str, name: str = "<text>") -> str:
    """Convert a kernel to the text form."""
    return _core.convert(text, name, False)
