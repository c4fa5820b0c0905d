"""Records of a gap report: frozen, of plain numbers and words; each kind of cell has record and task in one file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar, runtime_checkable

from ....errors import DataError
from ....models.arrays import Points
from ....solvers.certification.result import Kind

__all__ = ["Cell", "Drawn", "InstanceData", "Key", "Record", "where", "withhold_bound"]

#: What is solved: the instance's name and λ; None where a model was stated as it is.
Key: TypeAlias = tuple[str, float | None]

C = TypeVar("C", bound="Record")


@runtime_checkable
class InstanceData(Protocol):
    """The part of an instance that a report reads (`marginopt.instances.Instance` has it)."""

    @property
    def X(self) -> Points:
        """Rows of data, taken literally."""

    @property
    def y(self) -> Any:
        """Labels -1, +1."""

    @property
    def name(self) -> str:
        """Name, one for each instance of a report."""

    @property
    def source(self) -> str:
        """The source of the data."""


@runtime_checkable
class Drawn(InstanceData, Protocol):
    """Data that say of what family they are and with which parameters they were drawn (`marginopt.instances.Instance` does)."""

    @property
    def family(self) -> str:
        """The family of data that differ in sizes and parameters alone; empty: the name."""

    @property
    def parameters(self) -> Mapping[str, float] | None:
        """Numbers by name; n and p are counted."""


@dataclass(frozen=True)
class Record:
    """A record that JSON can hold.

    Attributes
    ----------
    added : mapping
        Fields that records of earlier versions did not have, and what these mean by it.
    """

    added: ClassVar[Mapping[str, Any]] = {}

    def record(self) -> dict[str, Any]:
        """Plain values by field."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def from_record(cls: type[C], record: dict[str, Any]) -> C:
        """The cell of a record.

        Raises
        ------
        DataError
            The record lacks a field or has one that is not known.
        """
        names = {f.name for f in fields(cls)}
        record = {**cls.added, **record} if isinstance(record, dict) else record
        if not isinstance(record, dict) or set(record) != names:
            content = sorted(record) if isinstance(record, dict) else type(record).__name__
            raise DataError(f"a {cls.__name__} of a stored report has the fields {sorted(names)}; found {content}")
        return cls(**record)


class Solved(Protocol):
    """The fields of a cell whose program may have another optimum than the problem."""

    @property
    def bound(self) -> float | None: ...

    @property
    def kind(self) -> str: ...

    @property
    def caveat(self) -> str: ...


def withhold_bound(cell: Solved) -> None:
    """Move a bound with a caveat to the fields of the program that was solved: ``bound`` bounds the 0-1 optimum or is None."""
    if cell.caveat and (cell.bound is not None or cell.kind != Kind.NONE):
        object.__setattr__(cell, "target_bound", cell.bound)
        object.__setattr__(cell, "target_kind", cell.kind)
        object.__setattr__(cell, "bound", None)
        object.__setattr__(cell, "kind", Kind.NONE.value)


@dataclass(frozen=True)
class Cell(Record):
    """A cell of one instance at one λ."""

    instance: str
    lam: float | None

    @property
    def key(self) -> Key:
        """Instance and λ."""
        return self.instance, self.lam

    @property
    def where(self) -> str:
        """Instance and λ in words."""
        return where(self.instance, self.lam)


def where(name: str, lam: float | None) -> str:
    """An instance and λ in words; the name of a model that was stated as it is."""
    return name if lam is None else f"{name}, λ = {lam:g}"
