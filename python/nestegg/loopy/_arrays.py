"""Where the elements of an array lie, and how the row-major arrays of the format hold them.

A loopy array whose axes are only permuted becomes the array with its axes in the order of their strides. One whose rows
are longer in memory than their extent becomes one with these longer rows, and elements that do not lie side by side get
one more axis, of which only the first index is used. Any other array, and any that is read by linear subscripts, becomes
a flat one, indexed by the distance of an element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from loopy.kernel.array import ArrayBase, FixedStrideArrayDimTag
from loopy.typing import auto
from pymbolic import primitives as p

from nestegg.errors import Unsupported

DTYPES = {"bool", "int32", "int64", "float32", "float64"}

STORED = {"int8", "int16", "uint8", "uint16", "uint32", "uint64"}
"""What arrays hold and nothing is computed in."""


@dataclass(frozen=True)
class Layout:
    """How an array of the format holds a loopy array.

    Attributes
    ----------
    axes
        For each axis of the format's array, the loopy axis that it is; nothing for a flat array.
    strides
        The strides of a flat array.
    shape
        The shape of the format's array, in loopy's expressions; the first extent is ``None`` if it is not stated. It has one axis more than there are ``axes`` where
        elements do not lie side by side.
    """

    axes: tuple[int, ...] | None
    strides: tuple[Any, ...]
    shape: tuple[Any, ...]
    is_padded: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether it is the same array."""
        return self.axes is not None and self.axes == tuple(range(len(self.axes))) and not self.is_padded

    def indices(self, indices: Sequence[Any]) -> list[Any]:
        """The format's indices of an element."""
        if self.axes is not None:
            return [indices[axis] for axis in self.axes] + [0] * (len(self.shape) - len(self.axes))
        terms = [
            index if stride == 1 else p.Product((index, stride))
            for index, stride in zip(indices, self.strides, strict=True)
            if not (isinstance(stride, int) and stride == 0)
        ]
        return [terms[0] if len(terms) == 1 else p.Sum(tuple(terms)) if terms else 0]


def dtype_name(dtype: Any, place: str) -> str:
    """The format's name of a dtype.

    Raises
    ------
    Unsupported
        If the format does not have it.
    """
    numpy_dtype = getattr(dtype, "numpy_dtype", dtype)
    if numpy_dtype is None or not isinstance(numpy_dtype, np.dtype):
        raise Unsupported(f"the type {dtype} has no place in the format", place)
    name = "bool" if numpy_dtype.kind == "b" else str(numpy_dtype.name)
    if name not in DTYPES:
        what = {"c": "complex numbers in a linearized kernel have", "u": "conversions to unsigned integers have", "i": "conversions to small integers have"}
        reason = what.get(numpy_dtype.kind, f"the type {name} has")
        raise Unsupported(f"{reason} no place in the format (dtype {name})", place)
    return name


def element_name(dtype: Any, place: str) -> str:
    """The format's name of the type of an array's elements.

    Raises
    ------
    Unsupported
        If the format does not have it.
    """
    name = str(getattr(getattr(dtype, "numpy_dtype", dtype), "name", dtype))
    return name if name in STORED else dtype_name(dtype, place)


def layout(array: ArrayBase, place: str, *, is_linear: bool, owns_memory: bool) -> Layout:
    """How the format holds an array; where it owns its memory, strides are only a way to lay it out.

    Raises
    ------
    Unsupported
        If its memory is no array of numbers.
    """
    shape = array.shape
    if shape is auto:
        raise Unsupported("an array whose shape loopy has not found", place)
    if shape is None and len(array.dim_tags or ()) <= 1:
        shape = (None,)
    if shape is None:
        raise Unsupported("an array of several axes without a shape: give it one", place)
    shape = tuple(shape)
    is_open = any(extent is None for extent in shape)
    if is_open and owns_memory:
        raise Unsupported("a temporary without an extent: give it a shape", place)
    offset = getattr(array, "offset", 0)
    if offset is not None and not (isinstance(offset, (int, np.integer)) and int(offset) == 0):
        raise Unsupported("an array that begins at an offset", place)
    rank = len(shape)
    if rank == 0:
        return Layout((), (), ())
    tags = array.dim_tags
    strides: list[Any] = []
    for tag in tags or ():
        if not isinstance(tag, FixedStrideArrayDimTag):
            if owns_memory:
                break
            raise Unsupported(f"an axis with the tag {tag} is not one array in memory", place)
        strides.append(tag.stride)
    if len(strides) != rank or (owns_memory and not is_linear):
        strides = _row_major(shape)
    if any(stride is auto or stride is None for stride in strides):
        raise Unsupported("an array whose strides are arguments", place)
    if not is_linear:
        by_stride = _permutation(shape, strides)
        if by_stride is not None and not any(shape[axis] is None for axis in by_stride[1:]):
            return Layout(by_stride, tuple(strides), tuple(shape[axis] for axis in by_stride))
        padded = _padded(shape, strides)
        if padded is not None and None not in padded[2][1:]:
            return Layout(*padded, is_padded=True)
    if any(isinstance(stride, int) and stride < 0 for stride in strides):
        raise Unsupported("an array with a negative stride", place)
    if is_open:
        return Layout(None, tuple(strides), (None,))
    last: list[Any] = [1]
    for extent, stride in zip(shape, strides, strict=True):
        if isinstance(extent, int) and isinstance(stride, int):
            last[0] += (extent - 1) * stride
        else:
            last.append(p.Product((p.Sum((extent, -1)), stride)))
    size = last[0] if len(last) == 1 else p.Sum(tuple(last))
    return Layout(None, tuple(strides), (size,))


def _row_major(shape: Sequence[Any]) -> list[Any]:
    strides: list[Any] = []
    stride: Any = 1
    for extent in reversed(shape):
        strides.append(stride)
        stride = _times(extent, stride)
    return strides[::-1]


def _permutation(shape: Sequence[Any], strides: Sequence[Any]) -> tuple[int, ...] | None:
    """The axes, outermost first, if each stride is the product of the extents inside it."""
    rest = list(range(len(shape)))
    axes: list[int] = []
    stride: Any = 1
    while rest:
        # Of axes with the same stride those of extent 1 are inside: they move nothing.
        fits = [axis for axis in reversed(rest) if _same(strides[axis], stride)]
        if not fits:
            return None
        axis = next((axis for axis in fits if _same(shape[axis], 1)), fits[0])
        axes.append(axis)
        rest.remove(axis)
        stride = _times(shape[axis], stride)
    return tuple(reversed(axes))


def _padded(shape: Sequence[Any], strides: Sequence[Any]) -> tuple[tuple[int, ...], tuple[Any, ...], tuple[Any, ...]] | None:
    """The axes, strides and extents of an array with rows that are longer than their extent."""
    if len(shape) == 2 and _same(strides[1], 1) and not isinstance(strides[0], int):
        return (0, 1), tuple(strides), (shape[0], strides[0])
    if len(shape) == 3 and strides[1:] == [2, 1] and shape[2] == 2 and isinstance(strides[0], p.Product) and strides[0].children[0] == 2:
        # Rows of pairs.
        rest = strides[0].children[1:]
        return (0, 1, 2), tuple(strides), (shape[0], rest[0] if len(rest) == 1 else p.Product(rest), 2)
    if not all(isinstance(stride, int) and stride > 0 for stride in strides):
        return None
    axes = sorted(range(len(shape)), key=lambda axis: -strides[axis])
    extents = [shape[axes[0]]]
    for outer, inner in zip(axes, axes[1:], strict=False):
        extent, rest = divmod(strides[outer], strides[inner])
        if rest or not isinstance(shape[inner], int) or shape[inner] > extent:
            return None
        extents.append(extent)
    last = strides[axes[-1]]
    return tuple(axes), tuple(strides), tuple(extents if last == 1 else [*extents, last])


def _times(a: Any, b: Any) -> Any:
    if isinstance(a, (int, np.integer)) and isinstance(b, (int, np.integer)):
        return int(a) * int(b)
    return a if _same(b, 1) else b if _same(a, 1) else p.Product((a, b))


def _same(a: Any, b: Any) -> bool:
    """Whether two expressions of sizes are equal as polynomials."""
    if isinstance(a, (int, np.integer)) and isinstance(b, (int, np.integer)):
        return int(a) == int(b)
    return monomials(a) == monomials(b)


def monomials(expr: Any) -> dict[tuple[str, ...], int]:
    """A polynomial: the coefficient of each product of names."""
    if isinstance(expr, (int, np.integer)):
        return {(): int(expr)} if expr else {}
    if isinstance(expr, p.Sum):
        total: dict[tuple[str, ...], int] = {}
        for child in expr.children:
            for names, factor in monomials(child).items():
                total[names] = total.get(names, 0) + factor
        return {names: factor for names, factor in total.items() if factor}
    if isinstance(expr, p.Product):
        product: dict[tuple[str, ...], int] = {(): 1}
        for child in expr.children:
            terms = monomials(child)
            found: dict[tuple[str, ...], int] = {}
            for a, x in product.items():
                for b, y in terms.items():
                    key = tuple(sorted(a + b))
                    found[key] = found.get(key, 0) + x * y
            product = found
        return product
    return {(str(expr),): 1}
