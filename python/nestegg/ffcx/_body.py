"""Puts bodies that nestegg writes into the code that FFCx writes around them.

FFCx's generators format the tree of the body once. Here they run with a formatter that makes a kernel of the tree, optimizes it, and
answers with a call of the function that results. What the format cannot hold gets FFCx's own text, and the user a warning. Where the user
wants cells together, the same tree is optimized again for many cells: the best form for one may be another.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from ffcx.codegeneration.C.formatter import Formatter

from nestegg import _core
from nestegg.errors import Error, Unsupported
from nestegg.ffcx._batch import SHARED, Entry, sizes_of
from nestegg.ffcx._kernel import Kernel, read_kernel
from nestegg.ffcx._settings import batch_options, is_batched, rendering_options, run_options, settings

logger = logging.getLogger("ffcx")

FORMATTER = "Formatter"
"""What the generators of FFCx call their formatter."""

NO_RESULT = {
    "driver::batch",
    "driver::broken",
    "driver::not_equal",
    "driver::not_validated",
    "driver::refused",
    "driver::undefined",
}
"""What errors are called that are no fault of the user's: the integral is as good as one that the format cannot hold."""


def with_body(
    generator: Callable[..., tuple[str, str]], name: str, options: Mapping[str, Any], arguments: tuple[Any, ...]
) -> tuple[str, str]:
    """Run a generator of FFCx with another formatter.

    Parameters
    ----------
    generator
        The generator.
    name
        The name of the integral or expression.
    options
        FFCx's options.
    arguments
        The arguments of the generator.

    Returns
    -------
    tuple[str, str]
        The declaration and the implementation.

    Raises
    ------
    Error
        If an option is at fault, or nestegg is.
    """
    written: list[Body] = []

    def formatter(dtype: Any) -> Body:
        written.append(Body(name, dtype, options))
        return written[-1]

    if not isinstance(generator, FunctionType) or FORMATTER not in generator.__globals__:
        raise Error("this FFCx writes C in a way that nestegg does not know; it is made for FFCx 0.11")
    own = FunctionType(generator.__code__, {**generator.__globals__, FORMATTER: formatter}, generator.__name__)
    declaration, implementation = own(*arguments)
    implementation = "".join(body.function for body in written) + implementation
    if is_batched(options):
        for body in written:
            entry = Entry(name, body.dtype, sizes_of(arguments[0]))
            declaration += entry.declaration
            implementation += body.batch(entry)
    return declaration, implementation


class Body:
    """A formatter of bodies.

    Parameters
    ----------
    name
        The name of the integral or expression.
    dtype
        The type of scalars.
    options
        FFCx's options.

    Attributes
    ----------
    function
        The C of the functions that the body calls.
    tree
        The tree of the body.
    refused
        Why the body is FFCx's own, if it is.
    """

    def __init__(self, name: str, dtype: Any, options: Mapping[str, Any]) -> None:
        self.name = name
        self.dtype = dtype
        self.options = options
        self.function = ""
        self.tree: Any = None
        self.refused: str | None = None

    def __call__(self, tree: Any) -> str:
        """The text of a body."""
        self.tree = tree
        told = run_options(self.options)
        try:
            kernel = read_kernel(tree, f"nestegg_{self.name}", self.dtype)
            done = _core.optimize(kernel.json, self.name, told, shares_file=True)
            if done.shared_c is None:
                raise Unsupported(done.c_refused or "C has no words for the kernel")
        except Error as refused:
            self.refused = self.reason(refused)
            logger.warning("nestegg leaves `%s` to FFCx: %s", self.name, refused.summary)
            return f"// FFCx's own code; what nestegg cannot take: {self.refused}\n{Formatter(self.dtype)(tree)}"
        for warning in done.warnings:
            logger.warning("%s", warning)
        logger.info("%s", done.report_text)
        self.function = f"\n{done.shared_c}"
        return call(kernel)

    def batch(self, entry: Entry) -> str:
        """The C of the entry for many cells, after that of the body."""
        if self.refused is not None:
            return entry.cell_by_cell("`tabulate_tensor` is FFCx's own.")
        try:
            kernel = read_kernel(self.tree, f"nestegg_{self.name}", self.dtype, entry.sizes)
            shared = [argument.name for argument in kernel.arguments if argument.name == SHARED]
            done = _core.optimize(kernel.json, self.name, batch_options(self.options, shared))
            # The result is a kernel like others: what remains is to write it so that it shares the file.
            again = _core.optimize(done.json, self.name, rendering_options(), shares_file=True)
            if again.shared_c is None:
                raise Unsupported(again.c_refused or "C has no words for the kernel")
        except Error as refused:
            reason = self.reason(refused)
            logger.warning("nestegg calls `%s` cell by cell: %s", self.name, refused.summary)
            return entry.cell_by_cell(reason)
        for warning in done.warnings:
            logger.warning("%s", warning)
        logger.info("%s", done.report_text)
        return f"\n{again.shared_c}{entry.of_kernel(kernel)}"

    def reason(self, refused: Error) -> str:
        """Why there is no result; raises what is no reason, but a fault."""
        # Where the user has rules, these may be at fault.
        if not isinstance(refused, Unsupported) and (refused.code not in NO_RESULT or settings(self.options).get("rules")):
            raise refused
        return " ".join(refused.summary.split())


def call(kernel: Kernel) -> str:
    """The statements that call the function of a kernel."""
    lines = []
    passed = []
    for argument in kernel.arguments:
        if argument.is_copied:
            elements = ", ".join(f"{argument.name}[{idx}]" for idx in range(argument.size))
            lines.append(f"const int32_t {argument.name}_[{argument.size}] = {{{elements}}};")
            passed.append(f"{argument.name}_")
        elif argument.is_complex:
            constant = "" if argument.is_written else "const "
            passed.append(f"({constant}{argument.c_type}*){argument.name}")
        else:
            passed.append(argument.name)
    lines.append(f"if ({kernel.name}({', '.join(passed)}))")
    lines.append("{")
    lines.append("  // There is no memory for temporaries: no number is right.")
    lines.append(f"  for (int i = 0; i < {kernel.n_results}; ++i)")
    lines.append("    A[i] = NAN;")
    lines.append("}")
    return "\n".join(lines)
