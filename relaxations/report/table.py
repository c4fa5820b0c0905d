"""The gap report: stored cells, the rows that follow from them, and the ways to write them down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ...errors import InputError
from ...files import write_text
from .cells.kappa_record import KappaCell
from .cells.records import ExactCell, InstanceCell, Key, RelaxationCell
from .gaps import Interval, audit, base_bound, best_known, best_runs, gap, gap_closed, optimum, rank_verdict

if TYPE_CHECKING:
    from .pictures.gallery import Picture

__all__ = ["GapReport", "ReportRow"]


@dataclass(frozen=True)
class ReportRow:
    """One instance × relaxation × exact solver with the figures that follow.

    Parameters
    ----------
    instance : InstanceCell
    relaxation : RelaxationCell
    exact : ExactCell or None
        None in a report without exact solvers.
    zeta : Interval or None
        The optimum by this exact solve (without one: by all cells of the instance).
    gap, closed : Interval or None
    verdict : str
        Of the rank-one check.
    """

    instance: InstanceCell
    relaxation: RelaxationCell
    exact: ExactCell | None
    zeta: Interval | None
    gap: Interval | None
    closed: Interval | None
    verdict: str


@dataclass(frozen=True, eq=False)
class GapReport:
    """Stored results of a gap report. Everything shown is a pure function of these fields.

    Parameters
    ----------
    instances, relaxations, exacts : tuple of cells
    meta : mapping
        Versions, machine, options, seeds, name of the base relaxation, times: plain values.
    kappas : tuple of KappaCell
        Of a sweep over κ.
    """

    instances: tuple[InstanceCell, ...]
    relaxations: tuple[RelaxationCell, ...]
    exacts: tuple[ExactCell, ...]
    meta: Mapping[str, Any] = field(default_factory=dict)
    kappas: tuple[KappaCell, ...] = ()

    def __post_init__(self) -> None:
        keys = [c.key for c in self.instances]
        if len(set(keys)) != len(keys):
            raise InputError(f"instances of a report need different names or λ: {keys}")
        strangers = {c.key for c in (*self.relaxations, *self.exacts)} - set(keys)
        if strangers:
            raise InputError(f"cells belong to instances that the report does not have: {sorted(strangers)}")
        unknown = {c.instance for c in self.kappas} - {c.instance for c in self.instances}
        if unknown:
            raise InputError(f"cells of a sweep over kappa belong to instances that the report does not have: {sorted(unknown)}")

    def relaxations_of(self, key: Key) -> list[RelaxationCell]:
        """Relaxation cells of one instance, in order."""
        return [c for c in self.relaxations if c.key == key]

    def exacts_of(self, key: Key) -> list[ExactCell]:
        """Exact cells of one instance, in order."""
        return [c for c in self.exacts if c.key == key]

    @cached_property
    def rows(self) -> tuple[ReportRow, ...]:
        """One row for each instance × relaxation × exact solver; of a solver's several runs the one that says most."""
        rows = []
        for instance in self.instances:
            relaxed, exacts = self.relaxations_of(instance.key), self.exacts_of(instance.key)
            base = base_bound(relaxed, str(self.meta.get("base", "")))
            known = best_known(instance, relaxed, exacts)
            for cell in relaxed:
                rows += [_row(instance, cell, exact, base, optimum(exact)) for exact in best_runs(exacts)]
                if not exacts:
                    rows.append(_row(instance, cell, None, base, known))
        return tuple(rows)

    @cached_property
    def best(self) -> dict[Key, Interval]:
        """The optimum of each instance by all its cells together."""
        return {c.key: best_known(c, self.relaxations_of(c.key), self.exacts_of(c.key)) for c in self.instances}

    @cached_property
    def contradictions(self) -> tuple[str, ...]:
        """Claims that other cells contradict (a bound above a feasible objective, optima that differ)."""
        return tuple(line for c in self.instances for line in audit(c, self.relaxations_of(c.key), self.exacts_of(c.key)))

    @cached_property
    def pictures(self) -> tuple[Picture, ...]:
        """Every picture that there are data for; drawn once."""
        from .pictures.gallery import gallery

        return gallery(self)

    # -- writing ------------------------------------------------------------------------------------------------

    def html(self) -> str:
        """One self-contained page."""
        from .formats.html import render_html

        return render_html(self)

    def markdown(self, pictures: str | None = None) -> str:
        """The tables in Markdown, with links to the pictures where their folder is given."""
        from .formats.markdown import render_markdown

        return render_markdown(self, pictures)

    def csv(self, table: Literal["rows", "exacts", "kappas"] = "rows") -> str:
        """One line for each row, each exact solve or each κ, raw numbers.

        Raises
        ------
        InputError
            Another table.
        """
        from .formats.csv import render_csv

        return render_csv(self, table)

    def latex(self) -> str:
        """A document with the tables and the profiles, for plain LaTeX."""
        from .formats.latex import render_latex

        return render_latex(self)

    def json(self) -> str:
        """Everything that is stored; `from_json` reads it back."""
        from .formats.json import render_json

        return render_json(self)

    def to_html(self, path: str | Path) -> Path:
        """Write `html` and return the path."""
        return _write(path, self.html())

    def to_markdown(self, path: str | Path, pictures: bool = False) -> Path:
        """Write `markdown`, and the pictures it links to in a folder beside it where asked; returns the path."""
        target = Path(path)
        if not pictures:
            return _write(target, self.markdown())
        folder = target.with_name(f"{target.stem}-pictures")
        self.to_pictures(folder)
        return _write(target, self.markdown(folder.name))

    def to_pictures(self, folder: str | Path) -> list[Path]:
        """Write every picture as SVG into a folder, made where it is not there; returns the paths."""
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        return [_write(place / f"{picture.name}.svg", picture.svg) for picture in self.pictures]

    def to_csv(self, path: str | Path, table: Literal["rows", "exacts", "kappas"] = "rows") -> Path:
        """Write `csv` and return the path."""
        return _write(path, self.csv(table))

    def to_latex(self, path: str | Path) -> Path:
        """Write `latex` and return the path."""
        return _write(path, self.latex())

    def to_json(self, path: str | Path) -> Path:
        """Write `json` and return the path."""
        return _write(path, self.json())

    @classmethod
    def from_json(cls, path: str | Path) -> GapReport:
        """Read a report that `to_json` wrote.

        Raises
        ------
        DataError
            No such file, or not a stored report of this layout.
        """
        from .formats.json import read_json

        return read_json(Path(path))

    def __str__(self) -> str:
        from .tables.relaxations import text_table

        return text_table(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from .formats.html import tables_html

        return tables_html(self)


def _row(
    instance: InstanceCell, cell: RelaxationCell, exact: ExactCell | None, base: float | None, zeta: Interval | None
) -> ReportRow:
    distance = closed = None
    if zeta is not None and cell.bound is not None and cell.bounds_optimum:  # else there is nothing to be a gap of
        distance = gap(cell.bound, zeta)
        if base is not None:
            closed = gap_closed(cell.bound, base, zeta)
    return ReportRow(instance, cell, exact, zeta, distance, closed, rank_verdict(cell))


def _write(path: str | Path, text: str) -> Path:
    return write_text(path, text)
