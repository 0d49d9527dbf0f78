"""How far subscripts reach: the extents of arguments, of which C knows only where they begin."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from nestegg.errors import Unsupported

Range = tuple[int, int]


def extents_of(accesses: list[list[Any]], bounds: Mapping[str, Range], tables: Mapping[str, Range]) -> list[int]:
    """The least shape that holds all accesses.

    Parameters
    ----------
    accesses
        The subscripts of each access, in the notation of the kernel format.
    bounds
        The least and greatest values of inames.
    tables
        The least and greatest elements of tables of integers.

    Returns
    -------
    list[int]
        The extent of each axis.

    Raises
    ------
    Unsupported
        If a subscript depends on what only the caller knows, or may be negative.
    """
    axes = zip(*([range_of(index, bounds, tables) for index in subscripts] for subscripts in accesses), strict=True)
    extents = []
    for ranges in axes:
        if min(low for low, _ in ranges) < 0:
            raise Unsupported("a subscript that may be negative")
        extents.append(1 + max(high for _, high in ranges))
    return extents


def range_of(index: Any, bounds: Mapping[str, Range], tables: Mapping[str, Range]) -> Range:
    """The least and greatest values that a subscript may have."""
    if isinstance(index, int):
        return index, index
    if isinstance(index, str) and index in bounds:
        return bounds[index]
    if isinstance(index, list) and index[0] in ("+", "-", "*"):
        ranges = [range_of(operand, bounds, tables) for operand in index[1:]]
        if index[0] == "-":
            ranges = [(-high, -low) if len(ranges) == 1 or place else (low, high) for place, (low, high) in enumerate(ranges)]
        found = ranges[0]
        for other in ranges[1:]:
            ends = [a * b if index[0] == "*" else a + b for a, b in product(found, other)]
            found = min(ends), max(ends)
        return found
    if isinstance(index, list) and index[0] == "[]" and index[1] in tables:
        return tables[index[1]]
    raise Unsupported("a subscript that depends on data")
