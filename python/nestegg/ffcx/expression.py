"""Expressions: FFCx's own code around a body that nestegg writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ffcx.codegeneration.C import expression

from nestegg.ffcx._body import with_body


def generator(ir: Any, options: Mapping[str, Any]) -> tuple[str, str]:
    """Write an expression.

    Parameters
    ----------
    ir
        FFCx's representation of the expression.
    options
        FFCx's options, with those of nestegg.

    Returns
    -------
    tuple[str, str]
        The declaration and the implementation.
    """
    return with_body(expression.generator, ir.expression.name, options, (ir, options))
