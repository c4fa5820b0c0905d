"""The CPLEX LP format: linear rows, quadratic objective, bounds, integers, indicators; labels in the sidecar.

Names in the file are our labels with brackets turned to parentheses-free words (``w[3]`` is ``w_3``): brackets mean a
quadratic part in this format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ....files import write_texts
from ...program.cones import Feature, Indicator, Zero
from ...program.form import Constraint, StandardForm
from ..shared.layout import Layout, sidecar
from ..shared.programs import FlatProgram
from .formats import FileFormat, Source
from .lp_reader import read_program
from .lp_text import RESERVED

__all__ = ["FORMAT", "labelled", "plain_names", "plain_rows"]

_WIDTH = 8  # terms on a line


def plain_names(names: list[str]) -> list[str]:
    """Names without brackets, commas and blanks, still all different."""
    plain = [re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") for name in names]
    # no leading digit, e.. may read as a number, and some words begin a section
    plain = [name if re.match(r"[A-Za-df-z]", name) and name.lower() not in RESERVED else f"v_{name}" for name in plain]
    return plain if len(set(plain)) == len(plain) else [f"{name}__{k}" for k, name in enumerate(plain)]


def plain_rows(constraints: Sequence[Constraint]) -> list[str]:
    """Return the names in a file of all linear rows, and behind them those of the indicators."""
    linear = [name for c in constraints if not isinstance(c.cone, Indicator) for name in c.names()]
    return plain_names(linear + [name for c in constraints if isinstance(c.cone, Indicator) for name in c.names()[1::2]])


def labelled(flat: FlatProgram, source: Source) -> StandardForm:
    """Return the form of a file: with the sidecar's labels where the file has the names of the sidecar, else with its own.

    A file that another program saved, its variables and rows in another order, has the labels still; another file has not.
    """
    layout = source.sidecar
    if layout is None:
        return flat.to_form(None)
    if layout.describes(source.text):
        return replace(flat, infinite=np.inf).to_form(layout)
    empty = [
        Constraint(c.label, sp.csr_array((c.cone.rows, 0)), np.zeros(c.cone.rows), c.cone, c.own) for c in layout.constraints
    ]
    kinds = [np.full(c.rows, isinstance(c.cone, Zero)) for c in empty if not isinstance(c.cone, Indicator)]
    equal = np.concatenate([np.zeros(0, dtype=bool), *kinds])
    arranged = flat.arranged(plain_names(layout.names), plain_rows(empty), equal)
    return flat.to_form(None) if arranged is None else arranged.to_form(layout)


class _LP(FileFormat):
    suffix = ".lp"
    title = "LP"
    carries = frozenset({Feature.QUADRATIC, Feature.INTEGER, Feature.INDICATOR})

    def write(self, form: StandardForm, path: Path) -> None:
        flat = FlatProgram.of(form)
        x = plain_names(form.names())
        rows = plain_rows(form.constraints)
        lines = [f"\\ {form.name}; written by marginopt", "minimize", " obj:"]
        # every variable is named in the objective, so that the order of first mention is the order of x
        lines += list(_wrapped([f"{_signed(v)} {name}" for v, name in zip(flat.q, x, strict=True)]))
        if flat.P is not None and flat.P.nnz:
            lines += [" + [", *_wrapped(list(_quadratic_terms(flat.P, x))), " ] / 2"]
        if flat.r:
            lines.append(f" {_signed(flat.r)}")
        lines.append("subject to")
        for i, name in enumerate(rows[: flat.b.size]):
            start, stop = flat.A.indptr[i], flat.A.indptr[i + 1]
            terms = _terms(flat.A.data[start:stop], flat.A.indices[start:stop], x)
            lines += [f" {name}:", *_wrapped(terms), f"  {'=' if flat.equal[i] else '>='} {flat.b[i]:.17g}"]
        for name, row in zip(rows[flat.b.size :], flat.indicators, strict=True):
            terms = _terms(row.a.data, row.a.indices, x)
            lines += [f" {name}: {x[row.binary]} = {row.active} ->", *_wrapped(terms), f"  >= {row.lower:.17g}"]
        lines.append("bounds")
        lines += [_bound(name, low, high) for name, low, high in zip(x, flat.lower, flat.upper, strict=True)]
        if flat.integer.any():
            lines += ["general", *_wrapped([x[j] for j in np.flatnonzero(flat.integer)])]
        text = "\n".join([*lines, "end", ""])
        write_texts({path: text, sidecar(path): Layout.of(form).beside(text)})

    def read(self, source: Source) -> StandardForm:
        return labelled(read_program(source), source)


def _terms(coefficients: np.ndarray, columns: np.ndarray, x: list[str]) -> list[str]:
    """Return the terms of a row, of which there is at least one."""
    return [f"{_signed(v)} {x[j]}" for v, j in zip(coefficients, columns, strict=True)] or [f"0 {x[0]}"]


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


FORMAT = _LP()
