"""The options of a run: words are passed on, files are read."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from nestegg.errors import Error

if TYPE_CHECKING:
    from nestegg._core import Options

PathLike: TypeAlias = "str | os.PathLike[str]"
Progress: TypeAlias = "bool | Callable[[str, str | None], object]"

Cost: TypeAlias = Literal["operations", "time"]

LEVEL = "O1"
"""How hard to try where nobody says."""

COST: Cost = "operations"
"""What is made small where nobody says."""

NAME_IN_FILE = "#"
"""What separates a strategy file from the name of one of its strategies."""


def options(
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
) -> Options:
    """Read the files that options name; :func:`nestegg.optimize_text` says what each option means."""
    name, level_file = _level(level)
    is_file = isinstance(machine, os.PathLike) or (machine is not None and Path(machine).is_file())
    return {
        "level": name,
        "level_file": level_file,
        "rules": [file for path in rules for file in _rule_files(path)],
        "float": float,
        "traps": traps,
        "cost": cost,
        "machine": None if is_file or machine is None else os.fspath(machine),
        "machine_file": _read(Path(machine)) if is_file and machine is not None else None,
        "parameters": given(parameters),
        "max_statements": max_statements,
        "memory": memory,
        "accuracy": accuracy,
        "batch": 0 if batch == "auto" else batch,
        "batch_shared": list(batch_shared),
        "batch_layout": batch_layout,
        "validate": validate,
        "threads": threads,
    }


def given(parameters: Mapping[str, int] | None) -> list[tuple[str, int]]:
    """Parameters as the core takes them."""
    return sorted((name, int(value)) for name, value in (parameters or {}).items())


def watcher(progress: Progress) -> Callable[[str, str | None], object] | None:
    """What is called with each stage and its seed."""
    if not isinstance(progress, bool):
        return progress
    return _show if progress else None


def _show(stage: str, seed: str | None) -> None:
    text = stage if seed is None else f"{stage} ({seed})"
    sys.stderr.write(f"\r\x1b[Knestegg: {text}" if sys.stderr.isatty() else f"nestegg: {text}\n")
    sys.stderr.flush()


def _level(level: PathLike) -> tuple[str, tuple[str, str] | None]:
    text = os.fspath(level)
    path = Path(text)
    if not (isinstance(level, os.PathLike) or path.suffix or len(path.parts) > 1 or NAME_IN_FILE in text):
        return text, None
    file, separator, name = text.rpartition(NAME_IN_FILE)
    if separator and not path.exists():
        return name, _read(Path(file))
    return "", _read(path)


def _rule_files(path: PathLike) -> list[tuple[str, str]]:
    place = Path(path)
    if not place.is_dir():
        return [_read(place)]
    found = sorted(place.glob("*.rules"))
    if not found:
        raise Error(f"there is no rule file in `{place}`; rule files end in `.rules`")
    return [_read(file) for file in found]


def _read(path: Path) -> tuple[str, str]:
    try:
        return str(path), path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Error(f"cannot read `{path}`: {error}") from error
