"""The entry beside a function ``tabulate_tensor`` that does for many cells what the function does for one.

Its arguments are those of UFCx with a leading axis of cells, as DOLFINx packs coefficients and geometry; constants are the same for all
cells. The strides come from FFCx's representation: a body tells only what it accesses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import ufl
from ffcx.codegeneration.utils import dtype_to_c_type, dtype_to_scalar_dtype

from nestegg.ffcx._kernel import Kernel

SHARED = "c"
"""The argument that all cells share."""

CELLS = 64
"""Of so many cells integers are copied at once: whole blocks of every width."""

PLACE = 3
"""A node has so many coordinates, in every dimension."""

PARAMETERS = (
    ("A", "{scalar}* restrict"),
    ("w", "const {scalar}* restrict"),
    ("c", "const {scalar}* restrict"),
    ("coordinate_dofs", "const {real}* restrict"),
    ("entity_local_index", "const int* restrict"),
    ("quadrature_permutation", "const uint8_t* restrict"),
    ("custom_data", "void*"),
)
"""What ``tabulate_tensor`` takes, and their types."""


@dataclass(frozen=True)
class Entry:
    """The entry of an integral or expression.

    Attributes
    ----------
    name
        The name of the integral or expression.
    dtype
        The type of scalars.
    sizes
        How many elements of each argument belong to one cell.
    """

    name: str
    dtype: Any
    sizes: dict[str, int]

    @property
    def head(self) -> str:
        """The function without its body."""
        types = {"scalar": dtype_to_c_type(self.dtype), "real": dtype_to_c_type(dtype_to_scalar_dtype(self.dtype))}
        taken = ["int64_t n", *(f"{kind.format(**types)} {parameter}" for parameter, kind in PARAMETERS)]
        begin = f"int tabulate_tensor_{self.name}_batch("
        return begin + (",\n" + " " * len(begin)).join(taken) + ")"

    @property
    def declaration(self) -> str:
        """What the header says."""
        sizes = ", ".join(f"{argument}[{size}]" for argument, size in self.sizes.items() if size)
        # The word is none of C++, and UFCx takes its own meaning of it back.
        head = self.head.replace(" restrict", "")
        return (
            f"\n// What tabulate_tensor_{self.name} does, for n cells.\n"
            f"// One cell has {sizes}.\n"
            f"// All cells share c and custom_data. Returns 1 where memory is short: then A is NaN.\n{head};\n"
        )

    def of_kernel(self, kernel: Kernel) -> str:
        """The entry that calls a kernel of many cells."""
        copied = [argument for argument in kernel.arguments if argument.is_copied]
        passed = []
        for argument in kernel.arguments:
            begin = "" if argument.name == SHARED or not copied else f" + {self.sizes[argument.name]} * begin"
            if argument.is_copied:
                passed.append(f"{argument.name}_")
            elif argument.is_complex:
                constant = "" if argument.is_written else "const "
                passed.append(f"({constant}{argument.c_type}*)({argument.name}{begin})")
            else:
                passed.append(argument.name + begin)
        size = "size" if copied else "n"
        run = [
            f"if ({kernel.name}_batch({', '.join([size, *passed])}))",
            "{",
            "  // There is no memory for temporaries: no number is right.",
            f"  for (int64_t i = 0; i < {self.sizes['A']} * n; ++i)",
            "    A[i] = NAN;",
            "  return 1;",
            "}",
        ]
        if copied:
            copies, loops = [], []
            for argument in copied:
                of_cell = self.sizes[argument.name]
                copies.append(f"int32_t {argument.name}_[{of_cell * CELLS}];")
                loops.append(f"for (int64_t i = 0; i < {of_cell} * size; ++i)")
                loops.append(f"  {argument.name}_[i] = {argument.name}[{of_cell} * begin + i];")
            step = f"const int64_t size = n - begin < {CELLS} ? n - begin : {CELLS};"
            run = [
                *copies,
                f"for (int64_t begin = 0; begin < n; begin += {CELLS})",
                "{",
                *(f"  {line}" for line in [step, *loops, *run]),
                "}",
            ]
        return self._function([*run, "return 0;"])

    def cell_by_cell(self, reason: str) -> str:
        """The entry that calls ``tabulate_tensor`` for each cell."""
        passed = []
        for parameter, _ in PARAMETERS:
            size = self.sizes.get(parameter, 0)
            # Null pointers stay null.
            passed.append(f"{parameter} ? {parameter} + {size} * i : {parameter}" if size else parameter)
        call = f"  tabulate_tensor_{self.name}({', '.join(passed)});"
        return self._function([f"// Cell by cell: {reason}", "for (int64_t i = 0; i < n; ++i)", call, "return 0;"])

    def _function(self, lines: list[str]) -> str:
        body = "\n".join(f"  {line}" for line in lines)
        return f"\n{self.head}\n{{\n{body}\n}}\n"


def sizes_of(ir: Any) -> dict[str, int]:
    """How many elements of each argument belong to one cell.

    Parameters
    ----------
    ir
        FFCx's representation of an integral or expression.

    Returns
    -------
    dict[str, int]
        The sizes of the arguments that are not shared, in UFCx's order.
    """
    found = ir.expression
    n_sides = 2 if found.integral_type == "interior_facet" else 1
    shape = list(found.tensor_shape)
    if found.integral_type == "expression":
        shape += [len(next(iter(found.integrand))[1].points), *found.shape]
    return {
        "A": int(np.prod(shape, dtype=np.int64)),
        "w": n_sides * sum(int(coefficient.ufl_element().dim) for coefficient in found.coefficient_offsets),
        "coordinate_dofs": n_sides * PLACE * _n_nodes(found),
        "entity_local_index": n_sides,
        "quadrature_permutation": n_sides,
    }


def _n_nodes(found: Any) -> int:
    """Nodes of a cell; 0 where nothing in the body belongs to a mesh."""
    terminals = [*found.coefficient_offsets, *found.original_constant_offsets]
    for integrand in found.integrand.values():
        terminals += [node["mt"].terminal for node in integrand["factorization"].nodes.values() if node.get("mt")]
        terminals += [argument.terminal for argument in integrand["modified_arguments"]]
    for terminal in terminals:
        for domain in ufl.domain.extract_domains(terminal):
            # FFCx counts each coordinate of a node.
            return int(found.number_coordinate_dofs) // int(domain.geometric_dimension)
    return 0
