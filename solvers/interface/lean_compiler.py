"""A Numba compiler that compiles loops faster: cached types of operators, and fewer instructions for each array access.

The decorators of `solvers.interface.numba_flags`, which compile this package's loops, pass its options to `numba.njit`.
*Lowering* translates a function from Numba's representation, with types, into LLVM's.

For every ``+`` Numba tries some twenty signatures and checks for each whether it was compiled with the same forty flags, which is
a third of the time of type inference. The loops add, compare and index the same few types all the time.

Numba makes a library of every function: optimised, emitted as machine code, and once more optimised as a part of each library
that calls it, directly or not. Python calls one in ten of this package's functions. The others are only linked into the libraries
of their callers, neither optimised nor emitted by themselves.

*The loops are lowered to as few instructions as possible.* Numba prepares for reference counts, for deletions and for
any type that may be indexed or iterated. To read ``a[i]`` it writes the array's parts to memory twice and reads them back; a loop
over a range is a hundred instructions, a division among them; a variable is loaded before each assignment, to be released. LLVM
removes nearly all of that, which takes compile time. This package's loops are compiled without reference counts, so that nothing
is released, and use arrays by their elements, for which half of the instructions suffice. All other code is lowered by Numba.
"""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numba
from llvmlite import ir as llvm
from numba.core import cgutils, ir, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.ir_utils import get_definition, guard
from numba.core.lowering import Lower
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import NativeLowering, NopythonTypeInference

#: Positions of the size, the data and the shape in Numba's structure of an array.
_SIZE, _DATA, _SHAPE = 2, 4, 5
#: LLVM's type of an index.
_WORD = llvm.IntType(64)
#: Operators on numbers that Numba has no other code for where an operand is a constant.
_PLAIN = frozenset({
    operator.add, operator.sub, operator.mul, operator.truediv, operator.lt, operator.le, operator.gt, operator.ge, operator.eq,
    operator.ne, operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift,
})  # fmt: skip
#: Signatures of an operator of `_PLAIN` on two types.
_SIGNATURES: dict[Any, Any] = {}


class LeanLower(Lower):
    """Lowering of functions on arrays, with fewer instructions still where they count no references."""

    def delvar(self, name: str) -> None:
        """Skip the release of a variable in functions without reference counts."""
        if self.context.enable_nrt:
            super().delvar(name)

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Store a value; without reference counts the previous one is not released."""
        if self.context.enable_nrt:
            super().storevar(value, name, argidx)
            return
        self._alloca_var(name, self.typeof(name))
        if name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
        else:
            self.builder.store(value, self.getvar(name))

    def alloca_lltype(self, name: str, lltype: Any, datamodel: Any = None) -> Any:
        """Allocate a variable in the frame without filling it."""
        if self.context.enable_nrt:
            return super().alloca_lltype(name, lltype, datamodel)
        with self.builder.goto_entry_block():
            return self.builder.alloca(lltype, name=name)

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        """Read an element of an array from its data."""
        array = self.typeof(value.name)
        place = self._element(array, value, self._indices(index)) if _plain(array) and resty == array.dtype else None
        if place is None:
            return super().lower_getitem(resty, expr, value, index, signature)
        return self.context.unpack_value(self.builder, array.dtype, place)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> None:
        """Write an element of an array into its data."""
        array, kind = self.typeof(target_var.name), self.typeof(value_var.name)
        scalar = _plain(array) and isinstance(kind, types.Number | types.Boolean)
        place = self._element(array, target_var, self._indices(index_var)) if scalar else None
        if place is None:
            super().lower_setitem(target_var, index_var, value_var, signature)
            return
        value = self.context.cast(self.builder, self.loadvar(value_var.name), kind, array.dtype)
        self.context.pack_value(self.builder, array.dtype, value, place)

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        """Lower arithmetic and comparisons of numbers by cached signatures."""
        kinds = [self.typeof(side.name) for side in (expr.lhs, expr.rhs)]
        if op not in _PLAIN or not all(isinstance(kind, types.Number | types.Boolean) for kind in kinds):
            return super().lower_binop(resty, expr, op)
        kind, argument_types = self.context.typing_context.resolve_value_type(op), self.fndesc.calltypes[expr].args
        if (kind, argument_types) not in _SIGNATURES:
            _SIGNATURES[kind, argument_types] = kind.get_call_type(self.context.typing_context, argument_types, {})
        signature = _SIGNATURES[kind, argument_types]
        function = self.context.get_function(kind, signature)
        sides = [self._cast_var(side, kind) for side, kind in zip((expr.lhs, expr.rhs), signature.args, strict=True)]
        return self.context.cast(self.builder, function(self.builder, sides), signature.return_type, resty)

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        """Lower sizes and shapes of arrays, elements at a constant, ranges and loops over them."""
        value = None
        if expr.op == "call" and isinstance(resty, types.RangeType):
            value = self._range(resty, expr)
        elif expr.op in _READ:
            kind = self.typeof(expr.value.name)
            value = _READ[expr.op](self, resty, expr, kind)
        return super().lower_expr(resty, expr) if value is None else value

    def _indices(self, index: Any) -> list[tuple[Any, Any]]:
        """Return type and value of each index."""
        kind, value = self.typeof(index.name), self.loadvar(index.name)
        if not isinstance(kind, types.BaseTuple):
            return [(kind, value)]
        parts: Any = kind
        return [(part, self.builder.extract_value(value, k)) for k, part in enumerate(parts)]

    def _element(self, array: Any, var: Any, indices: list[tuple[Any, Any]]) -> Any:
        """Return the address of an element, None for other indices; negative indices count from the end."""
        if len(indices) != array.ndim or not all(isinstance(kind, types.Integer) for kind, _ in indices):
            return None
        b, array_value, offset = self.builder, self.loadvar(var.name), None
        for axis, (kind, index) in enumerate(indices):
            place = self.context.cast(b, index, kind, types.intp)
            if kind.signed and not (isinstance(place, llvm.Constant) and place.constant >= 0):
                from_end = b.add(place, b.extract_value(array_value, (_SHAPE, axis)))
                place = b.select(b.icmp_signed("<", place, llvm.Constant(_WORD, 0)), from_end, place)
            offset = place if offset is None else b.add(b.mul(offset, b.extract_value(array_value, (_SHAPE, axis))), place)
        return b.gep(b.extract_value(array_value, _DATA), [offset])

    def _range(self, resty: Any, expr: Any) -> Any:
        """Return the range (start, stop, 1) of ``range(stop)`` and ``range(start, stop)``; None for other calls."""
        signature = self.fndesc.calltypes[expr]
        kind = self.context.get_value_type(resty.dtype)
        if expr.kws or expr.vararg or len(signature.args) != len(expr.args) or len(expr.args) > 2:
            return None
        ends = [self._cast_var(end, part) for end, part in zip(expr.args, signature.args, strict=True)]
        if any(end.type != kind for end in ends):
            return None
        start = llvm.Constant(kind, 0) if len(ends) == 1 else ends[0]
        return self._struct(resty, [start, ends[-1], llvm.Constant(kind, 1)])

    def _struct(self, kind: Any, parts: list[Any]) -> Any:
        struct = llvm.Constant(self.context.get_value_type(kind), llvm.Undefined)
        for k, part in enumerate(parts):
            struct = self.builder.insert_value(struct, part, k)
        return struct

    def _attribute(self, _resty: Any, expr: Any, kind: Any) -> Any:
        if not isinstance(kind, types.Array) or expr.attr not in ("size", "shape"):
            return None
        return self.builder.extract_value(self.loadvar(expr.value.name), _SIZE if expr.attr == "size" else _SHAPE)

    def _constant_item(self, resty: Any, expr: Any, kind: Any) -> Any:
        if not _plain(kind) or not isinstance(expr.index, int) or resty != kind.dtype:
            return None
        place = self._element(kind, expr.value, [(types.intp, llvm.Constant(_WORD, expr.index))])
        return None if place is None else self.context.unpack_value(self.builder, kind.dtype, place)

    def _begin(self, resty: Any, expr: Any, kind: Any) -> Any:
        """Return the iterator of a range: the address of its next value, stop and step."""
        if not isinstance(kind, types.RangeType):
            return None
        b, range_value = self.builder, self.loadvar(expr.value.name)
        start, stop, step = (b.extract_value(range_value, k) for k in range(3))
        definition: Any = guard(get_definition, self.func_ir, expr.value)
        if not (isinstance(definition, ir.Expr) and definition.op == "call" and len(definition.args) < 3):
            with cgutils.if_unlikely(b, b.icmp_signed("==", step, llvm.Constant(step.type, 0))):
                self.call_conv.return_user_exc(b, ValueError, ("range() arg 3 must not be zero",))
        with b.goto_entry_block():
            place = b.alloca(start.type)
        b.store(start, place)
        return self._struct(resty, [place, stop, step])

    def _next(self, resty: Any, expr: Any, kind: Any) -> Any:
        """Return the next value of a range, and whether there is one."""
        if not isinstance(kind, types.RangeIteratorType):
            return None
        b, iterator = self.builder, self.loadvar(expr.value.name)
        place, stop, step = (b.extract_value(iterator, k) for k in range(3))
        value = b.load(place)
        if kind.yield_type in types.signed_domain:
            rises = b.icmp_signed(">", step, llvm.Constant(step.type, 0))
            continues = b.select(rises, b.icmp_signed("<", value, stop), b.icmp_signed(">", value, stop))
        else:
            continues = b.icmp_unsigned("<", value, stop)
        b.store(b.add(value, step), place)
        return self._struct(resty, [value, continues])

    def _of_pair(self, _resty: Any, expr: Any, kind: Any) -> Any:
        if not isinstance(kind, types.Pair) or not isinstance(kind.first_type, types.Integer):
            return None
        return self.builder.extract_value(self.loadvar(expr.value.name), 0 if expr.op == "pair_first" else 1)


#: Methods that lower expressions which read a value, by kind of expression; each returns None for types that it does not know.
_READ: dict[str, Any] = {
    "getattr": LeanLower._attribute,
    "static_getitem": LeanLower._constant_item,
    "getiter": LeanLower._begin,
    "iternext": LeanLower._next,
    "pair_first": LeanLower._of_pair,
    "pair_second": LeanLower._of_pair,
}


def _plain(kind: Any) -> bool:
    """Return whether a type is that of an aligned array in C order whose elements are numbers."""
    is_plain = isinstance(kind, types.Array) and kind.layout == "C" and kind.aligned
    return is_plain and isinstance(kind.dtype, types.Number | types.Boolean)


#: True if this compiler was tested with the installed release of Numba. Otherwise Numba's own, slower compiler is used.
NUMBA_IS_TESTED = tuple(map(int, numba.__version__.split(".")[:2])) in {(0, 68)}
#: Signatures found for a function of Numba's and types of arguments, by the flags of the compilation.
_FOUND: dict[str, dict[Any, Any]] = {}


@contextmanager
def _remembered(context: Any) -> Iterator[None]:
    """Resolve calls of Numba's own functions by earlier results inside the ``with`` block."""
    flags, before = ConfigStack.top_or_none(), vars(context).get("resolve_function_type")
    table = _FOUND.setdefault(flags.summary(), {})
    usual = type(context).resolve_function_type

    def resolve(function: Any, args: Any, kws: Any) -> Any:
        if kws or not isinstance(function, types.Function) or ConfigStack.top_or_none() is not flags:
            return usual(context, function, args, kws)
        signature = table.get((function, args))
        if signature is None:
            signature = usual(context, function, args, kws)
            if signature is not None:
                table[function, args] = signature
        return signature

    context.resolve_function_type = resolve
    try:
        yield
    finally:
        del context.resolve_function_type
        if before is not None:
            context.resolve_function_type = before


@register_pass(mutates_CFG=True, analysis_only=False)
class _Inference(NopythonTypeInference):
    """Type inference that reuses signatures found before."""

    _name = "marginopt_type_inference"

    def run_pass(self, state: Any) -> bool:
        """Infer the types of a function's variables."""
        with _remembered(state.typingctx):
            return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    """Lowering to few instructions."""

    _name = "marginopt_lowering"

    @property
    def lowering_class(self) -> Any:
        """The class that turns Numba's intermediate representation into LLVM's."""
        return LeanLower


#: Passes of Numba's that are replaced.
_OURS = {NopythonTypeInference: _Inference, NativeLowering: _Lowering}


class LeanCompiler(Compiler):
    """Numba's compiler with its type inference and lowering replaced, unless debugging or bounds checks are asked for."""

    def define_pipelines(self) -> list[Any]:
        """Return the passes, in order."""
        flags = self.state.flags
        if flags.boundscheck or flags.debuginfo or flags.force_pyobject:
            return super().define_pipelines()
        build, pm = DefaultPassBuilder, PassManager("lean")
        for part in (build.define_untyped_pipeline, build.define_typed_pipeline, build.define_nopython_lowering_pipeline):
            pm.passes.extend((_OURS.get(step, step), pass_flags) for step, pass_flags in part(self.state).passes)
        pm.finalize()
        return [pm]


class _Part(JITCodeLibrary):
    """A library that other libraries link, with all code that it calls; it is neither optimised nor emitted by itself."""

    def finalize(self) -> None:
        """Link the called code; nothing is optimised and nothing emitted."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return the address of a C function that raises TypeError: Python does not call compiled code of this library."""
        self._ensure_finalized()
        return ctypes.cast(ctypes.pythonapi.PyErr_BadArgument, ctypes.c_void_p).value or 0

    @property
    def codegen(self) -> Any:
        """Return the object itself: Numba asks where to keep Python's objects for the function, and it has none."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: the code is not loaded."""


class _PartCompiler(LeanCompiler):
    """The compiler with a `_Part` as the library of the code."""

    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *args: Any) -> None:
        super().__init__(typingctx, targetctx, _Part(targetctx.codegen(), "part") if library is None else library, *args)


#: Options of `numba.njit` for functions that Python calls, and for functions that only compiled code calls.
ENTRY_OPTIONS: dict[str, Any] = {}
INNER_OPTIONS: dict[str, Any] = {"no_cpython_wrapper": True}
if NUMBA_IS_TESTED:
    ENTRY_OPTIONS["pipeline_class"], INNER_OPTIONS["pipeline_class"] = LeanCompiler, _PartCompiler
