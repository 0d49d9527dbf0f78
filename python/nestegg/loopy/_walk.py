"""All parts of an expression."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any

from pymbolic import primitives as p


@cache
def _members(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


def nodes(expr: Any) -> list[Any]:
    """An expression, or each of a tuple, and all inside it, constants too."""
    found: list[Any] = []
    waiting = [expr]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple):
            waiting += part
            continue
        found.append(part)
        if isinstance(part, p.ExpressionNode):
            for member in _members(type(part)):
                waiting.append(getattr(part, member))
    return found


def subexpressions(expr: Any) -> list[p.ExpressionNode]:
    """The same without what is no expression of several parts: constants, names of variables."""
    return [part for part in nodes(expr) if isinstance(part, p.ExpressionNode)]
