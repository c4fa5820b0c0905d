"""Count the printed errors and accuracies that the papers' pages reproduce, from the CSV files beside the pages: the ledger."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from marginopt.errors import DataError

from .comparison import Verdict
from .record import PAPERS, CellKind, PaperFigure, PaperTable, paper_figures, paper_tables

#: A row of a page's CSV file: words by column.
CsvRow: TypeAlias = Mapping[str, str]
_OUTSIDE = (Verdict.ABOVE, Verdict.BELOW)


@dataclass(frozen=True)
class CellCounts:
    """Numbers of cells with a printed number, by outcome of the comparison.

    Parameters
    ----------
    printed : int
        All of them: each is inside, outside, not judged or not run.
    inside, outside : int
        Judged cells whose measured value is at most one published deviation away, or further.
    tested, equal : int
        Judged cells with both deviations and both numbers of repetitions, and those of them equal by Welch's test at 5%.
    inside_different : int
        Cells inside that are different by that test.
    not_judged, missing : int
        Cells measured and not judged; cells not run.
    reasons : tuple of str
        Reasons why cells are not judged or not run, with the number of each.
    """

    printed: int
    inside: int
    outside: int
    tested: int
    equal: int
    inside_different: int
    not_judged: int
    missing: int
    reasons: tuple[str, ...]

    @property
    def measured(self) -> int:
        """Return the number of cells that were measured."""
        return self.printed - self.missing

    @classmethod
    def of(cls, rows: Iterable[CsvRow]) -> CellCounts:
        """Count the rows of CSV files that have a printed number."""
        cells = [row for row in rows if row["published"]]
        verdicts = Counter(row["verdict"] for row in cells)
        welch = Counter((row["verdict"] == Verdict.INSIDE, row["welch"]) for row in cells if row["welch"])
        equal = welch[True, "equal"] + welch[False, "equal"]
        return cls(
            len(cells), verdicts[Verdict.INSIDE], sum(verdicts[word] for word in _OUTSIDE), welch.total(), equal,
            welch[True, "different"], verdicts[Verdict.UNJUDGED], verdicts[Verdict.MISSING], _reasons(cells),
        )  # fmt: skip


@dataclass(frozen=True)
class Ledger:
    """Numbers of reproduced cells of all papers whose pages are in one folder.

    Parameters
    ----------
    results : sequence of (table, count)
        Printed errors and accuracies, by table.
    other_kinds : sequence of (table, kind, count)
        All other cells with a printed number.
    total : CellCounts
        The sum of ``results``.
    """

    results: Sequence[tuple[PaperTable, CellCounts]]
    other_kinds: Sequence[tuple[PaperTable, CellKind, CellCounts]]
    total: CellCounts


def read_ledger(folder: Path) -> Ledger:
    """Count the cells of the pages in a folder."""
    rows = _rows(folder)
    groups: dict[tuple[str, str], list[CsvRow]] = defaultdict(list)
    for row in rows:
        if row["published"]:
            groups[row["table"], row["kind"]].append(row)
    counted = [
        (table, kind, groups[name, kind]) for name, table in paper_tables().items() for kind in CellKind if (name, kind) in groups
    ]
    results = [(table, CellCounts.of(cells)) for table, kind, cells in counted if kind is CellKind.RESULT]
    apart = [(table, kind, CellCounts.of(cells)) for table, kind, cells in counted if kind is not CellKind.RESULT]
    return Ledger(results, apart, CellCounts.of(row for row in rows if row["kind"] == CellKind.RESULT))


def figures_with_reasons(folder: Path) -> list[tuple[PaperFigure, str]]:
    """Return the figures of the pages in a folder, each with the reason why it is not drawn; empty if it is drawn."""
    drawn = []
    for name in PAPERS:
        path = folder / f"{name}.json"
        if path.is_file():
            stored = json.loads(path.read_text(encoding="utf-8"))
            mine = [one for one in paper_figures().values() if one.paper.name == name]
            drawn += [(one, "") for one in mine if one.name in stored["pictures"]]
            drawn += [(one, stored["reasons"][one.name]) for one in mine if one.name in stored["reasons"]]
    return drawn


def _rows(folder: Path) -> list[CsvRow]:
    files = [folder / f"{name}.csv" for name in PAPERS]
    rows: list[CsvRow] = []
    for path in files:
        if path.is_file():
            rows += csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    if not rows or not {"kind", "welch", "reason"} <= set(rows[0]):
        raise DataError(f"{folder} has no pages of this version: write them by marginopt reproduce", file=folder)
    return rows


def _reasons(cells: Iterable[CsvRow]) -> tuple[str, ...]:
    """Return the reasons of cells not judged, then of those not run; reasons that differ by the set's name only are joined."""
    not_judged = Counter(row["reason"] for row in cells if row["verdict"] == Verdict.UNJUDGED)
    missing = Counter(row["reason"] for row in cells if row["verdict"] == Verdict.MISSING)
    subjects: dict[str, list[str]] = defaultdict(list)
    numbers: Counter[str] = Counter()
    for reason, number in missing.items():
        sentence = reason.partition(": ")[0].partition(". ")[0]
        name, _, why = ("", "", sentence) if sentence[:1].isupper() else sentence.partition(" ")
        why = why.removeprefix("is ").removeprefix("has ")
        subjects[why].append(name)
        numbers[why] += number
    text = [f"{number} not judged: {reason}" for reason, number in not_judged.items()]
    return (
        *text,
        *(f"{numbers[why]} not run: {why}" + (f" ({', '.join(names)})" if any(names) else "") for why, names in subjects.items()),
    )
