"""Integrals: FFCx's own code around a body that nestegg writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ffcx.codegeneration.C import integral

from nestegg.ffcx._body import with_body


def generator(ir: Any, domain: Any, options: Mapping[str, Any]) -> tuple[str, str]:
    """Write an integral.

    Parameters
    ----------
    ir
        FFCx's representation of the integral.
    domain
        The type of its cells.
    options
        FFCx's options, with those of nestegg.

    Returns
    -------
    tuple[str, str]
        The declaration and the implementation.
    """
    return with_body(integral.generator, f"{ir.expression.name}_{domain.name}", options, (ir, domain, options))
