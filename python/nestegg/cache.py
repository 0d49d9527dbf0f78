"""Where results are kept, so that the same kernel with the same options is optimized once.

Any number of processes, on any number of machines with a file system in common, may share a folder.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TypeAlias

from nestegg import _core
from nestegg.errors import Error

Cache: TypeAlias = "bool | str | os.PathLike[str]"


@dataclass(frozen=True)
class Size:
    """How much a cache holds.

    Attributes
    ----------
    results
        How many results.
    bytes
        The bytes of its files.
    """

    results: int
    bytes: int


def folder(cache: Cache = True) -> str | None:
    """Say where results are kept.

    Parameters
    ----------
    cache
        True for the package's own folder: what ``NESTEGG_CACHE`` says, else ``nestegg`` where the system keeps caches.
        False for none. Else a folder.

    Returns
    -------
    str or None
        The folder, or none.

    Raises
    ------
    Error
        If the system has no folder for caches.
    """
    if not isinstance(cache, bool):
        return os.path.abspath(os.fspath(cache))
    if not cache:
        return None
    place = _core.default_cache()
    if place is None:
        raise Error("there is no default folder for a cache: set `NESTEGG_CACHE`, or name one")
    return os.path.abspath(os.fspath(place))


def size(cache: Cache = True) -> Size:
    """Say how much a cache holds.

    Raises
    ------
    Error
        If the folder holds something else.
    """
    return _asked(cache, clears=False)


def clear(cache: Cache = True) -> Size:
    """Remove all results from a cache, and say how many there were.

    Raises
    ------
    Error
        If the folder holds something else, or something in it cannot be removed.
    """
    return _asked(cache, clears=True)


def _asked(cache: Cache, *, clears: bool) -> Size:
    place = folder(cache)
    if place is None or not os.path.exists(place):
        return Size(0, 0)
    return Size(*_core.cache_size(place, clears))
