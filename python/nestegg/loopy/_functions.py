"""Functions that loopy does not know by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from constantdict import constantdict
from loopy.diagnostic import LoopyError
from loopy.kernel.function_interface import ScalarCallable
from loopy.types import NumpyType
from pytools.tag import UniqueTag


class ShortSingles(UniqueTag):
    """Of a kernel: its single floats stand for the shortest literals that are read as them, as in the text that it was loaded from."""


WHOLE = "complex_number"
"""The function that puts a complex number together."""

EXTREMA = {"min": "whole_min", "max": "whole_max"}
"""The functions of integers for the format's extrema."""


class MathFunction(ScalarCallable):  # type: ignore[misc, unused-ignore]
    """A function of floats in C's math.h; of single ones it is the one with an ``f`` behind its name."""

    def with_types(self, arg_id_to_dtype: Any, clbl_inf_ctx: Any) -> Any:
        """The function for these types."""
        arguments = {at: dtype for at, dtype in arg_id_to_dtype.items() if at >= 0 and dtype is not None}
        if not arguments:
            return self.copy(arg_id_to_dtype=constantdict(arg_id_to_dtype)), clbl_inf_ctx
        dtype = np.result_type(*(found.numpy_dtype for found in arguments.values()))
        if dtype.kind == "c":
            raise LoopyError(f"`{self.name}` takes no complex numbers")
        if dtype.kind != "f":
            dtype = np.dtype(np.float64)
        types = {at: NumpyType(dtype) for at in [-1, *arguments]}
        name = self.name + ("f" if dtype == np.float32 else "")
        return self.copy(name_in_target=name, arg_id_to_dtype=constantdict(types)), clbl_inf_ctx

    def generate_preambles(self, target: Any) -> Any:
        """The header that declares it."""
        yield ("10_math", "#include <math.h>")


class WholeExtremum(ScalarCallable):  # type: ignore[misc, unused-ignore]
    """The smaller or larger of two integers, each computed once; C has none."""

    def with_types(self, arg_id_to_dtype: Any, clbl_inf_ctx: Any) -> Any:
        """The function for these types."""
        arguments = {at: dtype for at, dtype in arg_id_to_dtype.items() if at >= 0 and dtype is not None}
        if len(arguments) < 2:
            return self.copy(arg_id_to_dtype=constantdict(arg_id_to_dtype)), clbl_inf_ctx
        dtype = np.result_type(np.int32, *(found.numpy_dtype for found in arguments.values()))
        types = {at: NumpyType(dtype) for at in (-1, 0, 1)}
        return self.copy(name_in_target=f"{self.name}_{dtype.name}", arg_id_to_dtype=constantdict(types)), clbl_inf_ctx

    def generate_preambles(self, target: Any) -> Any:
        """Its definition."""
        name = self.name_in_target
        dtype = name.rsplit("_", 1)[1] + "_t"
        operator = "<" if self.name == EXTREMA["min"] else ">"
        yield ("10_stdint", "#include <stdint.h>")
        yield (f"20_{name}", f"static inline {dtype} {name}({dtype} a, {dtype} b)\n{{\n  return a {operator} b ? a : b;\n}}")


class ComplexNumber(ScalarCallable):  # type: ignore[misc, unused-ignore]
    """The complex number of two parts. `CMPLX` does that in C, but only since C11."""

    def with_types(self, arg_id_to_dtype: Any, clbl_inf_ctx: Any) -> Any:
        """The function for these types."""
        arguments = {at: dtype for at, dtype in arg_id_to_dtype.items() if at >= 0 and dtype is not None}
        if len(arguments) < 2:
            return self.copy(arg_id_to_dtype=constantdict(arg_id_to_dtype)), clbl_inf_ctx
        whole = np.result_type(np.complex64, *(found.numpy_dtype for found in arguments.values()))
        part = NumpyType(np.empty(0, whole).real.dtype)
        types = {-1: NumpyType(whole), 0: part, 1: part}
        return self.copy(name_in_target=f"nestegg_{whole.name}", arg_id_to_dtype=constantdict(types)), clbl_inf_ctx

    def generate_preambles(self, target: Any) -> Any:
        """Its definition."""
        name = self.name_in_target
        whole, part = ("float complex", "float") if name.endswith("64") else ("double complex", "double")
        yield ("10_complex", "#include <complex.h>")
        yield (
            f"20_{name}",
            f"static inline {whole} {name}({part} re, {part} im)\n{{\n"
            f"  union {{ {part} parts[2]; {whole} whole; }} number = {{ {{ re, im }} }};\n  return number.whole;\n}}",
        )
