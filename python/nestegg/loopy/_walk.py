"""All parts of an expression."""

from __future__ import annotations

import dataclasses
from typing import Any

from pymbolic import primitives as p

_MEMBERS: dict[type, tuple[str, ...]] = {}
"""The members of each type of expression that was met; to ask for them takes longer than all else here."""


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
            kind = type(part)
            members = _MEMBERS.get(kind)
            if members is None:
                members = _MEMBERS[kind] = tuple(field.name for field in dataclasses.fields(part))
            for member in members:
                waiting.append(getattr(part, member))
    return found


def subexpressions(expr: Any) -> list[p.ExpressionNode]:
    """The same without constants and the names of variables."""
    return [part for part in nodes(expr) if isinstance(part, p.ExpressionNode)]
