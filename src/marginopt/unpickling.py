# exempt (text): names of classes in pickles
"""`load_estimator`: read fitted estimators from pickles of unknown origin, without running code that they name."""

from __future__ import annotations

import io
import math
import os
import pickle
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import is_dataclass
from enum import Enum, EnumType
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from .errors import DataError, count_text, short_text
from .solvers import Result

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

#: Names in `_REBUILDING` that reserve memory by a number that they are given, or count up to it.
_RESERVING = frozenset({
    "bytearray", "bytes", "range", "csr_array", "csr_matrix", "csc_array", "csc_matrix",
})  # fmt: skip
#: Entries that all calls of a file may read and reserve, for each of its bytes: a memorised value is named in a few bytes.
_ENTRIES = 4
#: Whole numbers and their quotients, which fractions are written as.
_QUOTIENT = re.compile(r"-?[0-9]{1,4000}(/[0-9]{1,4000})?")


def load_estimator(path: str | os.PathLike[str]) -> Any:
    """Return a fitted estimator from a file of ``pickle.dump``.

    An estimator of an earlier version with another layout of its attributes is refused.

    A pickle can call any function that it names. This function admits classes of this package and of scikit-learn, and the
    functions that rebuild arrays and plain values (`_REBUILDING`); a file with any other name is refused before the call. It also
    refuses a file that changes a class, gives an array an unsafe type, or has sparse matrices with indices out of range.
    Results in the file are not verified again (`Result.unverified`), as those of `load_result` without a model.
    Files of ``joblib.dump`` need ``joblib.load`` in the same version.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    Estimator
        The fitted estimator.

    Raises
    ------
    DataError
        The file does not exist, is no pickle, holds no estimator or one of an earlier version, or names what no estimator needs.
    """
    file = Path(path)
    try:
        content = file.read_bytes()  # a stream of the file would reserve whatever length an operand says
        reader = _Unpickler(io.BytesIO(content))
        reader.size = len(content)
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


def _is_plain_class(named_object: object, package: str) -> bool:
    """Return whether an object is a class of the package whose construction only stores data."""
    if not isinstance(named_object, type) or named_object.__module__.partition(".")[0] != package:
        return False
    is_model = named_object.__module__.startswith(f"{__package__}.models.")  # models open no files and solve nothing
    return package != __package__ or is_model or is_dataclass(named_object) or issubclass(named_object, BaseEstimator | Enum)


def _enum_member(kind: object, name: object) -> Any:
    """Return a member of an enumeration; pickles take attributes for that alone."""
    if not (isinstance(kind, EnumType) and isinstance(name, str) and name in kind.__members__):
        raise pickle.UnpicklingError(
            f"it takes the attribute {short_text(name)} of an object, which no estimator needs: it may run code"
        )
    return kind.__members__[name]


def _is_genuine(built: np.dtype[Any], state: tuple[Any, ...]) -> bool:
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


def _entries(arguments: object, most: int, by_number: bool) -> int:
    """Return the entries of all values inside arguments, counted as often as they are named; the count ends beyond ``most``.

    A range has as many as its length, an array's type as many as its items have bytes, and, ``by_number``, an integer its value.
    """
    count, stack = 0, [arguments]
    while stack and count <= most:
        value = stack.pop()
        count += 1
        if isinstance(value, Mapping):
            stack += [*value.keys(), *value.values()]
        elif isinstance(value, tuple | list | set | frozenset | deque):
            stack += value
        elif isinstance(value, np.dtype):
            count += value.itemsize
        elif isinstance(value, np.ndarray):
            count += value.nbytes
        elif isinstance(value, range):
            count += max((value.stop - value.start) // value.step, 0)
        elif isinstance(value, str | bytes | bytearray):
            count += len(value)
        elif by_number and isinstance(value, int | np.integer):
            count += abs(int(value))
    return count


def _fits_shape(state: object) -> bool:
    """Return whether the state of an array has as many entries, or bytes, as its shape says."""
    if not (isinstance(state, tuple) and len(state) >= 5 and isinstance(state[1], tuple) and isinstance(state[2], np.dtype)):
        return False
    shape, dtype, _, content = state[1:5]
    size = math.prod(shape) * (1 if isinstance(content, list) else dtype.itemsize)
    return isinstance(content, list | bytes | bytearray | str) and size == len(content)


def _check_shown(text: str) -> None:
    """Refuse a text with characters that a terminal obeys."""
    if not text.replace("\n", "").isprintable():
        raise pickle.UnpicklingError("a result in it has texts with characters that no text has")


def _as_tuple(arguments: object) -> tuple[Any, ...]:
    return arguments if isinstance(arguments, tuple) else (None,)


def _are_quotient(arguments: tuple[Any, ...]) -> bool:
    """Return whether arguments make a fraction as Python's versions write it: one text, or numerator and denominator."""
    match arguments:
        case (str() as text,):
            return _QUOTIENT.fullmatch(text) is not None
        case (int(), int() as denominator):
            return denominator != 0
        case _:
            return False


def _is_empty(arguments: tuple[Any, ...]) -> bool:
    """Return whether arguments make an empty array of bytes, whose shape, type and entries a state gives later."""
    return arguments[-2:] in (((0,), b"b"), ((0,), "b")) and len(arguments) in (3, 4)


class _Unpickler(pickle._Unpickler):
    """An unpickler that refuses whatever is not a harmless class of this package or of scikit-learn.

    Python's own implementation, since that in C sets the state of whatever a file names, of classes and enumerations too.
    """

    dispatch: ClassVar[dict[int, Any]] = dict(pickle._Unpickler.dispatch)
    stack: list[Any]
    size: int = 0  #: bytes of the file
    entries: int = 0  #: entries read and reserved by all calls

    def load(self) -> Any:
        """Return what the file holds; its sparse matrices and results are checked at the end, when they no longer change."""
        self.sparse: list[Any] = []
        self.results: list[Result] = []
        content = super().load()
        for matrix in self.sparse:
            matrix.check_format()
        for result in self.results:
            object.__setattr__(result, "unverified", "claims as stored in a pickle, not verified: result.verify needs the model")
            _check_shown(f"{result}\n{result.display().html()}")  # whatever cannot be shown is no result
        return content

    def load_build(self) -> None:
        """Set the state of an object that the file made."""
        built, state = self.stack[-2:]
        if isinstance(built, type | Enum):
            raise pickle.UnpicklingError(f"it changes {short_text(built)} for the whole process: it may run code")
        if isinstance(built, np.dtype) and not _is_genuine(built, state):
            raise pickle.UnpicklingError(
                f"it gives NumPy's type {short_text(built)} a state that is another type's: it may run code"
            )
        if isinstance(built, np.ndarray) and not _fits_shape(state):
            raise pickle.UnpicklingError("it gives an array a shape that its entries do not fill")
        self.sparse += [built] if sp.issparse(built) else []
        super().load_build()  # type: ignore[misc]
        self._examine()

    dispatch[pickle.BUILD[0]] = load_build

    def _count(self, called: object, arguments: object) -> None:
        """Add the entries of a call to those of the calls before it."""
        name, most = getattr(called, "__name__", ""), _ENTRIES * self.size
        if name in ("ndarray", "_reconstruct", "_mareconstruct") and not (isinstance(arguments, tuple) and _is_empty(arguments)):
            raise pickle.UnpicklingError(f"it makes an array by {name} of other arguments than pickles have")
        if name == "Fraction" and not _are_quotient(_as_tuple(arguments)):
            raise pickle.UnpicklingError("it makes a fraction of what is no quotient")
        self.entries += _entries(arguments, most, name in _RESERVING)
        if self.entries > most:
            raise pickle.UnpicklingError(
                f"it reserves memory for more than {count_text(most, 'entry', 'entries', spec=',')} "
                f"in a file of {self.size:,} bytes"
            )

    def _examine(self) -> None:
        """Note a result that the file made. Refuse a type of arrays whose items are larger than the file."""
        value = self.stack[-1]
        self.results += [value] if isinstance(value, Result) else []
        if isinstance(value, np.dtype) and value.itemsize > self.size:
            raise pickle.UnpicklingError(f"it has a type of {value.itemsize:,} bytes in a file of {self.size:,}")

    def load_reduce(self) -> None:
        """Call what the file names, with no more entries than the file can name."""
        self._count(*self.stack[-2:])
        super().load_reduce()  # type: ignore[misc]
        self._examine()

    dispatch[pickle.REDUCE[0]] = load_reduce

    def load_newobj(self) -> None:
        """Make an object of a class that the file names, with no more entries than the file can name."""
        self._count(*self.stack[-2:])
        super().load_newobj()  # type: ignore[misc]
        self._examine()

    dispatch[pickle.NEWOBJ[0]] = load_newobj

    def load_newobj_ex(self) -> None:
        """Make an object as `load_newobj` does, by names too."""
        self._count(self.stack[-3], tuple(self.stack[-2:]))
        super().load_newobj_ex()  # type: ignore[misc]
        self._examine()

    dispatch[pickle.NEWOBJ_EX[0]] = load_newobj_ex

    def find_class(self, module: str, name: str) -> Any:
        module = "builtins" if module == "__builtin__" else module  # as protocol 2 names it
        package = module.partition(".")[0]
        if (module, name) == ("builtins", "getattr"):
            return _enum_member
        if _rebuilds(module, name):
            return super().find_class(module, name)
        if module == "joblib.numpy_pickle":
            raise pickle.UnpicklingError("joblib.dump wrote it, in a format of its own: joblib.load reads it, and runs its code")
        if package not in _PACKAGES or "." in name:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which no estimator needs: it may run code")
        try:
            attribute = super().find_class(module, name)
        except (ImportError, AttributeError) as error:
            raise pickle.UnpicklingError(
                f"this version has no {module}.{name}; an earlier version wrote it: fit again"
            ) from error
        if not _is_plain_class(attribute, package):
            raise pickle.UnpicklingError(f"it names {module}.{name}, which is no class of {package}: it may run code")
        return attribute
