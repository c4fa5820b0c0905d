r"""Reader and writer of PTF files, MOSEK's readable format: linear rows, second-order, rotated and semidefinite cones, integers.

The format can quote any name, so the form's names stand in the file unchanged; the sidecar holds shapes and grouping.
Semidefinite rows are MOSEK's ``SVECPSD``. As in a form, entries off the diagonal are multiplied by √2; but MOSEK stacks the
*lower* triangle by columns and a form the upper one, so rows are re-sorted and every number is exact. MOSEK writes no quadratic
objective in this format and refuses one (`models.program.bridges.EpigraphBridge` makes it a rotated cone). Matrix variables of
files by others are read: their entries of the lower triangle are variables ``X[i,j]``, in a semidefinite cone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ...errors import DataError, short_text
from ...files import split_lines
from ..arrays import FloatArray, IntArray, check_bytes
from ..program.cones import PSD, Cone, Feature, Nonnegative, RotatedSecondOrder, SecondOrder, Zero, svec_indices, svec_size
from ..program.form import Constraint, StandardForm
from .cone_rows import cone_names
from .file_formats import FileFormat, InputFile, parse_number, signed_text
from .file_programs import ConicProgram, StatedObjective, matrix_of_entries
from .layout import Layout, comment_lines
from .mosek_task import mosek_svec_order

#: The format's names of cones.
_DOMAINS: dict[type[Cone], str] = {SecondOrder: "QUAD", RotatedSecondOrder: "RQUAD", PSD: "SVECPSD"}
#: A name that is written without quotes.
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.!|-]*")
#: Patterns of a name, a number, a term <combination; matrix variable>, and any term of an expression.
_NAME = r"'(?:[^'\\]|\\.)*'|[@A-Za-z_][\w.!|@-]*"
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_MATRIX_TERM = rf"<(?P<combination>(?:'(?:[^'\\]|\\.)*'|[^;'])*);\s*(?P<matrix>{_NAME})\s*>"
_TERM = re.compile(rf"\s*(?:(?P<sign>[+-])|(?P<number>{_NUMBER})|(?P<name>{_NAME})|{_MATRIX_TERM})")
#: Patterns of a symmetric matrix, of its entries, and of the first line of a variable or constraint.
_SYMMETRIC = re.compile(rf"(?P<name>{_NAME})\s+SYMMAT\s*\(\s*(?P<order>\d+)\s*\)(?P<entries>.*)", re.DOTALL)
_ENTRY = re.compile(r"\s*\(\s*(\d+)\s*,\s*(\d+)\s*,([^()]*)\)")
_HEAD = re.compile(rf"(?P<name>{_NAME})\s*(?:\[(?P<set>[^\]]*)\])?(?P<rest>.*)", re.DOTALL)


class _PTF(FileFormat):
    suffix = ".ptf"
    title = "PTF"
    carries = frozenset({Feature.SECOND_ORDER, Feature.ROTATED, Feature.PSD, Feature.INTEGER})

    def write(self, form: StandardForm, path: Path) -> None:
        x = [_quoted(name) for name in form.names()]
        lines = [f"Task {_quoted(form.name)}", "    # written by marginopt", *comment_lines(form, "    #"), "Objective"]
        objective = StatedObjective.of(form)
        terms = _expression(sp.csr_array(objective.q[None, :]), 0, objective.r, x)
        lines += [f"    {'Maximize' if objective.maximise else 'Minimize'} {terms}", "Constraints"]
        for c in form.constraints:
            lines += _linear(c, x) if isinstance(c.cone, (Zero, Nonnegative)) else _conic(c, x)
        lines.append("Variables")
        for name, low, high in zip(x, form.lower.tolist(), form.upper.tolist(), strict=True):
            lines.append(f"    {name} {_interval(low, high)}")
        if form.integer.any():
            lines += ["Integers", *(f"    {x[j]}" for j in np.flatnonzero(form.integer))]
        Layout.of(form).write(path, "\n".join([*lines, ""]))

    def read(self, source: InputFile) -> StandardForm:
        return _program(source).to_form(source.layout)


def _quoted(name: str) -> str:
    """Return a plain name unchanged, another one in quotes with unusual characters as bytes."""
    if _PLAIN.fullmatch(name):
        return name
    escaped = "".join(chr(byte) if 32 <= byte < 127 and byte not in b"'\\" else f"\\x{byte:02x}" for byte in name.encode("utf-8"))
    return f"'{escaped}'"


def _unquoted(text: str) -> str:
    if not text.startswith("'"):
        return text
    plain = re.sub(r"\\(x[0-9a-fA-F]{2}|.)", lambda m: _byte(m.group(1)), text[1:-1])
    return plain.encode("latin-1", "replace").decode("utf-8", "replace") if "\\x" in text else plain


def _byte(code: str) -> str:
    if code[0] == "x" and len(code) == 3:
        return chr(int(code[1:], 16))
    return {"r": "\r", "n": "\n"}.get(code, code)


def _interval(low: float, high: float) -> str:
    if low == high:
        return f"[{low:.17g}]"
    left = "-inf" if low == -np.inf else f"{low:.17g}"
    right = "+inf" if high == np.inf else f"{high:.17g}"
    return f"[{left};{right}]"


def _expression(F: sp.csr_array, row: int, constant: float, x: list[str]) -> str:
    entries = slice(F.indptr[row], F.indptr[row + 1])
    terms = [f"{signed_text(v)} {x[j]}" for j, v in zip(F.indices[entries], F.data[entries], strict=True) if v]
    if constant or not terms:
        terms.append(signed_text(constant))
    return " ".join(terms)


def _linear(c: Constraint, x: list[str]) -> Iterator[str]:
    for i, name in enumerate(c.names()):
        level = -c.g[i] + 0.0
        terms = _expression(c.F, i, 0.0, x) if c.F.indptr[i] < c.F.indptr[i + 1] else ""
        yield f"    {_quoted(name)} {_interval(level, level if isinstance(c.cone, Zero) else np.inf)} {terms}".rstrip()


def _conic(c: Constraint, x: list[str]) -> Iterator[str]:
    order = _file_order(c.cone)
    for k, name in enumerate(cone_names(c)):
        yield f"    {_quoted(name)} [{_DOMAINS[type(c.cone)]}({c.cone.dim})]"
        for i in k * c.cone.dim + order:
            yield f"        {_expression(c.F, int(i), c.g[i] + 0.0, x)}"


def _file_order(cone: Cone) -> IntArray:
    """Return, for each row of a cone in the file, its row in the form."""
    return mosek_svec_order(cone.order) if isinstance(cone, PSD) else np.arange(cone.dim)


class _Line(NamedTuple):
    """One line of the file, without its comment; ``number`` counts from 1."""

    indent: int
    text: str
    number: int


def _texts(lines: list[_Line], source: InputFile) -> Iterator[str]:
    """Yield the texts of the lines; an error names the line that was read last."""
    for line in lines:
        source.line = line.number
        yield line.text


class _Index:
    """Columns of the variables and of the entries of matrix variables, in the order of the section Variables."""

    def __init__(self, lines: list[_Line], source: InputFile) -> None:
        self.number: dict[str, int] = {}
        self.matrices: dict[str, tuple[int, int]] = {}  #: first column, order
        self.symmetric: dict[str, dict[tuple[int, int], float]] = {}  #: entries i ≥ j of the file's coefficient matrices
        for head, body in _sections(lines):
            if head == "Variables":
                for text in _texts(body, source):
                    self._add(*_head(text)[:2])
            elif head == "SymmetricMatrixes":
                for part in _paragraphs(body):
                    self._add_symmetric(" ".join(_texts(part, source)))

    def _add(self, name: str, kind: str | None) -> None:
        order = re.fullmatch(r"\s*PSD\s*\(\s*(\d+)\s*\)\s*", kind or "")
        if order is None:
            self.number.setdefault(name, len(self.number))
            return
        size = int(order[1])
        check_bytes(64 * svec_size(size), "the matrix variable that it declares")
        if name in self.matrices:
            raise DataError(f"the matrix variable {short_text(name)} is declared twice")
        self.matrices[name] = (len(self.number), size)
        for low, high in zip(*svec_indices(size), strict=True):
            self.number[f"{name}[{high},{low}]"] = len(self.number)

    def _add_symmetric(self, text: str) -> None:
        match = _SYMMETRIC.fullmatch(text)
        if match is None or _ENTRY.sub("", match["entries"]).strip():
            raise DataError(f"a symmetric matrix that is not understood: {short_text(text[:60])}")
        name, order = _unquoted(match["name"]), int(match["order"])
        if name in self.symmetric:
            raise DataError(f"the symmetric matrix {short_text(name)} is stated twice")
        entries = self.symmetric.setdefault(name, {})
        for i, j, value in _ENTRY.findall(match["entries"]):
            place = (int(i), int(j))
            if not place[1] <= place[0] < order or place in entries:
                raise DataError(
                    f"{short_text(name)} has the entry ({i}, {j}) twice, above the diagonal or beyond its order {order}"
                )
            entries[place] = parse_number(value.strip(), "an entry")

    def row(self, text: str) -> tuple[dict[int, float], float]:
        """Return coefficients and constant of an expression."""
        entries: dict[int, float] = {}
        constant = 0.0
        for coefficient, term in _terms(text):
            if term is None:
                constant += coefficient
                continue
            named = ((self._column(term["name"]), 1.0),) if term["name"] else self._matrix(term["combination"], term["matrix"])
            for j, value in named:
                entries[j] = entries.get(j, 0.0) + coefficient * value
        return entries, constant

    def _column(self, name: str) -> int:
        if _unquoted(name) not in self.number:
            raise DataError(f"{short_text(_unquoted(name))} is not among the file's variables")
        return self.number[_unquoted(name)]

    def _matrix(self, combination: str, name: str) -> Iterator[tuple[int, float]]:
        """Yield columns and coefficients of <Σ a_k M_k; X>, the inner product of a matrix variable with symmetric matrices M_k.

        An entry off the diagonal counts twice.
        """
        if _unquoted(name) not in self.matrices:
            raise DataError(f"{short_text(_unquoted(name))} is not among the file's matrix variables")
        first, order = self.matrices[_unquoted(name)]
        for coefficient, term in _terms(combination):
            matrix = None if term is None or not term["name"] else self.symmetric.get(_unquoted(term["name"]))
            if matrix is None:
                raise DataError(f"the matrices of <{combination};{name}> are not among the file's")
            for (i, j), value in matrix.items():
                if i >= order:
                    raise DataError(f"a matrix of <{combination};{name}> is larger than the variable, whose order is {order}")
                yield first + i * (i + 1) // 2 + j, coefficient * value * (1.0 if i == j else 2.0)

    def cones(self) -> Iterator[Constraint]:
        """Yield one semidefinite cone for each matrix variable."""
        n = len(self.number)
        for name, (first, order) in self.matrices.items():
            low, high = svec_indices(order)
            columns = first + np.arange(low.size)
            F = sp.csr_array((np.where(low == high, 1.0, np.sqrt(2.0)), (np.arange(low.size), columns)), shape=(low.size, n))
            yield Constraint(f"{name} semidefinite", F, np.zeros(low.size), PSD.of_order(order))


def _terms(text: str) -> Iterator[tuple[float, re.Match[str] | None]]:
    """Yield each coefficient of an expression with the variable that it multiplies, None for a constant."""
    sign, value, start = 1.0, None, 0
    text = text.strip()
    while start < len(text):
        match = _TERM.match(text, start)
        if match is None:
            raise DataError(f"an expression that is not understood: {short_text(text[start : start + 40])}")
        start = match.end()
        if match["sign"]:
            if value is not None:
                yield sign * value, None
            sign, value = -1.0 if match["sign"] == "-" else 1.0, None
        elif match["number"]:
            if value is not None:
                raise DataError(f"two numbers without a sign between them: {short_text(text[:start])}")
            value = float(match["number"])
        else:
            yield sign * (1.0 if value is None else value), match
            value = None
    if value is not None:
        yield sign * value, None


def _paragraphs(body: list[_Line]) -> Iterator[list[_Line]]:
    """Yield each line of a section together with the lines that are indented below it."""
    outer = min((line.indent for line in body), default=0)
    heads = [k for k, line in enumerate(body) if line.indent == outer]
    for k, stop in zip(heads, [*heads, len(body)][1:], strict=True):
        yield body[k:stop]


def _program(source: InputFile) -> ConicProgram:
    bare = ((number, _uncommented(raw)) for number, raw in enumerate(split_lines(source.text), 1))
    lines = [_Line(len(raw) - len(raw.lstrip()), raw.strip(), number) for number, raw in bare if raw.strip()]
    index = _Index(lines, source)
    n = len(index.number)
    q, r = np.zeros(n), 0.0
    lower, upper, integer = np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n, dtype=bool)
    pieces: list[Constraint] = []
    maximise = False
    for head, body in _sections(lines):
        if head == "Objective":
            sense, _, expression = " ".join(_texts(body, source)).partition(" ")
            maximise = sense.lower().startswith("max")
            entries, r = index.row(expression)
            q[list(entries)] = list(entries.values())
        elif head == "Constraints":
            pieces += _constraints(body, index, n, source)
        elif head == "Variables":
            for line in _texts(body, source):
                name, interval, _ = _head(line)
                if name in index.matrices:
                    continue
                j = index.number[name]
                lower[j], upper[j] = (-np.inf, np.inf) if interval is None else _limits(interval)
        elif head == "Integers":
            names = [_unquoted(m.group()) for line in _texts(body, source) for m in re.finditer(_NAME, line)]
            integer[[index.number[name] for name in names]] = True
        elif head.split()[0] == "Task":
            source.take_name(_unquoted(head.removeprefix("Task").strip()))
        elif head.split()[0] not in ("Task", "Solutions", "SymmetricMatrixes"):
            raise DataError(f"the section {short_text(head)} is not read")
    pieces += index.cones()
    return ConicProgram(q, r, tuple(pieces), lower, upper, integer, columns=tuple(index.number), maximise=maximise)


def _uncommented(line: str) -> str:
    """Return the line up to the first # outside quotes."""
    match = re.match(r"(?:'(?:[^'\\]|\\.)*'|[^#'])*", line)
    return line if match is None else line[: match.end()].rstrip()


def _sections(lines: list[_Line]) -> Iterator[tuple[str, list[_Line]]]:
    heads = [k for k, line in enumerate(lines) if line.indent == 0]
    for k, stop in zip(heads, [*heads[1:], len(lines)], strict=True):
        keyword = lines[k].text
        yield keyword if keyword.startswith("Task") else keyword.split()[0], lines[k + 1 : stop]


def _head(line: str) -> tuple[str, str | None, str]:
    match = _HEAD.fullmatch(line)
    if match is None:
        raise DataError(f"a line that is not understood: {short_text(line[:60])}")
    return _unquoted(match["name"]), match["set"], match["rest"]


def _limits(text: str) -> tuple[float, float]:
    low, _, high = text.partition(";")
    return parse_number(low.strip(), "a limit", finite=False), parse_number((high or low).strip(), "a limit", finite=False)


def _constraints(body: list[_Line], index: _Index, n: int, source: InputFile) -> Iterator[Constraint]:
    for place, (head, *others) in enumerate(_paragraphs(body)):
        source.line = head.number
        name, kind, fields = _head(head.text)
        if kind is None:
            raise DataError(f"a constraint without its set: {short_text(head.text[:60])}")
        domain = re.fullmatch(r"\s*([A-Z]+)\s*\(\s*(\d+)\s*\)\s*", kind)
        if domain is None:
            yield _interval_row(f"c{place}", name, kind, index.row(" ".join([fields, *_texts(others, source)])), n)
            continue
        cone = _cone(domain[1], int(domain[2]))
        F, g = _matrix([index.row(re.sub(rf"^(?:{_NAME})\s*:", "", line)) for line in _texts(others, source)], n)
        inverse_order = np.argsort(_file_order(cone))
        yield Constraint(f"c{place}", sp.csr_array(F[inverse_order]), g[inverse_order], cone)


def _interval_row(label: str, name: str, interval: str, row: tuple[dict[int, float], float], n: int) -> Constraint:
    low, high = _limits(interval)
    F, g = _matrix([row], n)
    if low == high:
        return Constraint(label, F, g - low, Zero(1), (name,))
    if high == np.inf:
        return Constraint(label, F, g - low, Nonnegative(1), (name,))
    if low == -np.inf:
        return Constraint(label, sp.csr_array(-F), high - g, Nonnegative(1), (name,))
    raise DataError(f"rows with two different sides are not read: [{interval}]")


def _cone(name: str, dim: int) -> Cone:
    for kind, domain in _DOMAINS.items():
        if domain == name:
            return kind(dim)
    raise DataError(f"the domain {name} is not read")


def _matrix(rows: list[tuple[dict[int, float], float]], n: int) -> tuple[sp.csr_array, FloatArray]:
    triples = [(i, j, v) for i, (entries, _) in enumerate(rows) for j, v in entries.items()]
    return matrix_of_entries(triples, (len(rows), n)), np.array([constant for _, constant in rows]) + 0.0


#: The format, which `models.export.file_formats` finds.
FORMAT = _PTF()
