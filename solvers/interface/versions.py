"""Versions of installed packages, each read from the disk once a process: a small model takes less time than that."""

from __future__ import annotations

import functools
from importlib import metadata

__all__ = ["installed_version", "version_of"]


@functools.cache
def version_of(package: str) -> str:
    """Version of an installed package.

    Raises
    ------
    importlib.metadata.PackageNotFoundError
        It is not installed.
    """
    return metadata.version(package)


def installed_version(package: str) -> str | None:
    """The same; None where the package is not installed."""
    try:
        return version_of(package)
    except metadata.PackageNotFoundError:
        return None
