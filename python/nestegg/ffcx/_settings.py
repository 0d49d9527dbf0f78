"""How nestegg is to optimize: options of FFCx that begin with ``nestegg_``, else variables of the environment.

FFCx passes every entry of ``ffcx_options.json`` on to its language, and DOLFINx every entry of ``form_compiler_options``. Its command
line knows its own options only: there, the environment says the same in capitals.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nestegg.errors import Error
from nestegg.options import options as read_options

if TYPE_CHECKING:
    from nestegg._core import Options

PREFIX = "nestegg_"

DEFAULTS = {"level": "O3", "cost": "time"}
"""What is chosen where nobody says another."""

AUTO = "auto"
"""The width whose estimated time is least."""

WIDTHS = (1, 2, 4, 8, 16)

WORDS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    found = WORDS.get(str(value).lower())
    if found is None:
        raise ValueError(value)
    return found


def _width(value: Any) -> int | str:
    if value == AUTO:
        return AUTO
    width = int(value)
    if width not in WIDTHS:
        raise ValueError(value)
    return width


def _paths(value: Any) -> list[str]:
    return value.split(os.pathsep) if isinstance(value, str) else list(value)


READERS: Mapping[str, Callable[[Any], Any]] = {
    "level": str,
    "cost": str,
    "machine": str,
    "float": str,
    "rules": _paths,
    "max_statements": int,
    "memory": int,
    "accuracy": float,
    "validate": _boolean,
    "batch": _width,
    "threads": int,
}
"""What each option is read with; :func:`nestegg.optimize_text` says what they mean."""


HINTS = {"batch": f"a width is {', '.join(map(str, WIDTHS))} or `{AUTO}`"}
"""What else is said of an option that means nothing."""


def settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """What the user chose.

    Parameters
    ----------
    given
        FFCx's options.

    Returns
    -------
    dict[str, Any]
        Arguments of :func:`nestegg.optimize_text`.

    Raises
    ------
    Error
        If an option is unknown or means nothing.
    """
    unknown = [name for name in given if name.startswith(PREFIX) and name.removeprefix(PREFIX) not in READERS]
    if unknown:
        known = ", ".join(f"`{PREFIX}{name}`" for name in READERS)
        raise Error(f"there is no option `{unknown[0]}`; nestegg takes {known}")
    told: dict[str, Any] = {**DEFAULTS}
    for name, reader in READERS.items():
        value = given.get(PREFIX + name, os.environ.get((PREFIX + name).upper()))
        if value is None:
            continue
        try:
            told[name] = reader(value)
        except (TypeError, ValueError) as error:
            hint = f"; {HINTS[name]}" if name in HINTS else ""
            raise Error(f"`{PREFIX}{name}` cannot be `{value}`{hint}") from error
    return told


def run_options(given: Mapping[str, Any]) -> Options:
    """The options of a run for one cell."""
    told = settings(given)
    told.pop("batch", None)
    return read_options(**told)


def is_batched(given: Mapping[str, Any]) -> bool:
    """Whether the user wants cells together."""
    return "batch" in settings(given)


def batch_options(given: Mapping[str, Any], shared: Sequence[str]) -> Options:
    """The options of a run for many cells, which share some arguments."""
    return read_options(**settings(given), batch_shared=shared)


def rendering_options() -> Options:
    """The options of a run that changes nothing."""
    return read_options(level="O0", cost="operations", validate=False)
