r"""Gap reports as a document that needs nothing beyond LaTeX itself: plain tabulars, profiles in its picture environment."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....models.arrays import FloatArray
from ..means import exact_ratios, fraction_within
from ..table import GapReport
from ..tables.footer import foot_lines
from ..tables.means import Table, report_tables
from ..tables.relaxations import Column, shown

__all__ = ["escaped", "render_latex"]

#: Rows of one tabular, so that it fits a page.
_ROWS = 45
#: Columns of the wide tables that a page has room for.
_CHOSEN = {
    "instances": ("instance", "n", "p", "lam", "zeta", "heuristic", "violations", "misclassified"),
    "relaxations": ("instance", "lam", "relaxation", "bound", "exact_solver", "incumbent", "gap", "closed", "rank_ratio",
                    "seconds"),
    "exacts": ("instance", "lam", "solver", "encoding", "m_source", "seed", "status", "incumbent", "bound", "root", "nodes",
               "seconds", "bound_seconds"),
}  # fmt: skip
_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$", "|": "$|$", '"': "''",
    "λ": r"$\lambda$", "ζ": r"$\zeta$", "κ": r"$\kappa$", "γ": r"$\gamma$", "σ": r"$\sigma$", "τ": r"$\tau$", "Σ": r"$\Sigma$",
    "ψ": r"$\psi$", "Γ": r"$\Gamma$", "²": r"$^2$", "₊": r"$_+$", "√": r"$\surd$", "×": r"$\times$", "·": r"$\cdot$",
    "≤": r"$\le$", "≥": r"$\ge$", "≻": r"$\succ$", "⪰": r"$\succeq$", "⌊": r"$\lfloor$", "⌋": r"$\rfloor$", "±": r"$\pm$",
    "∞": r"$\infty$", "§": r"\S{}", "ó": r"\'o", "é": r"\'e", "á": r"\'a", "ö": r'\"o', "ü": r'\"u', "–": "--", "’": "'",
}  # fmt: skip


def render_latex(report: GapReport) -> str:
    """The document."""
    parts = [
        r"\documentclass[10pt]{article}",
        r"\setlength{\paperwidth}{297mm}\setlength{\paperheight}{210mm}",  # landscape: the tables are wide
        r"\ifdefined\pdfpagewidth\pdfpagewidth=\paperwidth\pdfpageheight=\paperheight\fi",
        r"\setlength{\textwidth}{275mm}\setlength{\oddsidemargin}{-14mm}\setlength{\textheight}{180mm}\setlength{\topmargin}{-25mm}",
        r"\setlength{\tabcolsep}{2pt}\setlength{\parindent}{0pt}\setlength{\emergencystretch}{3em}",
        r"\begin{document}",
        r"\section*{Relaxation gaps of the 0-1 loss}",
        r"$\min \|w\|^2 + \lambda \sum_i 1\{y_i x_i^\top w < 1\}$; $\zeta$ is the optimum,",
        r"the gap $(\zeta - \mathrm{bound})/\zeta$.",
        "",
    ]
    if report.contradictions:
        parts += [r"\textbf{Claims that contradict each other}", r"\begin{itemize}"]
        parts += [*(rf"\item {escaped(line)}" for line in report.contradictions), r"\end{itemize}"]
    for table in report_tables(report):
        parts += _section(table)
        if table.name == "exact-means":
            parts += _profiles(exact_ratios(report))
    parts += [r"\subsection*{How this was made}", r"\begin{itemize}\sloppy"]
    parts += [*(rf"\item {escaped(line)}" for line in foot_lines(report)), r"\end{itemize}", r"\end{document}", ""]
    return "\n".join(parts)


def escaped(text: str) -> str:
    """Text for LaTeX; a character without a spelling here by its nearest in ASCII, else its name."""
    return "".join(_spelt(character) for character in text.replace("\n", " "))


def _spelt(character: str) -> str:
    if character in _SPECIAL:
        return _SPECIAL[character]
    if character.isascii():
        return character
    plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return "".join(_SPECIAL.get(c, c) for c in plain) or f"[{unicodedata.name(character, 'unknown').lower()}]"


def _section(table: Table) -> list[str]:
    chosen = _CHOSEN.get(table.name)
    columns = [c for c in table.columns if chosen is None or c.key in chosen]
    lines = [rf"\subsection*{{{escaped(table.title)}}}", escaped(table.note), ""]
    for first in range(0, max(len(table.rows), 1), _ROWS):
        lines += _tabular(columns, table.rows[first : first + _ROWS])
    return lines


def _tabular(columns: Sequence[Column], rows: Sequence[Any]) -> list[str]:
    layout = "".join("r" if c.numeric else "l" for c in columns)
    lines = [r"{\scriptsize", rf"\begin{{tabular}}{{{layout}}}", r"\hline"]
    lines += [" & ".join(escaped(c.title) for c in columns) + r" \\ \hline"]
    # a bracket after a line's end would be read as its argument
    lines += [" & ".join("{}" + escaped(_short(shown(c, row))) for c in columns) + r" \\" for row in rows]
    return [*lines, r"\hline", r"\end{tabular}\par\medskip}", ""]


def _short(text: str) -> str:
    return text if len(text) <= 48 else text[:45] + "..."


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
