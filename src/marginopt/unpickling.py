"""``load_estimator``: estimators that another version of this package pickled, whose classes have moved since."""

from __future__ import annotations

import os
import pickle
import re
from functools import cache
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

from .errors import DataError

__all__ = ["load_estimator"]

_CLASS = re.compile(r"^class (\w+)", flags=re.MULTILINE)


def load_estimator(path: str | os.PathLike[str]) -> Any:
    """A fitted estimator from a file of ``pickle.dump``, of this version or an earlier one.

    ``pickle.load`` finds classes by their modules, and these move from version to version; here a class that is not where it was
    is found by its name, which stays. What was fitted is as it was, so that predictions are the same; parameters that came later
    have their defaults. Results that were pickled before answers were typed say that their claims are as pickled.

    Pickles run code: load none that you do not trust. What ``joblib.dump`` wrote is for ``joblib.load`` in the same version.

    Raises
    ------
    DataError
        No such file, no pickle, no estimator, or one with a class that this version has not.
    """
    file = Path(path)
    try:
        with file.open("rb") as stream:
            found = _Unpickler(stream).load()
    except FileNotFoundError:
        raise DataError(f"there is no file {file}") from None
    except (pickle.UnpicklingError, EOFError, ImportError, AttributeError, IndexError, ValueError, TypeError, KeyError) as error:
        raise DataError(f"{file} cannot be read as an estimator: {error}") from error
    if not isinstance(found, BaseEstimator):
        raise DataError(f"{file} holds a {type(found).__name__}, and no estimator")
    parameters = signature(type(found)).parameters.values()
    vars(found).update({p.name: p.default for p in parameters if p.default is not p.empty and p.name not in vars(found)})
    return found


class _Unpickler(pickle.Unpickler):
    """Finds our classes by their names where they are not in the module that is written."""

    def find_class(self, module: str, name: str) -> Any:
        try:
            return super().find_class(module, name)
        except (ImportError, AttributeError):
            package, _, inside = module.partition(".")
            if package != __package__ or not inside:
                raise
            return getattr(import_module(_home(inside.partition(".")[0], name)), name)


@cache
def _classes(folder: str) -> dict[str, list[str]]:
    """The modules of a folder that define a class, by its name; nothing is imported but the folder."""
    package = import_module(f".{folder}", __package__)
    found: dict[str, list[str]] = {}
    for root in map(Path, package.__path__):
        for file in sorted(root.rglob("*.py")):
            module = ".".join([package.__name__, *file.relative_to(root).with_suffix("").parts])
            for name in _CLASS.findall(file.read_text(encoding="utf-8")):
                found.setdefault(name, []).append(module)
    return found


def _home(folder: str, name: str) -> str:
    """The module that a class of a folder is in now."""
    homes = _classes(folder).get(name, [])
    if len(homes) != 1:
        raise AttributeError(f"this version has no class {name} in marginopt.{folder}")
    return homes[0]
