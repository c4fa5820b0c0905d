"""Checks of the facts that an error carries, for ``pytest.raises(..., check=...)``; sentences are pinned in tests/messages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Facts:
    """A check that an attribute of an error is one of the values."""

    attribute: str
    values: tuple[str, ...]

    def __call__(self, error: BaseException) -> bool:
        return getattr(error, self.attribute) in self.values


def about(*names: str) -> Facts:
    """Return the check that an error names one of the arguments."""
    return Facts("name", names)


def missing(*packages: str) -> Facts:
    """Return the check that an error names one of the packages as missing."""
    return Facts("package", packages)
