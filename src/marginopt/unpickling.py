# exempt (text): names of classes in pickles
"""``load_estimator``: fitted estimators from pickles that may come from anywhere."""

from __future__ import annotations

import math
import os
import pickle
from collections.abc import Mapping
from dataclasses import is_dataclass
from enum import Enum, EnumType
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from .errors import DataError

#: NumPy's flag of a type whose fields are aligned.
_ALIGNED = 0x80
#: Packages whose classes estimators hold.
_PACKAGES = frozenset({"marginopt", "sklearn"})
#: Types and functions by which plain values, arrays and sparse matrices are rebuilt, by module.
_REBUILDING: Mapping[str, frozenset[str]] = {
    "builtins": frozenset({"dict", "set", "frozenset", "complex", "slice", "range", "bytearray", "bytes", "object"}),
    "_codecs": frozenset({"encode"}),
    "collections": frozenset({"OrderedDict", "deque"}),
    "copyreg": frozenset({"_reconstructor", "__newobj__"}),
    "datetime": frozenset({"date", "datetime"}),
    "fractions": frozenset({"Fraction"}),
    "pathlib": frozenset({"PurePosixPath", "PosixPath"}),
    "types": frozenset({"MappingProxyType"}),
    "numpy": frozenset({
        "ndarray", "dtype", "bool_", "bool", "float64", "float32", "int64", "int32", "int8", "uint8", "str_", "object_",
    }),
    "numpy.ma.core": frozenset({"_mareconstruct", "MaskedArray"}),
    "torch": frozenset({"float32", "float64"}),
    "numpy.core.multiarray": frozenset({"_reconstruct", "scalar"}),
    "numpy.core.numeric": frozenset({"_frombuffer"}),
    "numpy.random._pickle": frozenset({"__generator_ctor", "__bit_generator_ctor", "__randomstate_ctor"}),
    "numpy.random._mt19937": frozenset({"MT19937"}),
    "numpy.random._pcg64": frozenset({"PCG64"}),
    "numpy.random.bit_generator": frozenset({"__pyx_unpickle_SeedSequence", "SeedSequence"}),
    "scipy.sparse._csr": frozenset({"csr_array", "csr_matrix"}),
    "scipy.sparse._csc": frozenset({"csc_array", "csc_matrix"}),
}  # fmt: skip

#: Those that reserve memory by a number that they are given.
_RESERVING = frozenset({
    "bytearray", "bytes", "ndarray", "_reconstruct", "csr_array", "csr_matrix", "csc_array", "csc_matrix",
})  # fmt: skip


def load_estimator(path: str | os.PathLike[str]) -> Any:
    """Return a fitted estimator from a file of ``pickle.dump``.

    An estimator that an earlier version wrote is refused: its attributes mean something else now.

    Pickles can call whatever they name. Here they may name classes of this package and of scikit-learn, and what arrays and their
    kin are rebuilt by (`_REBUILDING`): a file that names anything else is refused before it is called. So is a file that changes
    a class, or an array's type into one that reads numbers as addresses, or whose sparse matrices have indices outside of them.
    What ``joblib.dump`` wrote is for ``joblib.load`` in the same version.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Estimator

    Raises
    ------
    DataError
        The file does not exist, is no pickle, holds no estimator or one of an earlier version, or names what no estimator needs.
    """
    file = Path(path)
    try:
        with file.open("rb") as stream:
            reader = _Unpickler(stream)
            reader.size = file.stat().st_size
            estimator = reader.load()
    except FileNotFoundError:
        raise DataError(f"there is no file {file}", file=file) from None
    except Exception as error:  # damaged operands and lengths raise whatever the constructors of classes do
        raise DataError(f"{file} cannot be read as an estimator: {error}", file=file) from error
    if not isinstance(estimator, BaseEstimator):
        raise DataError(f"{file} holds a {type(estimator).__name__}, and no estimator", file=file)
    return estimator


def _rebuilds(module: str, name: str) -> bool:
    """Return whether the name is one of the functions and types by which plain data and arrays are rebuilt."""
    home = module.replace("numpy._core", "numpy.core")  # NumPy 2 moved it
    return name in _REBUILDING.get(home, ())


def _harmless(named_object: object, package: str) -> bool:
    """Return whether what was found is a class of the package that does nothing but hold data when it is made."""
    if not isinstance(named_object, type) or named_object.__module__.partition(".")[0] != package:
        return False
    is_model = named_object.__module__.startswith(f"{__package__}.models.")  # mathematics, which opens and solves nothing
    return package != __package__ or is_model or is_dataclass(named_object) or issubclass(named_object, BaseEstimator | Enum)


def _member(kind: object, name: object) -> Any:
    """Return a member of an enumeration, which is what pickles take attributes for."""
    if not (isinstance(kind, EnumType) and isinstance(name, str) and name in kind.__members__):
        raise pickle.UnpicklingError(f"it takes the attribute {name!r} of an object, which no estimator needs: it may run code")
    return kind.__members__[name]


def _is_true(built: np.dtype[Any], state: tuple[Any, ...]) -> bool:
    """Return whether the type is the file's own copy, and the state one that NumPy gives such types.

    NumPy believes the flags of the state: a type of objects without theirs reads numbers as addresses of objects.
    """
    order, inner, names, fields, size, _, flags = state[1:8]
    rebuilt: np.dtype[Any]
    if names is not None:
        formats, offsets = zip(*(fields[name][:2] for name in names), strict=True)
        described: Any = {"names": list(names), "formats": list(formats), "offsets": list(offsets), "itemsize": size}
        rebuilt = np.dtype(described, align=bool(flags & _ALIGNED))
    else:
        rebuilt = built.newbyteorder(order) if inner is None else np.dtype(inner)
    is_own = built is not np.dtype(built.char) and not (rebuilt.hasobject and rebuilt.kind == "V")
    return is_own and rebuilt.__reduce__()[2][1:8] == state[1:8]


def _reserved(arguments: object, dense: bool) -> int:
    """Return the entries that arguments of a call ask for: the largest integer, or, of a dense array, the product of a shape."""
    if isinstance(arguments, tuple | list):
        sizes = [_reserved(argument, dense) for argument in arguments]
        shape = dense and all(isinstance(argument, int) for argument in arguments)
        return math.prod(sizes) if shape else max(sizes, default=0)
    return int(arguments) if isinstance(arguments, int | np.integer) else 0


class _Unpickler(pickle._Unpickler):
    """An unpickler that refuses whatever is not a harmless class of this package or of scikit-learn.

    Python's own implementation, since that in C sets the state of whatever a file names, of classes and enumerations too.
    """

    dispatch: ClassVar[dict[int, Any]] = dict(pickle._Unpickler.dispatch)
    stack: list[Any]
    size: int = 0  #: bytes of the file

    def load(self) -> Any:
        """Return what the file holds; its sparse matrices are checked when nothing can change them any more."""
        self.sparse: list[Any] = []
        content = super().load()
        for matrix in self.sparse:
            matrix.check_format()
        return content

    def load_build(self) -> None:
        """Set the state of an object that the file made.

        Raises
        ------
        UnpicklingError
            It is a class or a member of an enumeration, which all of the process shares; or an array's type that is none.
        """
        built, state = self.stack[-2:]
        if isinstance(built, type | Enum):
            raise pickle.UnpicklingError(f"it changes {built!r} for the whole process: it may run code")
        if isinstance(built, np.dtype) and not _is_true(built, state):
            raise pickle.UnpicklingError(f"it gives NumPy's type {built!r} a state that is another type's: it may run code")
        self.sparse += [built] if sp.issparse(built) else []
        super().load_build()  # type: ignore[misc]

    dispatch[pickle.BUILD[0]] = load_build

    def load_reduce(self) -> None:
        """Call what the file names; what reserves memory by a number may not reserve more than the file can fill.

        Raises
        ------
        UnpicklingError
            A number is larger than the file.
        """
        called, arguments = self.stack[-2:]
        name = getattr(called, "__name__", "")
        entries = _reserved(arguments, name in ("ndarray", "_reconstruct")) if name in _RESERVING else 0
        if entries > self.size:
            raise pickle.UnpicklingError(f"it reserves memory for {entries:,} entries in a file of {self.size:,} bytes")
        super().load_reduce()  # type: ignore[misc]

    dispatch[pickle.REDUCE[0]] = load_reduce

    def find_class(self, module: str, name: str) -> Any:
        module = "builtins" if module == "__builtin__" else module  # as protocol 2 names it
        package = module.partition(".")[0]
        if (module, name) == ("builtins", "getattr"):
            return _member
        if _rebuilds(module, name):
            return super().find_class(module, name)
        if package not in _PACKAGES or "." in name:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which no estimator needs: it may run code")
        try:
            attribute = super().find_class(module, name)
        except (ImportError, AttributeError) as error:
            raise pickle.UnpicklingError(
                f"this version has no {module}.{name}; an earlier version wrote it: fit again"
            ) from error
        if not _harmless(attribute, package):
            raise pickle.UnpicklingError(f"it names {module}.{name}, which is no class of {package}: it may run code")
        return attribute
