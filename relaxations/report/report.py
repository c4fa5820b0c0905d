"""The gap report: its data, and the files that it is written to."""

from __future__ import annotations

from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from ...display import frame
from ...drawing import Picture
from ...errors import InputError
from ...files import write_texts
from .data import ReportData
from .document import Document
from .formats import FORMATS, format_of, fragment, read_json, render_csv, render_markdown
from .tables import report_text


class GapReport(ReportData):
    """A gap report: data, and ways to write them down. `write` goes by the suffix of the file; one file is one format.

    Parameters
    ----------
    instances, relaxations, exacts, meta, kappas
        As `ReportData`.
    """

    @cached_property
    def document(self) -> Document:
        """Findings, tables and pictures, made once for all formats."""
        return Document(self)

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """Every picture that there are data for; drawn once."""
        return self.document.pictures

    def write(self, path: str | Path) -> list[Path]:
        """Write the report in the format of the suffix: .html, .md, .csv, .json or .tex.

        Markdown brings its pictures in a folder beside it, CSV a file for each table. Returns the paths, the main one first.

        Raises
        ------
        InputError
            No format has this suffix.
        """
        target = Path(path)
        files = format_of(target).files(self.document, target.stem)
        texts = {target if k == 0 else target.parent / name: text for k, (name, text) in enumerate(files.items())}
        for folder in {place.parent for place in texts}:
            folder.mkdir(parents=True, exist_ok=True)
        write_texts(texts)
        return list(texts)

    def write_all(self, folder: str | Path) -> list[Path]:
        """Write every format into a folder, as ``report`` with its suffix; returns the paths."""
        return [path for suffix in FORMATS for path in self.write(Path(folder) / f"report{suffix}")]

    def html(self) -> str:
        """Return one self-contained page."""
        return self._text(".html")

    def markdown(self, pictures: str | None = None) -> str:
        """Findings and tables in Markdown, with links to the pictures where their folder is given."""
        return render_markdown(self.document, pictures)

    def csv(self, table: Literal["rows", "exacts", "kappas"] = "rows") -> str:
        """Return one line for each row, each exact solve or each κ, raw numbers.

        Raises
        ------
        InputError
            Another table.
        """
        return render_csv(self, table)

    def latex(self) -> str:
        """A LaTeX document with the tables and the profiles."""
        return self._text(".tex")

    def json(self) -> str:
        """Everything that is stored; `from_json` reads it back."""
        return self._text(".json")

    def to_frame(self, table: str = "relaxations") -> Any:
        """Return one table of the page as a pandas data frame, intervals as two columns.

        Parameters
        ----------
        table : str
            Name of a table of the page: "instances", "relaxations", "exacts", "relaxation-means", "exact-means", "kappas".

        Raises
        ------
        InputError
            The report has no such table.
        MissingPackageError
            pandas is not installed.
        """
        tables = {t.name: t for t in self.document.tables}
        if table not in tables:
            raise InputError(f"table must be one of {', '.join(tables)}; it is {table!r}", name="table")
        chosen_table = tables[table]
        return frame([{k: v for c in chosen_table.columns for k, v in c.values(row).items()} for row in chosen_table.rows])

    def _text(self, suffix: str) -> str:
        return next(iter(FORMATS[suffix].files(self.document, "report").values()))

    @classmethod
    def from_json(cls, path: str | Path) -> GapReport:
        """Read a report that `write` wrote as JSON.

        Raises
        ------
        DataError
            No such file, or not a stored report of this layout.
        """
        data = read_json(Path(path))
        return cls(**{f.name: getattr(data, f.name) for f in fields(data)})

    def __str__(self) -> str:
        return report_text(self, self.document.tables)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return fragment(self.document)
