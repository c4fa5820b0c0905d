r"""Gap reports as a LaTeX document: booktabs with captions and labels, profiles in LaTeX's own picture environment."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...models.arrays import FloatArray
from .columns import Column, Table, shown
from .document import Document, ReportScope
from .means import exact_ratios, fraction_within

#: Rows of one tabular, so that it fits a page.
_ROWS = 45
#: Characters that a column of words has on a line, and how wide it is where some have more.
_LINE, _WIDTH = 40, "48mm"
#: Columns of the wide tables that a page has room for.
_CHOSEN = {
    "instances": ("instance", "n", "p", "lam", "zeta", "heuristic", "violations", "misclassified"),
    "relaxation-means": ("family", "lam", "relaxation", "instances", "gap", "median", "closed", "exact", "seconds"),
    "exact-means": ("family", "lam", "variant", "problems", "solved", "fastest", "seconds", "nodes", "root_gap", "left"),
    "relaxations": ("instance", "lam", "relaxation", "bound", "kind", "gap", "closed", "rank_ratio", "seconds"),
    "exacts": ("instance", "lam", "solver", "encoding", "m_source", "seed", "status", "incumbent", "bound", "root", "nodes",
               "seconds", "bound_seconds"),
    "kappas": ("instance", "kappa", "budget", "bound", "kind", "recovered", "zeta", "zeta_kind", "gap", "misclassified", "why"),
}  # fmt: skip
#: What ζ is the optimum of.
_PROBLEM = {
    ReportScope.ZERO_ONE: r"$\min \|w\|^2 + \lambda \sum_i 1\{y_i x_i^\top w < 1\}$; $\zeta$",
    ReportScope.STATED: r"$\zeta$ of a program, which is minimised,",
    ReportScope.BOTH: r"$\min \|w\|^2 + \lambda \sum_i 1\{y_i x_i^\top w < 1\}$, and models as they are stated; $\zeta$",
}
_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$", "|": "$|$", '"': "''",
    "λ": r"$\lambda$", "ζ": r"$\zeta$", "κ": r"$\kappa$", "γ": r"$\gamma$", "σ": r"$\sigma$", "τ": r"$\tau$", "Σ": r"$\Sigma$",
    "ψ": r"$\psi$", "Γ": r"$\Gamma$", "²": r"$^2$", "₊": r"$_+$", "√": r"$\surd$", "×": r"$\times$", "·": r"$\cdot$",
    "≤": r"$\le$", "≥": r"$\ge$", "≻": r"$\succ$", "⪰": r"$\succeq$", "⌊": r"$\lfloor$", "⌋": r"$\rfloor$", "±": r"$\pm$",
    "∞": r"$\infty$", "§": r"\S{}", "ó": r"\'o", "é": r"\'e", "á": r"\'a", "ö": r'\"o', "ü": r'\"u', "ä": r'\"a',
    "Ö": r'\"O', "Ü": r'\"U', "Ä": r'\"A', "ß": r"{\ss}", "ø": r"{\o}", "Ø": r"{\O}", "æ": r"{\ae}", "Æ": r"{\AE}", "ł": r"{\l}",
    "Ł": r"{\L}", "–": "--", "’": "'",
}  # fmt: skip


def render_latex(document: Document) -> str:
    """The document."""
    data = document.data
    parts = [
        r"\documentclass[10pt]{article}",
        r"\usepackage{booktabs}",
        r"\setlength{\paperwidth}{297mm}\setlength{\paperheight}{210mm}",  # landscape: the tables are wide
        r"\ifdefined\pdfpagewidth\pdfpagewidth=\paperwidth\pdfpageheight=\paperheight\fi",
        r"\setlength{\textwidth}{275mm}\setlength{\oddsidemargin}{-14mm}\setlength{\textheight}{180mm}\setlength{\topmargin}{-25mm}",
        r"\setlength{\tabcolsep}{2pt}\setlength{\parindent}{0pt}\setlength{\emergencystretch}{3em}",
        r"\begin{document}",
        rf"\section*{{{document.title}}}",
        rf"{_PROBLEM[document.asked]} is the optimum, the gap $(\zeta - \mathrm{{bound}})/\zeta$.",
        "",
        *_items("Claims that contradict each other", data.contradictions),
        *_items("Findings", [finding.text for finding in document.findings]),
    ]
    for table in document.tables:
        parts += _section(table)
        if table.name == "exact-means":
            parts += _profiles(exact_ratios(data))
    parts += _items("How this was made", [f"{label}: {words}" for label, words in document.head])
    return "\n".join([*parts, r"\end{document}", ""])


def _items(title: str, lines: Sequence[str]) -> list[str]:
    if not lines:
        return []
    items = [rf"\item {{}}{escaped(line)}" for line in lines]  # the braces keep a bracket from being read as an argument
    return [rf"\subsection*{{{title}}}", r"\begin{itemize}\sloppy", *items, r"\end{itemize}"]


def escaped(text: str) -> str:
    """Text for LaTeX; a character without a spelling here by its nearest in ASCII, else its name."""
    return "".join(_spelt(character) for character in text.replace("\n", " "))


def _spelt(character: str) -> str:
    if character in _SPECIAL:
        return _SPECIAL[character]
    if not character.isprintable():  # a form feed ends a paragraph, others are no characters of LaTeX at all
        return " "
    if character.isascii():
        return character
    plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return "".join(_SPECIAL.get(c, c) for c in plain) or f"[{unicodedata.name(character, 'unknown').lower()}]"


def _section(table: Table) -> list[str]:
    chosen = _CHOSEN.get(table.name)
    columns = [c for c in table.columns if chosen is None or c.key in chosen]
    long = _long(columns, table.rows)
    lines, size = [], _ROWS // 2 if long else _ROWS
    for part, first in enumerate(range(0, max(len(table.rows), 1), size)):
        caption = escaped(f"{table.title}{', continued' if part else ''}. {table.note}").strip()
        lines += [
            r"\begin{table}[htbp]\centering\scriptsize",
            rf"\caption{{{caption}}}\label{{tab:{table.name}{f'-{part + 1}' if part else ''}}}",
            *_tabular(columns, long, table.rows[first : first + size]),
            r"\end{table}",
            r"\clearpage" if part % 4 == 3 else "",  # LaTeX keeps few floats waiting
        ]
    return [*lines, r"\clearpage", ""]


def _long(columns: Sequence[Column], rows: Sequence[Any]) -> set[str]:
    """Columns of words that take two lines, so that the table is no wider than the page."""
    words = [c for c in columns if not c.numeric]
    return {c.key for c in words if max((len(shown(c, row)) for row in rows), default=0) > _LINE}


def _tabular(columns: Sequence[Column], long: set[str], rows: Sequence[Any]) -> list[str]:
    layout = "".join("r" if c.numeric else rf"p{{{_WIDTH}}}" if c.key in long else "l" for c in columns)
    lines = [rf"\begin{{tabular}}{{{layout}}}", r"\toprule"]
    lines += [" & ".join(escaped(c.title) for c in columns) + r" \\ \midrule"]
    # a bracket after a line's end would be read as its argument
    lines += [" & ".join("{}" + escaped(_short(shown(c, row))) for c in columns) + r" \\" for row in rows]
    return [*lines, r"\bottomrule", r"\end{tabular}"]


def _short(text: str) -> str:
    """Return the part of a long name that fits a column: long names differ at their ends."""
    return text if len(text) <= 64 else f"{text[:30]}...{text[-31:]}"


def _profiles(ratios: dict[str, FloatArray]) -> list[str]:
    """Steps of level and upright lines: what LaTeX's own picture environment draws exactly; dots tell the variants apart."""
    finite = [r[np.isfinite(r)] for r in ratios.values()]
    if len(ratios) < 2 or next(iter(ratios.values())).size < 2 or not any(f.size for f in finite):
        return []
    largest = max(10.0, 1.5 * max(float(f.max()) for f in finite if f.size))
    lines = [
        r"\subsection*{Performance profiles}",
        r"Part of the problems proved within $\tau$ times the fastest time, $\log_{10}\tau$ from 0 to "
        rf"{np.log10(largest):.2f}.\par\medskip",
        r"\setlength{\unitlength}{1mm}",
        r"\begin{picture}(160,64)(-8,-6)",
        r"\put(0,0){\line(1,0){100}}\put(0,0){\line(0,1){50}}",
        r"\put(-6,-1){0}\put(-6,49){1}\put(98,-5){$\tau$}",
    ]
    for k, (name, values) in enumerate(ratios.items()):
        lines += _steps(values, largest, k)
        y = 48 - 5 * k
        lines += [rf"\put(106,{y}){{{_mark(k)}}}\put(109,{y}){{\scriptsize {escaped(name)}}}"]
    return [*lines, r"\end{picture}\par", ""]


def _mark(k: int) -> str:
    marks = (r"$\circ$", r"$\times$", r"$\diamond$", r"$\bullet$", r"$+$", r"$\star$", r"$\ast$", r"$\cdot$")
    return rf"\makebox(0,0){{{marks[k % len(marks)]}}}"


def _steps(values: FloatArray, largest: float, k: int) -> list[str]:
    scale = 100.0 / np.log(largest)
    taus = np.unique(np.concatenate([[1.0], values[np.isfinite(values)]]))
    lines, x, y = [], 0.0, 0.0
    for tau in taus:
        right, height = float(scale * np.log(tau)), 50.0 * fraction_within(values, float(tau))
        if right > x:
            lines.append(rf"\put({x:.2f},{y:.2f}){{\line(1,0){{{right - x:.2f}}}}}")
        if height > y:
            lines.append(rf"\put({right:.2f},{y:.2f}){{\line(0,1){{{height - y:.2f}}}}}")
            lines.append(rf"\put({right:.2f},{height:.2f}){{{_mark(k)}}}")
        x, y = right, height
    lines.append(rf"\put({x:.2f},{y:.2f}){{\line(1,0){{{100.0 - x:.2f}}}}}")
    return lines
