"""An optimizer for loop-nest kernels: the same values in far fewer operations.

With loopy installed, :func:`optimize` takes and gives translation units::

    result = nestegg.optimize(t_unit)
    print(result.report)
    t_unit = result.kernel

Without it, :func:`optimize_text` takes and gives kernels as JSON or text.
"""

from __future__ import annotations

from nestegg import cache
from nestegg._core import __VERSION__ as __version__
from nestegg.errors import Error, Label, NotValidated, Unsupported
from nestegg.many import optimize_many
from nestegg.report import Operations, Report
from nestegg.text import Count, Result, Verdict, count_text, optimize_text, to_json, to_text, validate_text
from nestegg.units import count, dump, load, optimize, validate

__all__ = [
    "Count",
    "Error",
    "Label",
    "NotValidated",
    "Operations",
    "Report",
    "Result",
    "Unsupported",
    "Verdict",
    "__version__",
    "cache",
    "count",
    "count_text",
    "dump",
    "load",
    "optimize",
    "optimize_many",
    "optimize_text",
    "to_json",
    "to_text",
    "validate",
    "validate_text",
]
