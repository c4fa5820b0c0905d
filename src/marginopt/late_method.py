"""`LateMethod`: a method of a form or a result whose implementation, in a higher layer, is imported at the first call.

``form.conflict()`` solves and ``result.verify()`` certifies anew, but a form must not import solvers, nor a result the
certification. So the module of the class holds a `LateMethod`, whose type is the signature. `marginopt` names the module that
implements it (`LateMethod.modules`), and that module registers its function (`LateMethod.implemented_by`), which type checkers
compare with the signature. The module is imported when the method is first called, so that stating a problem loads no solver.

Every folder may import this module.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import ClassVar, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class LateMethod(Generic[P, R]):
    """A method that a class of a lower layer offers and a module of a higher layer implements.

    Parameters
    ----------
    name : str
        Name of the method.
    """

    #: The module that implements each method, by the method's name; `marginopt.__init__` fills it.
    modules: ClassVar[dict[str, str]] = {}

    def __init__(self, name: str) -> None:
        self.name = name
        self._function: Callable[P, R] | None = None

    def implemented_by(self, function: Callable[P, R]) -> None:
        """Register the function that implements the method; its module calls this when it is imported."""
        self._function = function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Import the implementing module if needed, and call its function."""
        if self._function is None:
            import_module(self.modules[self.name])
        if self._function is None:
            raise RuntimeError(f"{self.modules[self.name]} does not implement {self.name!r}")
        return self._function(*args, **kwargs)
