"""Kernels of FFCx's trees.

FFCx writes the body of ``tabulate_tensor`` as a tree of statements, LNodes, which its languages format. A tree holds declarations,
loops over constant ranges, and assignments; here each becomes what it is in the kernel format, in the same order.

Arguments get the extents that are accessed. The element tensor has the axes that FFCx flattens. Complex numbers are pairs: each complex
scalar is two temporaries, each complex array has a last axis of two.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import ffcx.codegeneration.lnodes as L
import numpy as np

from nestegg._pairs import Value
from nestegg.errors import Unsupported
from nestegg.ffcx._ranges import extents_of
from nestegg.ffcx._values import Array, Loop, Scalar, Scope, Values

ARGUMENTS = {
    "A": L.DataType.SCALAR,
    "w": L.DataType.SCALAR,
    "c": L.DataType.SCALAR,
    "coordinate_dofs": L.DataType.REAL,
    "entity_local_index": L.DataType.INT,
    "quadrature_permutation": L.DataType.INT,
}
"""The arguments of ``tabulate_tensor`` that kernels access, in their order."""

RESULT = "A"

BYTES = "quadrature_permutation"
"""The argument whose elements are bytes; the format has none, and gets a copy."""

C_TYPES = {"float32": "float", "float64": "double"}

PARTS = 2
"""A complex number has so many."""


@dataclass(frozen=True)
class Argument:
    """An argument of a kernel.

    Attributes
    ----------
    name
        Its name, in the kernel and in UFCx.
    size
        How many elements are accessed.
    is_copied
        Whether the kernel gets a copy of other integers.
    is_complex
        Whether the kernel gets its numbers as pairs.
    is_written
        Whether it is the result.
    c_type
        The type of its elements in C.
    """

    name: str
    size: int
    is_copied: bool
    is_complex: bool
    is_written: bool
    c_type: str


@dataclass(frozen=True)
class Kernel:
    """A kernel, and how it is called.

    Attributes
    ----------
    name
        The name of its function.
    json
        The kernel.
    arguments
        What its function takes.
    n_results
        How many elements the element tensor has.
    """

    name: str
    json: str
    arguments: list[Argument]
    n_results: int


def read_kernel(tree: Any, name: str, dtype: Any, sizes: Mapping[str, int] | None = None) -> Kernel:
    """Make a kernel of a body.

    Parameters
    ----------
    tree
        The body as FFCx's generators give it.
    name
        The name of the kernel.
    dtype
        The type of scalars.
    sizes
        The sizes of arguments where these are more than the extents that are accessed.

    Returns
    -------
    Kernel
        The kernel.

    Raises
    ------
    Unsupported
        If the format cannot hold something in it.
    """
    reader = _Reader(np.dtype(dtype))
    reader.statement(tree)
    return reader.kernel(name, sizes or {})


class _Reader:
    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.is_complex = dtype.kind == "c"
        self.real = np.dtype(dtype.type(0).real.dtype).name
        if self.real not in C_TYPES:
            raise Unsupported(f"scalars of the type {dtype.name}")
        self.scope = Scope(reserved=ARGUMENTS)
        self.accesses: dict[str, list[list[Any]]] = {name: [] for name in ARGUMENTS}
        for argument, kind in ARGUMENTS.items():
            is_pair = self.is_complex and kind == L.DataType.SCALAR
            self.scope.define(argument, Array(argument, kind, None, is_pair, self.accesses[argument]))
        self.shape: list[int] | None = None
        self.domains: list[str] = []
        self.bounds: dict[str, tuple[int, int]] = {}
        self.temporaries: list[dict[str, Any]] = []
        self.instructions: list[dict[str, Any]] = []
        self.items: list[list[str]] = []
        self.inames: list[str] = []
        self.values = Values(self.scope, self.real, self.is_complex, self.bind)

    # {{{ statements

    def statement(self, node: Any) -> None:
        if isinstance(node, L.Comment):
            return
        if isinstance(node, L.StatementList):
            for child in node.statements:
                self.statement(child)
        elif isinstance(node, L.Section):
            for declaration in node.declarations:
                self.statement(declaration)
            with self.scope.inner():
                for child in node.statements:
                    self.statement(child)
        elif isinstance(node, L.VariableDecl):
            self.variable(node)
        elif isinstance(node, L.ArrayDecl):
            self.array(node)
        elif isinstance(node, L.ForRange):
            self.loop(node)
        elif isinstance(node, L.Statement):
            self.assignment(node.expr)
        elif isinstance(node, list):
            for child in node:
                self.statement(child)
        else:
            raise Unsupported(f"a statement of the kind `{type(node).__name__}`")

    def variable(self, node: Any) -> None:
        # The value is read first: it may name a variable of the same name around.
        value = None if node.value is None else self.values.read(node.value)
        parts = self.temporary_parts(node.symbol, [])
        self.scope.define(node.symbol.name, Scalar(parts, node.symbol.dtype))
        if value is not None:
            self.store([*parts], value)

    def array(self, node: Any) -> None:
        symbol, shape = node.symbol, [int(size) for size in node.sizes]
        kind = symbol.dtype
        is_pair = self.is_complex and kind == L.DataType.SCALAR
        if node.const:
            if is_pair:
                raise Unsupported(f"`{symbol.name}`, a table of complex numbers")
            name = self.scope.fresh(symbol.name)
            numbers = np.asarray(node.values)
            if list(numbers.shape) != shape:
                raise Unsupported(f"`{symbol.name}`, a table with fewer numbers than its shape has")
            dtype = self.dtype(kind)
            if numbers.dtype == bool or kind == L.DataType.INT:
                numbers = numbers.astype(np.int64)
            else:
                numbers = numbers.astype(np.float64)
                if not np.all(np.isfinite(numbers)):
                    raise Unsupported(f"`{symbol.name}`, a table with numbers that are not finite")
            self.temporaries.append(
                {"name": name, "dtype": dtype, "shape": shape, "initializer": numbers.tolist()}
            )
            self.scope.define(symbol.name, Array(name, kind, numbers, False, None))
            return
        name = self.scope.fresh(symbol.name)
        self.temporaries.append(
            {
                "name": name,
                "dtype": self.dtype(kind),
                "shape": shape + [PARTS] * is_pair,
                "initializer": None,
            }
        )
        self.scope.define(symbol.name, Array(name, kind, None, is_pair, None))
        if node.values is None:
            return
        if np.any(np.asarray(node.values)):
            raise Unsupported(f"`{symbol.name}`, an array that begins with other numbers than zeros")
        inames = []
        for axis, size in enumerate(shape):
            inames.append(self.open(f"{symbol.name}_{axis}", 0, size))
        zero: list[Any] = [["[]", name, *inames]] if not is_pair else []
        zero += [["[]", name, *inames, part] for part in range(PARTS)] if is_pair else []
        self.store(zero, Value(0.0))
        for iname in reversed(inames):
            self.close(iname)

    def loop(self, node: Any) -> None:
        begin, end = (self.values.constant(bound, "a bound of a loop") for bound in (node.begin, node.end))
        index = node.index
        if isinstance(index, L.MultiIndex):
            raise Unsupported("a loop over several inames")
        iname = self.open(index.name, begin, end)
        with self.scope.inner():
            self.scope.define(index.name, Loop(iname))
            self.statement(node.body)
        self.close(iname)

    def assignment(self, node: Any) -> None:
        if not isinstance(node, L.AssignOp):
            raise Unsupported(f"a statement of the kind `{type(node).__name__}`")
        targets = self.targets(node.lhs)
        value = self.values.read(node.rhs)
        if not isinstance(node, L.Assign):
            old = self.values.read(node.lhs)
            if isinstance(node, L.AssignAdd):
                value = self.values.add([old, value])
            elif isinstance(node, L.AssignSub):
                value = self.values.subtract(old, value)
            elif isinstance(node, L.AssignMul):
                value = self.values.multiply([old, value])
            elif isinstance(node, L.AssignDiv):
                value = self.values.divide(old, value)
            else:
                raise Unsupported(f"an assignment of the kind `{type(node).__name__}`")
        self.store(targets, value)

    # }}}

    # {{{ what statements write

    def targets(self, node: Any) -> list[Any]:
        """The places of the parts of a variable or element."""
        if isinstance(node, L.Symbol):
            found = self.scope.find(node.name)
            if not isinstance(found, Scalar):
                raise Unsupported(f"an assignment to `{node.name}`")
            return [*found.parts]
        if not isinstance(node, L.ArrayAccess):
            raise Unsupported(f"an assignment to a `{type(node).__name__}`")
        if node.array.name == RESULT:
            self.note_shape(node)
        return self.values.element(node)

    def note_shape(self, node: Any) -> None:
        sizes = [int(size) for size in node.indices[0].sizes] if isinstance(node.indices[0], L.MultiIndex) else None
        if len(node.indices) != 1 or sizes is None:
            raise Unsupported("an element tensor with subscripts that FFCx does not write")
        if self.shape not in (None, sizes):
            raise Unsupported("an element tensor of several shapes")
        self.shape = sizes

    def store(self, targets: list[Any], value: Value) -> None:
        if len(targets) == 1:
            self.run(targets[0], value.re)
            return
        numbers = [value.re, 0.0 if value.im is None else value.im]
        # What is stored first may be a part of what is stored next.
        if _mentions(numbers[1], targets[0]):
            numbers[1] = self.bind(numbers[1])
        for target, number in zip(targets, numbers, strict=True):
            self.run(target, number)

    def run(self, target: Any, number: Any) -> None:
        identity = f"s{len(self.instructions)}"
        self.instructions.append(
            {
                "id": identity,
                "kind": "assignment",
                "assignee": target,
                "expression": number,
                "within_inames": list(self.inames),
                "depends_on": [],
                "predicates": [],
            }
        )
        self.items.append(["run", identity])

    def bind(self, number: Any) -> str:
        """A temporary with a value."""
        name = self.temporary("t", L.DataType.REAL, [])
        self.run(name, number)
        return name

    def temporary_parts(self, symbol: Any, shape: list[int]) -> list[str]:
        if self.is_complex and symbol.dtype == L.DataType.SCALAR:
            return [self.temporary(f"{symbol.name}_{part}", symbol.dtype, shape) for part in ("re", "im")]
        return [self.temporary(symbol.name, symbol.dtype, shape)]

    def temporary(self, wanted: str, kind: Any, shape: list[int]) -> str:
        name = self.scope.fresh(wanted)
        self.temporaries.append({"name": name, "dtype": self.dtype(kind), "shape": shape, "initializer": None})
        return name

    def dtype(self, kind: Any) -> str:
        if kind in (L.DataType.SCALAR, L.DataType.REAL):
            return self.real
        return "bool" if kind == L.DataType.BOOL else "int32"

    def open(self, wanted: str, begin: int, end: int) -> str:
        iname = self.scope.fresh(wanted)
        self.domains.append(f"{{ [{iname}] : {begin} <= {iname} < {end} }}")
        self.bounds[iname] = (begin, end - 1)
        self.items.append(["for", iname])
        self.inames.append(iname)
        return iname

    def close(self, iname: str) -> None:
        self.items.append(["end", iname])
        self.inames.remove(iname)

    # }}}

    def kernel(self, name: str, sizes: Mapping[str, int]) -> Kernel:
        if self.shape is None:
            raise Unsupported("a body that computes nothing")
        tables = {
            found.name: (int(found.values.min()), int(found.values.max()))
            for found in self.scope.arrays()
            if found.values is not None and found.kind == L.DataType.INT and found.values.size
        }
        arguments = []
        declared = []
        for argument, kind in ARGUMENTS.items():
            accesses = self.accesses[argument]
            if not accesses:
                continue
            shape = self.shape if argument == RESULT else extents_of(accesses, self.bounds, tables)
            if argument in sizes:
                shape = self.sized(argument, shape, sizes[argument])
            is_pair = self.is_complex and kind == L.DataType.SCALAR
            is_written = argument == RESULT
            declared.append(
                {
                    "name": argument,
                    "dtype": self.dtype(kind),
                    "shape": shape + [PARTS] * is_pair,
                    "access": "readwrite" if is_written else "read",
                }
            )
            size = int(np.prod(shape, dtype=np.int64))
            c_type = C_TYPES.get(self.dtype(kind), "int32_t")
            arguments.append(Argument(argument, size, argument == BYTES, is_pair, is_written, c_type))
        text = {
            "format": "nestegg-kernel/1",
            "name": name,
            "domains": self.domains,
            "arguments": declared,
            "temporaries": self.temporaries,
            "instructions": self.instructions,
            "linearization": self.items,
        }
        return Kernel(name, json.dumps(text), arguments, int(np.prod(self.shape, dtype=np.int64)))

    def sized(self, argument: str, shape: list[int], size: int) -> list[int]:
        """The shape of an argument that has a size."""
        accessed = int(np.prod(shape, dtype=np.int64))
        if accessed > size or (argument == RESULT and accessed != size):
            raise Unsupported(f"`{argument}` with {accessed} elements, of which FFCx says that they are {size}")
        return shape if argument == RESULT else [size]


def _mentions(number: Any, place: Any) -> bool:
    return number == place or (isinstance(number, list) and any(_mentions(part, place) for part in number))
