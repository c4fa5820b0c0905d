"""The CPLEX LP format: linear rows, quadratic objective, bounds, integers; labels in the sidecar.

Names in the file are our labels with brackets turned to parentheses-free words (``w[3]`` is ``w_3``): brackets mean a
quadratic part in this format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ....errors import DataError
from ....files import write_texts
from ...arrays import FloatArray
from ...program.cones import Feature
from ...program.form import StandardForm
from ..shared.layout import Layout, sidecar
from ..shared.programs import FlatProgram, one_sided, symmetric
from .formats import FileFormat, Source

__all__ = ["FORMAT", "plain_names"]

_WIDTH = 8  # terms on a line
#: Each sense, seen from its other side.
_TURNED = {"<=": ">=", "=<": ">=", "<": ">=", ">=": "<=", "=>": "<=", ">": "<=", "=": "="}
_SECTIONS = {
    "minimize": "objective", "minimise": "objective", "min": "objective", "maximize": "max", "maximise": "max", "max": "max",
    "subject to": "rows", "such that": "rows", "st": "rows", "s.t.": "rows", "bounds": "bounds", "bound": "bounds",
    "general": "integer", "generals": "integer", "gen": "integer", "int": "integer", "integers": "integer",
    "binary": "binary", "binaries": "binary", "bin": "binary", "semi": "semi", "semi-continuous": "semi", "semis": "semi",
    "end": "end",
}  # fmt: skip


def plain_names(names: list[str]) -> list[str]:
    """Names without brackets, commas and blanks, still all different."""
    plain = [re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") for name in names]
    plain = [
        name if re.match(r"[A-Za-df-z]", name) else f"v_{name}" for name in plain
    ]  # no leading digit; e.. may read as a number
    return plain if len(set(plain)) == len(plain) else [f"{name}__{k}" for k, name in enumerate(plain)]


class _LP(FileFormat):
    suffix = ".lp"
    title = "LP"
    carries = frozenset({Feature.QUADRATIC, Feature.INTEGER})

    def write(self, form: StandardForm, path: Path) -> None:
        flat = FlatProgram.of(form)
        x = plain_names(form.names())
        rows = plain_names([name for c in form.constraints for name in c.names()])
        lines = [f"\\ {form.name}; written by marginopt", "minimize", " obj:"]
        # every variable is named in the objective, so that the order of first mention is the order of x
        lines += list(_wrapped([f"{_signed(v)} {name}" for v, name in zip(flat.q, x, strict=True)]))
        if flat.P is not None and flat.P.nnz:
            lines += [" + [", *_wrapped(list(_quadratic_terms(flat.P, x))), " ] / 2"]
        if flat.r:
            lines.append(f" {_signed(flat.r)}")
        lines.append("subject to")
        for i, name in enumerate(rows):
            start, stop = flat.A.indptr[i], flat.A.indptr[i + 1]
            terms = [f"{_signed(v)} {x[j]}" for v, j in zip(flat.A.data[start:stop], flat.A.indices[start:stop], strict=True)]
            lines += [f" {name}:", *_wrapped(terms or [f"0 {x[0]}"]), f"  {'=' if flat.equal[i] else '>='} {flat.b[i]:.17g}"]
        lines.append("bounds")
        lines += [_bound(name, low, high) for name, low, high in zip(x, flat.lower, flat.upper, strict=True)]
        if flat.integer.any():
            lines += ["general", *_wrapped([x[j] for j in np.flatnonzero(flat.integer)])]
        write_texts({path: "\n".join([*lines, "end", ""]), sidecar(path): Layout.of(form).text})

    def read(self, source: Source) -> StandardForm:
        parser = _Parser()
        for section, first, text in _sections(source):
            parser.take(section, first, text, source)
        return parser.program().to_form(Layout.load(source.path))


def _signed(value: float) -> str:
    """Sign and number as two words: readers differ in what they make of one."""
    return f"{'-' if value < 0 else '+'} {abs(value):.17g}"


def _bound(name: str, low: float, high: float) -> str:
    if low == -np.inf and high == np.inf:
        return f" {name} free"
    left = "-inf" if low == -np.inf else f"{low:.17g}"
    right = "+inf" if high == np.inf else f"{high:.17g}"
    return f" {left} <= {name} <= {right}"


def _wrapped(terms: list[str]) -> Iterator[str]:
    for k in range(0, len(terms), _WIDTH):
        yield "  " + " ".join(terms[k : k + _WIDTH])


def _quadratic_terms(P: sp.csc_array, x: list[str]) -> Iterator[str]:
    """[ ... ]/2 holds x'Px: P_jj x_j² and 2 P_ij x_i x_j for i < j."""
    upper = sp.coo_array(sp.triu(P))
    for i, j, v in zip(upper.row, upper.col, upper.data, strict=True):
        yield f"{_signed(v)} {x[i]} ^2" if i == j else f"{_signed(2 * v)} {x[i]} * {x[j]}"


def _sections(source: Source) -> Iterator[tuple[str, int, str]]:
    """Each section's name, the number of its first line, and its text, line by line as in the file.

    Raises
    ------
    DataError
        No objective, text before the first section, or no ``end``: a file that was cut.
    """
    current, first, collected = "", 0, []
    found = set()
    for number, raw in enumerate(source.text.splitlines(), 1):
        line = raw.split("\\", 1)[0].strip()
        section = _SECTIONS.get(line.lower())
        if section is None:
            if line and current in ("", "end"):
                source.line = number
                raise DataError(f"text outside every section: {line[:60]!r}")
            collected.append(line)
            continue
        if current:
            yield current, first, "\n".join(collected)
        found.add(section)
        current, first, collected = section, number + 1, []
    if not {"objective", "end"} <= found and "max" not in found:
        raise DataError("it has no objective, or ends before its 'end'")


_NUMBER = r"[+-]?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|inf(?:inity)?)"
#: A name, with an index in brackets as Gurobi and JuMP write it; the brackets of a quadratic part stand alone.
_NAME = r"[A-Za-z_!\"#$%&(),;?@{}~'`][\w.!\"#$%&(),;?@{}~'`]*(?:\[[^\[\]\s]*\])*"
_ROW = re.compile(rf"(?:^|\n)[ \t]*({_NAME})[ \t]*:")
_SENSE = r"(<=|>=|=<|=>|=|<|>)"
_LEFT = re.compile(rf"^({_NUMBER})\s*(<=|=<|<)")
_RIGHT = re.compile(rf"{_SENSE}\s*({_NUMBER})\s*$")
_TOKEN = re.compile(rf"\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|<=|>=|=<|=>|[<>=+\-*^/:]|{_NAME}|[\[\]]")


def _tokens(text: str) -> list[str]:
    """Numbers, names and signs; whatever is none of them is refused."""
    rest = _TOKEN.sub("", text).strip()
    if rest:
        raise DataError(f"a sign that is not understood: {rest[:20]!r}")
    return _TOKEN.findall(text)


@dataclass
class _Parser:
    """Collects the sections of an LP file."""

    index: dict[str, int] = field(default_factory=dict)
    linear: dict[int, float] = field(default_factory=dict)
    quadratic: list[tuple[int, int, float]] = field(default_factory=list)
    constant: float = 0.0
    maximise: bool = False
    rows: list[tuple[dict[int, float], float, float]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    low: dict[int, float] = field(default_factory=dict)
    high: dict[int, float] = field(default_factory=dict)
    integers: set[int] = field(default_factory=set)

    def variable(self, name: str) -> int:
        return self.index.setdefault(name, len(self.index))

    def take(self, section: str, first: int, text: str, source: Source) -> None:
        source.line = first
        if section == "objective":
            self.linear, self.quadratic, self.constant = self._expression(_tokens(text.split(":", 1)[-1]))
        elif section == "max":
            self.take("objective", first, text, source)
            self.maximise = True
        elif section == "rows":
            self._rows(text, source)
        elif section == "bounds":
            for number, line in enumerate(text.splitlines(), first):
                source.line = number
                if line:
                    self._bound(line)
        elif section == "semi" and text.split():
            raise DataError(f"semi-continuous variables are not read: {text.split()[0]}")
        elif section in ("integer", "binary"):
            for name in text.split():
                j = self.variable(name)
                self.integers.add(j)
                if section == "binary":
                    self.low[j], self.high[j] = 0.0, 1.0

    def _expression(self, tokens: list[str]) -> tuple[dict[int, float], list[tuple[int, int, float]], float]:
        linear: dict[int, float] = {}
        quadratic: list[tuple[int, int, float]] = []
        constant, sign, number, inside = 0.0, 1.0, None, False
        k = 0
        while k < len(tokens):
            t = tokens[k]
            if t in "+-":
                if number is not None:
                    constant, number, sign = constant + sign * number, None, 1.0
                sign = sign if t == "+" else -sign
            elif t == "[":
                inside = True
            elif t == "]":
                if tokens[k + 1 : k + 3] != ["/", "2"]:
                    raise DataError("a quadratic part must end with '] / 2'")
                inside = False
                k += 2
            elif re.fullmatch(_NUMBER, t):
                number = float(t)
            else:
                value = sign * (1.0 if number is None else number)
                j = self.variable(t)
                if not inside:
                    linear[j] = linear.get(j, 0.0) + value
                elif tokens[k + 1 : k + 3] == ["^", "2"]:
                    quadratic.append((j, j, value))
                    k += 2
                elif tokens[k + 1 : k + 2] != ["*"]:
                    raise DataError(f"a quadratic term that is neither a square nor a product: {' '.join(tokens[k : k + 3])!r}")
                else:
                    quadratic.append((j, self.variable(tokens[k + 2]), value))
                    k += 2
                sign, number = 1.0, None
            k += 1
        return linear, quadratic, constant + (0.0 if number is None else sign * number)

    def _rows(self, text: str, source: Source) -> None:
        heads = list(_ROW.finditer(text))
        if text[: heads[0].start() if heads else None].strip():
            raise DataError(f"a row without a name: {text.strip()[:60]!r}")
        stops = [*(head.start() for head in heads[1:]), len(text)][: len(heads)]
        first, counted = source.line, 0
        for head, stop in zip(heads, stops, strict=True):
            first, counted = first + text.count("\n", counted, head.end()), head.end()
            source.line = first
            self._row(text[head.end() : stop].strip())
            self.names.append(head.group(1))

    def _row(self, piece: str) -> None:
        """An expression with a side on its right, and perhaps a lower one on its left."""
        match, before = _RIGHT.search(piece), _LEFT.match(piece)
        if match is None:
            raise DataError(f"a row without a right-hand side: {piece[:60]!r}")
        linear, quadratic, constant = self._expression(_tokens(piece[before.end() if before else 0 : match.start()]))
        if quadratic:
            raise DataError("quadratic rows are not read")
        side = float(match.group(2)) - constant
        left, right = -np.inf if "<" in match.group(1) else side, np.inf if ">" in match.group(1) else side
        if before and "<" not in match.group(1):
            raise DataError(f"two sides that do not go together: {piece[:60]!r}")
        self.rows.append((linear, float(before.group(1)) - constant if before else left, right))

    def _bound(self, line: str) -> None:
        words = line.split()
        if words[-1].lower() == "free":
            j = self.variable(words[0])
            self.low[j], self.high[j] = -np.inf, np.inf
        elif len(words) == 5:
            j = self.variable(words[2])
            self.low[j], self.high[j] = float(words[0]), float(words[4])
        elif len(words) == 3 and words[1] in _TURNED:
            name, sense, side = words if re.fullmatch(_NAME, words[0]) else (words[2], _TURNED[words[1]], words[0])
            j = self.variable(name)
            if "<" not in sense:
                self.low[j] = float(side)
            if ">" not in sense:
                self.high[j] = float(side)
        else:
            raise DataError(f"a bound that is not understood: {line!r}")

    def program(self) -> FlatProgram:
        n = len(self.index)
        entries = [(i, j, v) for i, (linear, _, _) in enumerate(self.rows) for j, v in linear.items() if v != 0]
        A = sp.csr_array(
            ([e[2] for e in entries], ([e[0] for e in entries], [e[1] for e in entries])),
            shape=(len(self.rows), n),
            dtype=np.float64,
        )
        P = symmetric([(i, j, v if i == j else 0.5 * v) for i, j, v in self.quadratic], n)
        q, lower, upper = np.zeros(n), np.zeros(n), np.full(n, np.inf)
        _fill(q, self.linear)
        _fill(lower, self.low)
        _fill(upper, self.high)
        integer = np.zeros(n, dtype=bool)
        integer[sorted(self.integers)] = True
        left, right = (np.array([row[k] for row in self.rows], dtype=np.float64) for k in (1, 2))
        A, b, equal, names = one_sided(A, left, right, self.names)
        return FlatProgram(P, q, self.constant, A, b, equal, lower, upper, integer, tuple(self.index), names, self.maximise)


def _fill(target: FloatArray, values: dict[int, float]) -> None:
    for j, v in values.items():
        target[j] = v


FORMAT = _LP()
