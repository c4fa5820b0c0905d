"""Named tuples of arrays that compiled functions pass by reference.

Numba passes a tuple by its parts: one of twenty arrays is two hundred numbers at every call, which the compiler takes apart and
puts together on both sides. Half of all instructions of the exact solver's loops were that. By reference it is one pointer.
Compiled code reads the fields and cannot set them; the arrays that they hold may be written to.

The functions must be compiled without reference counts (`compiled.Loops` does so): what is passed belongs to the caller.
"""

from __future__ import annotations

from typing import Any, TypeVar

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate
from numba.extending import NativeValue, infer_getattr, models, register_model, typeof_impl, unbox

__all__ = ["by_reference"]

T = TypeVar("T", bound=tuple[Any, ...])


class Reference(types.Type):
    """Numba's type of a reference to a named tuple.

    Parameters
    ----------
    content : numba NamedTuple
        What it refers to.
    """

    def __init__(self, content: Any) -> None:
        self.content = content
        super().__init__(name=f"Reference({content.name})")


@register_model(Reference)
class _ReferenceModel(models.PrimitiveModel):
    """A pointer to the tuple's parts."""

    def __init__(self, dmm: Any, fe_type: Reference) -> None:
        super().__init__(dmm, fe_type, dmm.lookup(fe_type.content).get_value_type().as_pointer())


@infer_getattr
class _ReferenceAttributes(AttributeTemplate):
    """A field has the type that it has in the tuple."""

    key = Reference

    def generic_resolve(self, reference: Reference, field: str) -> Any:  # type: ignore[override]
        """The type of a field, None where there is none of this name."""
        return dict(zip(reference.content.fields, reference.content.types, strict=True)).get(field)


@lower_getattr_generic(Reference)
def _field(_context: Any, builder: ir.IRBuilder, reference: Reference, pointer: Any, field: str) -> Any:
    return builder.load(cgutils.gep_inbounds(builder, pointer, 0, reference.content.fields.index(field)))


@unbox(Reference)
def _unbox(reference: Reference, value: Any, c: Any) -> NativeValue:
    """The parts in the frame of the function that Python calls, which outlives what it calls."""
    parts = c.unbox(reference.content, value)
    return NativeValue(cgutils.alloca_once_value(c.builder, parts.value), is_error=parts.is_error, cleanup=parts.cleanup)


def by_reference(kind: type[T]) -> type[T]:
    """A named tuple's class, whose objects compiled functions are to pass by reference."""

    @typeof_impl.register(kind)
    def _typeof(value: Any, c: Any) -> Reference:
        return Reference(types.NamedTuple([typeof_impl(part, c) for part in value], kind))

    return kind
