"""All parts of an expression."""

from __future__ import annotations

import dataclasses
from typing import Any

from pymbolic import primitives as p

_MEMBERS: dict[type, tuple[str, ...]] = {p.Variable: ()}
"""What to look into, of each type that was met; to ask for it takes longer than all else here. A name is no part of a variable."""


def nodes(expr: Any) -> list[Any]:
    """An expression, or each of a tuple, and all inside it, constants too."""
    found: list[Any] = []
    waiting = [expr]
    while waiting:
        part = waiting.pop()
        kind = type(part)
        if kind is tuple:
            waiting += part
            continue
        found.append(part)
        members = _MEMBERS.get(kind)
        if members is None:
            members = _MEMBERS[kind] = _members(kind)
        for member in members:
            waiting.append(getattr(part, member))
    return found


def subexpressions(expr: Any) -> list[p.ExpressionNode]:
    """The same without constants."""
    return [part for part in nodes(expr) if isinstance(part, p.ExpressionNode)]


def _members(kind: type) -> tuple[str, ...]:
    is_node = issubclass(kind, p.ExpressionNode) and dataclasses.is_dataclass(kind)
    return tuple(field.name for field in dataclasses.fields(kind)) if is_node else ()
