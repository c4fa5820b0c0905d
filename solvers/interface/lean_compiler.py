"""Numba's compiler for our loops: types that were inferred once are remembered, and instructions are few (`lean_lowering`).

For every ``+`` Numba tries some twenty signatures and asks for each whether it was compiled with the same forty flags, a third of
the time that inference takes. The loops add, compare and index the same few types all the time.

Numba makes a library of every function: optimised, emitted as machine code, and once more optimised as a part of each library
that calls it, directly or not. Python calls one function in ten of ours. Of the others no library is finished; the caller's
is, with all that it needs in it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numba
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import NativeLowering, NopythonTypeInference

from .lean_lowering import LeanLower

__all__ = ["CALLED", "KNOWN", "LINKED", "LeanCompiler"]

#: Whether this release of Numba is one that this was run with. Others do it all by themselves: the same code, and longer to wait.
KNOWN = tuple(map(int, numba.__version__.split(".")[:2])) in {(0, 68)}
#: Signatures found for a function of Numba's and types of arguments, by the flags that were compiled with.
_FOUND: dict[str, dict[Any, Any]] = {}


@contextmanager
def _remembered(context: Any) -> Iterator[None]:
    """While a function is compiled, what its calls of Numba's own functions resolve to is looked up first."""
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
    """Type inference that remembers."""

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


_OURS = {NopythonTypeInference: _Inference, NativeLowering: _Lowering}


class LeanCompiler(Compiler):
    """Numba's compiler with two of its passes replaced, where the code is not looked into."""

    def define_pipelines(self) -> list[Any]:
        """The passes, in order."""
        flags = self.state.flags
        if flags.boundscheck or flags.debuginfo or flags.force_pyobject:
            return super().define_pipelines()
        build, pm = DefaultPassBuilder, PassManager("lean")
        for part in (build.define_untyped_pipeline, build.define_typed_pipeline, build.define_nopython_lowering_pipeline):
            pm.passes.extend((_OURS.get(step, step), said) for step, said in part(self.state).passes)
        pm.finalize()
        return [pm]


class _Part(JITCodeLibrary):
    """Code with all that it calls, for other libraries to take in."""

    def finalize(self) -> None:
        """Take in what is called; nothing is optimised and nothing emitted."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Raise TypeError: Python does not call such a function."""
        self._ensure_finalized()
        return ctypes.cast(ctypes.pythonapi.PyErr_BadArgument, ctypes.c_void_p).value or 0

    @property
    def codegen(self) -> Any:
        """Itself: what is asked for is where to keep Python's objects for the function, and it has none."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: the code is not loaded."""


class _PartCompiler(LeanCompiler):
    """The compiler, with such a library to put the code in."""

    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *rest: Any) -> None:
        super().__init__(typingctx, targetctx, _Part(targetctx.codegen(), "part") if library is None else library, *rest)


#: Options of `numba.njit` for functions that Python calls, and for those that only compiled code does.
CALLED: dict[str, Any] = {}
LINKED: dict[str, Any] = {"no_cpython_wrapper": True}
if KNOWN:
    CALLED["pipeline_class"], LINKED["pipeline_class"] = LeanCompiler, _PartCompiler
