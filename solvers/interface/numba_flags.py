"""Compilation of the algorithms' inner loops by Numba: decorators with one set of its flags (`Loops`), and named tuples that
loops pass by reference (`by_reference`).

State that a loop shares with Python is a named tuple of arrays and of one structured scalar, whose fields both read and write by
name (`named_scalars.integers_and_floats`). Loops allocate no arrays: all buffers are in the tuple. So they are compiled without
reference counts, which would take a quarter of the compile time.

*Named tuples by reference.* Numba passes a tuple by its parts: one of twenty arrays is two hundred numbers at every call, which
the compiler takes apart and puts together on both sides. By reference it is one pointer. Compiled code reads the fields and
cannot set them; the arrays that they hold may be written to. The functions must be compiled without reference counts, as `Loops`
does: the tuple belongs to the caller.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Set
from pathlib import Path
from typing import Any, TypeVar, cast, final

import numba as nb
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate
from numba.extending import NativeValue, infer_getattr, models, register_model, typeof_impl, unbox

from ...code_cache import CodeCache
from .lean_compiler import ENTRY_OPTIONS, INNER_OPTIONS

#: Flags of LLVM that reorder and contract arithmetic, and assume that no NaN occurs.
FAST_MATH = frozenset({"reassoc", "contract", "nsz", "nnan", "arcp"})

#: `numba.njit` without its types, which lack some options.
_njit: Any = nb.njit
F = TypeVar("F", bound=Callable[..., Any])


@final
class Loops:
    """Decorators for the compiled functions of one folder.

    Parameters
    ----------
    fastmath : set of str
        Flags of LLVM by which arithmetic may deviate from IEEE 754.
    *folders : Path
        Folders of the functions that call each other: compiled code on disk is reused while no Python file in them changes.
        Without folders Numba checks the function's own file only, which must then hold the functions that it calls.
    """

    def __init__(self, fastmath: Set[str], *folders: Path) -> None:
        self._flags: dict[str, Any] = {
            "nogil": True, "error_model": "numpy", "fastmath": set(fastmath), "no_cfunc_wrapper": True, "_nrt": False
        }  # fmt: skip
        self._stamp = _digest(folders) if folders else None

    def entry(self, function: F) -> F:
        """Compile a loop that Python calls."""
        dispatcher = _njit(**self._flags, **ENTRY_OPTIONS)(function)
        CodeCache.enable(dispatcher, self._stamp)
        return cast("F", dispatcher)

    def inner(self, function: F) -> F:
        """Compile a function that only compiled code calls."""
        return cast("F", _njit(**self._flags, **INNER_OPTIONS)(function))

    def inlined(self, function: F) -> F:
        """Compile a function into its only caller, before types are inferred."""
        return cast("F", _njit(**self._flags, **INNER_OPTIONS, inline="always")(function))


def _digest(folders: Iterable[Path]) -> bytes:
    """Return the SHA-256 of every Python file in the folders."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.digest()


_loops = Loops(FAST_MATH)
#: The decorators of `Loops` for modules whose arithmetic may be reordered (`FAST_MATH`).
entry, inner, inlined = _loops.entry, _loops.inner, _loops.inlined


T = TypeVar("T", bound=tuple[Any, ...])


class Reference(types.Type):
    """Numba's type of a reference to a named tuple.

    Parameters
    ----------
    content : numba NamedTuple
        The type of the named tuple.
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
    """Types of the fields of a reference: those of the tuple."""

    key = Reference

    def generic_resolve(self, reference: Reference, field: str) -> Any:  # type: ignore[override]
        """Return the type of a field; None if there is no such field."""
        return dict(zip(reference.content.fields, reference.content.types, strict=True)).get(field)


@lower_getattr_generic(Reference)
def _field(_context: Any, builder: ir.IRBuilder, reference: Reference, pointer: Any, field: str) -> Any:
    return builder.load(cgutils.gep_inbounds(builder, pointer, 0, reference.content.fields.index(field)))


@unbox(Reference)
def _unbox(reference: Reference, value: Any, c: Any) -> NativeValue:
    """Store the parts in the frame of the function that Python calls, which outlives all calls inside it."""
    parts = c.unbox(reference.content, value)
    return NativeValue(cgutils.alloca_once_value(c.builder, parts.value), is_error=parts.is_error, cleanup=parts.cleanup)


def by_reference(kind: type[T]) -> type[T]:
    """Register a named tuple's class, whose objects compiled functions then pass by reference; return the class."""

    @typeof_impl.register(kind)
    def _typeof(value: Any, c: Any) -> Reference:
        return Reference(types.NamedTuple([typeof_impl(part, c) for part in value], kind))

    return kind
