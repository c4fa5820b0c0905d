"""The package of the papers' protocols, tables and figures: the folder ``reproduction`` of a clone, which no wheel contains.

This module makes the folder importable as a package, so that a submodule has one name, such as ``marginopt.reproduction.record``,
in every process of a clone, on remote workers too. In an installed package the import raises `InputError`.
"""

from __future__ import annotations

from pathlib import Path

from .errors import InputError

_FOLDER = Path(__file__).resolve().parents[2] / "reproduction"
if not (_FOLDER / "__init__.py").is_file():
    raise InputError(
        "the papers' tables are not part of an installed package; clone the repository (its address is in `pip show marginopt` "
        "or where you got the package) and run `marginopt reproduce` in it after `pip install -e .`"
    )
__path__ = [str(_FOLDER)]
