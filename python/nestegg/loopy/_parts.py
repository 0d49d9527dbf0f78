"""Kernels of complex numbers as kernels of real ones.

In: a kernel without substitution rules whose types are known.
Out: the same on pairs of reals. A complex array has one more axis, the last, of real and imaginary parts; so has a complex value argument.
A complex temporary without axes is two temporaries. An instruction that computes a complex number is one for each part, after those
that compute factors which both parts repeat.
What the functions of :class:`nestegg._pairs.Pairs` do not cover raises :class:`nestegg.Unsupported`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import loopy as lp
import numpy as np
from constantdict import constantdict
from loopy.kernel import KernelState
from loopy.kernel.array import FixedStrideArrayDimTag
from loopy.kernel.data import ArrayArg, TemporaryVariable, ValueArg
from loopy.kernel.function_interface import CallableKernel, ScalarCallable
from loopy.types import NumpyType
from loopy.typing import auto
from pymbolic import primitives as p

from nestegg.errors import Unsupported
from nestegg.loopy._arrays import layout
from nestegg.loopy._functions import MathFunction
from nestegg.loopy._pairs import PARTS, Names, PairReader, involves, is_complex, real_dtype
from nestegg.loopy._types import inferred


def has_complex_numbers(t_unit: lp.TranslationUnit) -> bool:
    """Whether complex numbers stand anywhere in a translation unit."""
    return any(getattr(found, "name", None) in PARTS for found in t_unit.callables_table.values()) or any(
        any(is_complex(data.dtype) for data in (*kernel.args, *kernel.temporary_variables.values()))
        or any(involves(read(insn), ()) for insn in kernel.instructions)
        or any(involves(rule.expression, ()) for rule in kernel.substitutions.values())
        for kernel in (found.subkernel for found in t_unit.callables_table.values() if isinstance(found, CallableKernel))
    )


def in_parts(t_unit: lp.TranslationUnit, name: str) -> lp.TranslationUnit:
    """Write a kernel on pairs of reals; one without complex numbers is the same.

    Raises
    ------
    nestegg.Unsupported
        If a function has branches, or memory is no array of numbers.
    """
    if not has_complex_numbers(t_unit):
        return t_unit
    kernel = t_unit[name]
    new_name, new_id = kernel.get_var_name_generator(), kernel.get_instruction_id_generator()
    args = [argument_in_parts(arg) for arg in kernel.args]
    temporaries: dict[str, Any] = {}
    scalars: dict[str, tuple[str, str]] = {}
    for old in kernel.temporary_variables.values():
        if is_complex(old.dtype) and old.shape == () and old.initializer is None:
            scalars[old.name] = (new_name(f"{old.name}_re"), new_name(f"{old.name}_im"))
            for part in scalars[old.name]:
                temporaries[part] = temporary_in_parts(old, part, (), None)
        else:
            temporaries[old.name] = array_in_parts(old) if is_complex(old.dtype) else old
    dtypes = {data.name: data.dtype.numpy_dtype for data in (*args, *temporaries.values()) if isinstance(data.dtype, NumpyType)}
    names = Names(
        scalars=scalars,
        arrays={data.name for data in (*kernel.args, *kernel.temporary_variables.values()) if is_complex(data.dtype)} - set(scalars),
        functions={str(id): found.name for id, found in t_unit.callables_table.items() if isinstance(found, ScalarCallable)},
        dtypes={**dtypes, **{scalar: dtypes[re] for scalar, (re, _) in scalars.items()}},
        temporaries=temporaries,
        new_name=new_name,
    )
    instructions = [new for insn in kernel.instructions for new in instructions_in_parts(insn, names, new_id)]
    kernel = kernel.copy(args=args, temporary_variables=temporaries, instructions=instructions, state=KernelState.INITIAL)
    callables = constantdict({**t_unit.callables_table, "hypot": MathFunction("hypot")})
    return inferred(t_unit.copy(callables_table=callables).with_kernel(kernel), name)


def temporary_in_parts(old: TemporaryVariable, name: str, shape: tuple[Any, ...], table: Any) -> TemporaryVariable:
    """A temporary of parts."""
    return lp.TemporaryVariable(
        name,
        real_dtype(old.dtype),
        shape=shape,
        initializer=table,
        read_only=old.read_only,
        address_space=old.address_space,
        base_storage=old.base_storage,
    )


def array_in_parts(old: TemporaryVariable) -> TemporaryVariable:
    """A temporary with axes, or a table."""
    if old.shape is auto:
        raise Unsupported("an array whose shape loopy has not found", f"temporary {old.name}")
    table = None if old.initializer is None else np.stack([old.initializer.real, old.initializer.imag], axis=-1)
    return temporary_in_parts(old, old.name, (*old.shape, 2), table)


def argument_in_parts(arg: Any) -> Any:
    """An argument of parts: a complex number is two reals side by side."""
    if not is_complex(arg.dtype):
        return arg
    dtype = real_dtype(arg.dtype)
    if isinstance(arg, ValueArg):
        return lp.GlobalArg(arg.name, dtype, shape=(2,), is_input=True, is_output=False, offset=0)
    place = f"argument {arg.name}"
    if not isinstance(arg, ArrayArg) or arg.shape is auto:
        raise Unsupported("complex numbers that are in no array with a shape", place)
    shape = (None,) if arg.shape is None else tuple(arg.shape)
    strides: list[Any] = []
    for tag in arg.dim_tags or ():
        if not isinstance(tag, FixedStrideArrayDimTag) or tag.stride is auto:
            raise Unsupported(f"complex numbers in an array with an axis with the tag {tag}", place)
        strides.append(2 * tag.stride)
    found = lp.GlobalArg(
        arg.name,
        dtype,
        shape=(*shape, 2),
        strides=(*strides, 1) if len(strides) == len(shape) else None,
        is_input=arg.is_input,
        is_output=arg.is_output,
        offset=arg.offset,
    )
    if layout(found, place, is_linear=False, owns_memory=False).axes is None:
        raise Unsupported("complex numbers in an array whose strides are not those of longer rows", place)
    return found


def instructions_in_parts(insn: Any, names: Names, new_id: Callable[[str], str]) -> Iterator[Any]:
    """The instructions of one; the last has its name."""
    if not names.involved(read(insn)):
        yield insn
        return
    place = f"instruction {insn.id}"
    if not isinstance(insn, lp.Assignment):
        raise Unsupported("complex numbers in an instruction that is no assignment of one number", place)
    try:
        steps = PairReader(names, insn.id).assignment(insn)
    except Unsupported as error:
        raise error if error.place is not None else Unsupported(error.reason, place) from error
    before = insn.depends_on
    for idx, (assignee, expression, predicates) in enumerate(steps):
        id = insn.id if idx == len(steps) - 1 else new_id(insn.id)
        yield insn.copy(
            id=id, assignee=assignee, expression=expression, predicates=predicates, depends_on=before, depends_on_is_final=True
        )
        before = insn.depends_on | {id}


def read(insn: Any) -> tuple[Any, ...]:
    """All expressions of an instruction."""
    if isinstance(insn, lp.MultiAssignmentBase):
        return (*insn.predicates, *insn.assignees, insn.expression)
    names = (*insn.read_dependency_names(), *insn.assignee_var_names())
    return (*insn.predicates, *(p.Variable(name) for name in names))
