"""How nestegg is to optimize: options of FFCx that begin with ``nestegg_``, else variables of the environment.

FFCx passes every entry of ``ffcx_options.json`` on to its language, and DOLFINx every entry of ``form_compiler_options``. Its command
line knows its own options only: there, the environment says the same in capitals.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from nestegg.errors import Error
from nestegg.options import options as read_options

if TYPE_CHECKING:
    from nestegg._core import Options

PREFIX = "nestegg_"

DEFAULTS = {"level": "O3", "cost": "time"}
"""What is chosen where nobody says another."""

WORDS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    found = WORDS.get(str(value).lower())
    if found is None:
        raise ValueError(value)
    return found


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
    "threads": int,
}
"""What each option is read with; :func:`nestegg.optimize_text` says what they mean."""


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
            raise Error(f"`{PREFIX}{name}` cannot be `{value}`") from error
    return told


def run_options(given: Mapping[str, Any]) -> Options:
    """The options of a run."""
    return read_options(**settings(given))
