"""The text and LaTeX of a standard form, as prints and notebooks show it.

A small form is written out row by row, as in an LP file. Of a large form the text lists blocks and constraints, and the LaTeX
states F x + g in K for each label. Inequalities are ≥ or ≤, whichever has fewer minus signs: for all rows of a constraint
together, or for each row if its rows were given names. Two opposite rows that an importer made of one two-sided row are shown
as a range. Entries of symmetric blocks are those of the matrix, without the √2 of svec (`models.program.cones`). Coefficients
have six digits.

``symbols`` are the variables' names as text and LaTeX; ``scale`` is their ratio to the shown entries, √2 off the diagonal of
svec.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ...errors import count_text
from ..arrays import FloatArray, IntArray
from ..statement import Line, latex_symbol, latex_words
from .cones import PSD, Bilinear, Cone, Indicator, Nonnegative, RotatedSecondOrder, SecondOrder, Zero, svec_indices
from .exponential_cones import Exponential, Power

if TYPE_CHECKING:
    from .form import Block, Constraint, StandardForm

#: Sizes up to which a form is written out: variables, rows, stored entries of F and P together.
_VARIABLES, _ROWS, _ENTRIES = 24, 24, 72
#: Most variables, or rows, whose own names a summary lists.
_LISTED_NAMES = 12
#: Most kinds of variables (type and pair of bounds) of one block that a summary lists apart.
_LISTED_KINDS = 6
#: The mark of variables that are not the user's.
_AUXILIARY = "auxiliary"
#: Endings of the names of a two-sided row's second side, in forms of other packages and of files.
_SECOND_SIDES = (" upper", " (other side)")
#: Senses of a row times -1, senses in LaTeX, and cones in LaTeX.
_TURNED = {">=": "<=", "<=": ">="}
_LATEX_SIGNS = {">=": r"\ge", "<=": r"\le", "=": "="}
_LATEX_CONES = {
    Zero: r"\{{0\}}^{{{dim}}}",
    Nonnegative: r"\mathbb{{R}}_+^{{{dim}}}",
    SecondOrder: r"\mathcal{{Q}}^{{{dim}}}",
    RotatedSecondOrder: r"\mathcal{{Q}}_r^{{{dim}}}",
    Exponential: r"\mathcal{{K}}_{{\exp}}",
    Power: r"\mathcal{{P}}_{{{alpha:g}}}",
    PSD: r"\mathbb{{S}}_+^{{{order}}}",
}


def is_small(form: StandardForm) -> bool:
    """Return whether a form is small enough to be written out row by row."""
    entries = sum(c.F.nnz for c in form.constraints)
    if form.n > _VARIABLES or form.rows > _ROWS or entries > _ENTRIES:
        return False
    return form.quadratic is None or entries + form.quadratic.csc.nnz <= _ENTRIES


def program_lines(form: StandardForm) -> tuple[Line, tuple[Line, ...]]:
    """Return the objective, in the sense of the stated model, and the rows, bounds and integrality of a small form."""
    scale = np.concatenate([np.ones(0), *(block.entry_scale for block in form.blocks)])
    symbols = [Line(name, latex_symbol(name)) for name in form.names()]
    rows = [*_linear_lines(form, scale, symbols), *_cone_lines(form, scale, symbols)]
    return _objective_line(form, scale, symbols), (*rows, *_domain_lines(form, scale, symbols))


def matrix_lines(form: StandardForm) -> tuple[Line, tuple[Line, ...]]:
    """Return objective and constraints of a form of any size by its matrices, F x + g in K, as LaTeX."""
    sign = "-" if form.maximise else ""
    terms = [r"\tfrac12 x^\top P x"] if form.quadratic is not None else []
    terms += ["q^\\top x"] if form.q.any() else []
    terms += ["r"] if form.r or not terms else []
    objective = " + ".join(terms)
    blocks = ", ".join(latex_symbol(block.label) for block in form.blocks)
    lines = [Line("", rf"{_named(c.label, 'F')}\,x + {_named(c.label, 'g')} \in {_latex_cone(c.cone)}") for c in form.constraints]
    lines += [Line("", r"\ell \le x \le u")] if form.has_bounds else []
    integers = int(np.count_nonzero(form.integer))
    lines += [Line("", rf"x_j \in \mathbb{{Z}}\quad\text{{for {integers} of the {form.n} variables}}")] if integers else []
    lines.append(Line("", rf"x = ({blocks}) \in \mathbb{{R}}^{{{form.n}}}"))
    return Line("", rf"{sign}\left({objective}\right)" if sign else objective), tuple(lines)


def summary_lines(form: StandardForm) -> list[str]:
    """Return one line for each block of variables and each constraint: shape, type and bounds; rows, cone and non-zeros."""
    lines = [line for block in _own_first(form) for line in _block_lines(form, block)]
    lines += [
        f"  {c.label:<12} {count_text(c.rows, 'row', spec='>6')} in {c.cone}, "
        f"{count_text(c.F.nnz, 'non-zero')}{_listed_names(c.given_names)}"
        for c in form.constraints
    ]
    return lines


# -- sums of terms ------------------------------------------------------------------------------------------------


def _signed_sum(terms: Sequence[tuple[float, Line]], constant: float = 0.0) -> Line:
    """Return the sum of the coefficients times symbols and of a constant, without zero terms; 0 without any other."""
    text = latex = ""
    parts = [(value, symbol) for value, symbol in terms if value] + ([(constant, Line("", ""))] if constant else [])
    for value, symbol in parts:
        size = f"{abs(value):.6g}"
        shown = "" if size == "1" and symbol.text else size
        sign = "-" if value < 0.0 else "+"
        lead = f" {sign} " if text else sign.strip("+")
        text += lead + " ".join(filter(None, [shown, symbol.text]))
        latex += lead + r"\,".join(filter(None, [shown, symbol.latex]))
    return Line(text or "0", latex or "0")


@dataclass(frozen=True)
class _Affine:
    """An affine function of the variables: a row of F x + g."""

    terms: tuple[tuple[float, Line], ...]
    constant: float

    @property
    def line(self) -> Line:
        return _signed_sum(self.terms, self.constant)

    @property
    def factor(self) -> Line:
        """Return the function as a factor of a product: in parentheses where it is a sum or has a sign."""
        if len(self.terms) + bool(self.constant) <= 1 and all(value > 0.0 for value, _ in self.terms) and self.constant >= 0.0:
            return self.line
        return Line(f"({self.line.text})", rf"\left({self.line.latex}\right)")

    def times(self, factor: float) -> _Affine:
        return _Affine(tuple((factor * value, symbol) for value, symbol in self.terms), factor * self.constant)


def _relation(left: Line, sign: str, right: Line) -> Line:
    return Line(f"{left.text} {sign} {right.text}", f"{left.latex} {_LATEX_SIGNS[sign]} {right.latex}")


def _joined(lines: Sequence[Line], separator: str = ", ") -> Line:
    return Line(separator.join(line.text for line in lines), separator.join(line.latex for line in lines))


def _norm(parts: Sequence[_Affine]) -> Line:
    """Return the Euclidean norm of some affine functions."""
    inside = _joined([part.line for part in parts])
    if len(parts) == 1:
        return Line(f"|{inside.text}|", rf"\left|{inside.latex}\right|")
    return Line(f"||({inside.text})||", rf"\left\|\left({inside.latex}\right)\right\|")


def _number(value: float) -> Line:
    return _signed_sum((), value)


# -- objective, rows, bounds --------------------------------------------------------------------------------------


def _objective_line(form: StandardForm, scale: FloatArray, symbols: Sequence[Line]) -> Line:
    sign = -1.0 if form.maximise else 1.0
    terms: list[tuple[float, Line]] = []
    if form.quadratic is not None:
        upper = sp.coo_array(sp.triu(form.quadratic.csc, format="csr"))
        for i, j, value in zip(upper.row.tolist(), upper.col.tolist(), upper.data.tolist(), strict=True):
            a, b = symbols[i], symbols[j]
            symbol = Line(f"{a.text}^2", f"{a.latex}^2") if i == j else Line(f"{a.text}*{b.text}", rf"{a.latex}\,{b.latex}")
            terms.append((sign * scale[i] * scale[j] * value * (0.5 if i == j else 1.0), symbol))
    terms += [(sign * value, symbol) for value, symbol in zip((scale * form.q).tolist(), symbols, strict=True)]
    return _signed_sum(terms, sign * form.r)


def _affine_rows(c: Constraint, scale: FloatArray, symbols: Sequence[Line]) -> list[_Affine]:
    rows = sp.csr_array(c.F)
    functions = []
    for i, constant in enumerate(c.g.tolist()):
        entries = slice(rows.indptr[i], rows.indptr[i + 1])
        columns = rows.indices[entries]
        order = np.argsort(columns, kind="stable")
        values = (rows.data[entries] * scale[columns])[order].tolist()
        terms = zip(values, (symbols[j] for j in columns[order].tolist()), strict=True)
        functions.append(_Affine(tuple((value, symbol) for value, symbol in terms if value), constant))
    return functions


@dataclass(frozen=True)
class _LinearRow:
    """A linear row: ``left`` without constant, >=, <= or =, and the number ``side``."""

    left: _Affine
    sign: str
    side: float

    @classmethod
    def of(cls, function: _Affine, sign: str) -> _LinearRow:
        return cls(_Affine(function.terms, 0.0), sign, -function.constant + 0.0)

    @property
    def turned(self) -> _LinearRow:
        """Return the same row times -1."""
        return _LinearRow(self.left.times(-1.0), _TURNED.get(self.sign, self.sign), -self.side + 0.0)

    @property
    def minus_signs(self) -> int:
        return sum(value < 0.0 for value, _ in self.left.terms) + (self.side < 0.0)

    @property
    def leads_negative(self) -> bool:
        return bool(self.left.terms) and self.left.terms[0][0] < 0.0

    def line(self) -> Line:
        return _relation(self.left.line, self.sign, _number(self.side))

    def range_line(self, second: _LinearRow) -> Line | None:
        """Return this row and that of the other side as one range; None where they are no two sides of one row."""
        first = self.turned if self.leads_negative else self
        second = second.turned if second.leads_negative else second
        if second.left != first.left or {first.sign, second.sign} != set(_TURNED):
            return None
        low, high = (first, second) if first.sign == ">=" else (second, first)
        return _relation(_number(low.side), "<=", _relation(first.left.line, "<=", _number(high.side)))


def _oriented(rows: Sequence[_LinearRow]) -> list[_LinearRow]:
    """Return all rows unchanged or all times -1, whichever has fewer minus signs; in a tie, with the first coefficient > 0."""
    opposite = [row.turned for row in rows]
    excess = sum(row.minus_signs for row in rows) - sum(row.minus_signs for row in opposite)
    return opposite if excess > 0 or (excess == 0 and bool(rows) and rows[0].leads_negative) else list(rows)


def _linear_lines(form: StandardForm, scale: FloatArray, symbols: Sequence[Line]) -> Iterator[Line]:
    rows: dict[str, _LinearRow] = {}
    for c in form.constraints:
        if isinstance(c.cone, Zero | Nonnegative):
            sign = "=" if isinstance(c.cone, Zero) else ">="
            constraint_rows = [_LinearRow.of(function, sign) for function in _affine_rows(c, scale, symbols)]
            shown = _oriented(constraint_rows) if c.given_names is None else [_oriented([row])[0] for row in constraint_rows]
            rows |= dict(zip(c.names(), shown, strict=True))
    ranges: dict[str, Line | None] = {}
    for name, ending in itertools.product(rows, _SECOND_SIDES):
        line = rows[name].range_line(rows[name + ending]) if name + ending in rows else None
        if line is not None:
            ranges[name], ranges[name + ending] = line, None
    for name, row in rows.items():
        line = ranges.get(name, row.line())
        if line is not None:
            yield _labelled(line, name)


def _labelled(line: Line, name: str) -> Line:
    return Line(line.text, rf"{line.latex} \qquad\text{{({latex_words(name)})}}", f"{name}:")


def _domain_lines(form: StandardForm, scale: FloatArray, symbols: Sequence[Line]) -> Iterator[Line]:
    """Yield bounds and integrality: the variables of one domain together, a block by its label where it has one domain.

    Auxiliary variables are apart, behind the others.
    """
    groups: dict[tuple[bool, float, float, bool], list[Line]] = {}
    lower, upper = form.lower / scale, form.upper / scale
    domains = list(zip(lower.tolist(), upper.tolist(), form.integer.tolist(), strict=True))
    for block in _own_first(form):
        part = form.slices[block.label]
        uniform = block.size > 1 and block.given_names is None and len(set(domains[part])) == 1
        members = (
            [(part.start, Line(block.label, latex_symbol(block.label)))] if uniform else enumerate(symbols[part], part.start)
        )
        for place, symbol in members:
            groups.setdefault((block.auxiliary, *domains[place]), []).append(symbol)
    for (auxiliary, low, high, integer), variables in groups.items():
        line = _domain_line(low, high, integer, _joined(variables))
        yield Line(f"{line.text}  ({_AUXILIARY})", rf"{line.latex}\quad\text{{({_AUXILIARY})}}") if auxiliary else line


def _own_first(form: StandardForm) -> list[Block]:
    """Return the blocks of the user's variables, then the auxiliary ones."""
    return sorted(form.blocks, key=lambda block: block.auxiliary)


def _domain_line(low: float, high: float, integer: bool, variables: Line) -> Line:
    if integer and (low, high) == (0.0, 1.0):
        return Line(f"{variables.text} in {{0, 1}}", rf"{variables.latex} \in \{{0, 1\}}")
    line = variables
    if low == high:
        line = _relation(line, "=", _number(low))
    elif np.isfinite(low) and np.isfinite(high):
        line = _relation(_number(low), "<=", _relation(line, "<=", _number(high)))
    elif np.isfinite(low) or np.isfinite(high):
        line = _relation(line, ">=" if np.isfinite(low) else "<=", _number(low if np.isfinite(low) else high))
    if integer:
        bounded = line is not variables
        return Line(
            line.text + (", integer" if bounded else " integer"),
            rf"{line.latex},\ {variables.latex} \in \mathbb{{Z}}" if bounded else rf"{variables.latex} \in \mathbb{{Z}}",
        )
    return Line(f"{line.text} free", rf"{line.latex}\ \text{{free}}") if line is variables else line


# -- cones --------------------------------------------------------------------------------------------------------


def _cone_lines(form: StandardForm, scale: FloatArray, symbols: Sequence[Line]) -> Iterator[Line]:
    for c in form.constraints:
        if isinstance(c.cone, Zero | Nonnegative):
            continue
        functions = _affine_rows(c, scale, symbols)
        for k in range(c.cone.count):
            name = c.label if c.cone.count == 1 else f"{c.label}[{k}]"
            yield _labelled(_CONES[type(c.cone)](c.cone, functions[k * c.cone.dim : (k + 1) * c.cone.dim]), name)


def _second_order(_: Cone, rows: Sequence[_Affine]) -> Line:
    if len(rows) == 1:
        return _relation(rows[0].line, ">=", _number(0.0))
    return _relation(_norm(rows[1:]), "<=", rows[0].line)


def _rotated(_: Cone, rows: Sequence[_Affine]) -> Line:
    """Return ||c||² ≤ 2ab of the rows (a, b, c), multiplied out where a or b is a constant."""
    a, b, *others = rows
    root = others[0].factor if len(others) == 1 else _norm(others)
    square = Line(f"{root.text}^2", f"{root.latex}^2") if others else _number(0.0)
    constant, function = (a, b) if not a.terms else (b, a)
    if not constant.terms:
        return _relation(square, "<=", function.times(2.0 * constant.constant).line)
    product = Line(f"2 {a.factor.text} {b.factor.text}", rf"2\,{a.factor.latex}\,{b.factor.latex}")
    signs = [_relation(part.line, ">=", _number(0.0)) for part in (a, b)]
    return _joined([_relation(square, "<=", product), *signs])


def _semidefinite(cone: Cone, rows: Sequence[_Affine]) -> Line:
    assert isinstance(cone, PSD)
    row, column = svec_indices(cone.order)
    entries: dict[tuple[int, int], Line] = {}
    for i, j, function in zip(row.tolist(), column.tolist(), rows, strict=True):
        entries[i, j] = entries[j, i] = function.times(1.0 if i == j else np.sqrt(0.5)).line
    table = [[entries[i, j] for j in range(cone.order)] for i in range(cone.order)]
    text = "; ".join(", ".join(entry.text for entry in line) for line in table)
    latex = r" \\ ".join(" & ".join(entry.latex for entry in line) for line in table)
    return Line(f"[{text}] positive semidefinite", rf"\begin{{pmatrix}} {latex} \end{{pmatrix}} \succeq 0")


def _exponential(_: Cone, rows: Sequence[_Affine]) -> Line:
    x, y, z = rows
    if not y.terms and y.constant == 1.0:
        return _relation(Line(f"exp({x.line.text})", rf"\exp\left({x.line.latex}\right)"), "<=", z.line)
    latex = rf"{y.factor.latex}\,\exp\left(\frac{{{x.line.latex}}}{{{y.line.latex}}}\right)"
    value = Line(f"{y.factor.text} exp({x.factor.text}/{y.factor.text})", latex)
    return _joined([_relation(value, "<=", z.line), _relation(y.line, ">=", _number(0.0))])


def _power(cone: Cone, rows: Sequence[_Affine]) -> Line:
    assert isinstance(cone, Power)
    x, y, z = rows
    first, second = f"{cone.alpha:g}", f"{1.0 - cone.alpha:g}"
    latex = rf"{x.factor.latex}^{{{first}}}\,{y.factor.latex}^{{{second}}}"
    product = Line(f"{x.factor.text}^{first} {y.factor.text}^{second}", latex)
    signs = [_relation(part.line, ">=", _number(0.0)) for part in (x, y)]
    return _joined([_relation(_norm([z]), "<=", product), *signs])


def _indicator(_: Cone, rows: Sequence[_Affine]) -> Line:
    """Return ``z = 0 => row``, or 1 in place of 0: the value of the binary variable at which the row must hold."""
    switch, function = rows
    row = _oriented([_LinearRow.of(function, ">=")])[0].line()
    (value, symbol), *_others = switch.terms
    active = _number(-switch.constant / value + 0.0)
    return Line(f"{symbol.text} = {active.text} => {row.text}", rf"{symbol.latex} = {active.latex} \Rightarrow {row.latex}")


def _bilinear(cone: Cone, rows: Sequence[_Affine]) -> Line:
    assert isinstance(cone, Bilinear)
    count = (len(rows) - 1) // 2
    pairs = [(a.factor, b.factor) for a, b in zip(rows[1 : 1 + count], rows[1 + count :], strict=True)]
    left = _joined([Line(f"{a.text} {b.text}", rf"{a.latex}\,{b.latex}") for a, b in pairs], " + ")
    return _relation(left, "=" if cone.equality else "<=", rows[0].line)


#: The function that writes one cone of each type from its rows.
_CONES: dict[type[Cone], Callable[[Cone, Sequence[_Affine]], Line]] = {
    SecondOrder: _second_order,
    RotatedSecondOrder: _rotated,
    PSD: _semidefinite,
    Exponential: _exponential,
    Power: _power,
    Indicator: _indicator,
    Bilinear: _bilinear,
}


def _named(label: str, letter: str) -> str:
    return rf"{letter}_{{\text{{{latex_words(label)}}}}}"


def _latex_cone(cone: Cone) -> str:
    """Return the set of a whole constraint in the field's letters, or in words where the field has no letter."""
    template = _LATEX_CONES.get(type(cone))
    if template is None:
        return rf"\text{{{latex_words(str(cone))}}}"
    facts: dict[str, Any] = {"dim": cone.dim, "alpha": getattr(cone, "alpha", None), "order": getattr(cone, "order", None)}
    facts = {name: value for name, value in facts.items() if value is not None}
    if isinstance(cone, Zero | Nonnegative):
        return template.format(dim=cone.rows)
    letters = template.format(**facts)
    return letters if cone.count == 1 else rf"\left({letters}\right)^{{{cone.count}}}"


# -- summaries ----------------------------------------------------------------------------------------------------


def _listed_names(names: tuple[str, ...] | None) -> str:
    """Return the end of a line with given names, the first `_LISTED_NAMES` of many; empty without names."""
    if names is None:
        return ""
    return ": " + ", ".join(names[:_LISTED_NAMES]) + (", ..." if len(names) > _LISTED_NAMES else "")


def _block_lines(form: StandardForm, block: Block) -> list[str]:
    """Return the lines of a block: one; or, if its variables were given names, one for each of few variables or for each kind.

    A kind is a type with a pair of bounds; if there are too many, kinds are the types alone.
    """
    part, names = form.slices[block.label], block.given_names
    if names is None:
        mark = f", {_AUXILIARY}" if block.auxiliary else ""
        return [f"  {block.label:<12} {block.shape!s:<12} {_domain(form, part, block.symmetric)}{mark}"]
    if block.size <= _LISTED_NAMES:
        return [f"  {name:<12} {_domain(form, slice(k, k + 1))}" for k, name in enumerate(names, part.start)]
    columns = np.column_stack([form.integer[part], form.lower[part], form.upper[part]])
    kinds, kind = np.unique(columns, axis=0, return_inverse=True)
    if len(kinds) > _LISTED_KINDS:  # by type alone
        kind = form.integer[part].astype(np.int64)
    lines = []
    for number in np.unique(kind)[::-1]:  # integers first
        members = np.flatnonzero(kind == number)
        shape = block.shape if members.size == block.size else (members.size,)
        listed = _listed_names(tuple(names[j] for j in members.tolist()))
        lines.append(f"  {block.label:<12} {shape!s:<12} {_domain(form, part.start + members, block.symmetric)}{listed}")
    return lines


def _domain(form: StandardForm, part: slice | IntArray, symmetric: bool = False) -> str:
    """Return the type and bounds of some variables."""
    integers, count = int(np.count_nonzero(form.integer[part])), form.lower[part].size
    sort = "symmetric" if symmetric else "real"
    if integers:
        sort = "integer" if integers == count else f"{integers} integer, {count - integers} {sort}"
    lower, upper = form.lower[part].min(initial=np.inf), form.upper[part].max(initial=-np.inf)
    if not (np.isfinite(form.lower[part]).any() or np.isfinite(form.upper[part]).any()):
        return f"{sort}, free"
    return f"{sort}, in {'[' if np.isfinite(lower) else '('}{lower + 0.0:g}, {upper + 0.0:g}{']' if np.isfinite(upper) else ')'}"
