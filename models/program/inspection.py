"""Inspection of a form by its user: ranges and scaling (`form.inspect()`), a picture (`form.spy()`), and the difference of two
forms (`form.diff(other)`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ...drawing import COLOURS, GREY, Picture, figure_of, literal_text, svg_of
from ...errors import count_text
from ..arrays import FloatArray, IntArray
from .cones import Nonnegative, Zero

if TYPE_CHECKING:
    from .form import Constraint, StandardForm
    from .quadratic import Quadratic

#: Up to this order matrices are decomposed densely; beyond it the figures are bounds or Lanczos estimates.
_DENSE = 1200
#: Ratios above which advice is given: of coefficients within one constraint, or of the objective and the rows; of norms of rows.
_SPREAD, _ROWS = 1e6, 1e4
#: Size above which a finite bound draws advice.
_HUGE = 1e8
#: A negative eigenvalue counts as rounding up to this share of the largest, in absolute value.
_ROUNDING = 1e-10


@dataclass(frozen=True)
class Range:
    """The range of the absolute values of the non-zero entries in some part of a form.

    Parameters
    ----------
    part : str
        Name of the part: ``"q"``, ``"bounds"``, ``"F margin"``, ...
    smallest, largest : float
        The ends of the range; 0 without entries.
    entries : int
        Number of non-zero, finite entries.
    """

    part: str
    smallest: float
    largest: float
    entries: int

    @classmethod
    def of(cls, part: str, values: FloatArray) -> Range:
        """Return the range of the non-zero, finite entries."""
        sizes = np.abs(np.asarray(values, dtype=np.float64).ravel())
        sizes = sizes[(sizes > 0) & np.isfinite(sizes)]
        if not sizes.size:
            return cls(part, 0.0, 0.0, 0)
        return cls(part, float(sizes.min()), float(sizes.max()), int(sizes.size))

    @property
    def ratio(self) -> float:
        """Return the largest over the smallest value; 1 where there is no entry."""
        return self.largest / self.smallest if self.entries else 1.0

    def __str__(self) -> str:
        if not self.entries:
            return f"{self.part:<16} no non-zeros"
        return f"{self.part:<16} {self.entries:>9,} non-zeros  [{self.smallest:.2g}, {self.largest:.2g}]"


@dataclass(frozen=True)
class Condition:
    """The condition number of the matrix of all rows, or, for large matrices, the largest over the smallest norm of its columns.

    Both leave out zeros. The second is a lower bound of the first for independent columns alone: then the extreme singular values
    enclose the column norms.

    Parameters
    ----------
    value : float
        The largest over the smallest singular value, or column norm, that is not zero.
    exact : bool
        False where ``value`` is the ratio of column norms.
    """

    value: float
    exact: bool

    def __str__(self) -> str:
        return f"{self.value:.2g}{'' if self.exact else ' (the ratio of the column norms)'}"


@dataclass(frozen=True)
class ConvexityFinding:
    """The finding of whether the continuous relaxation is convex, with its reason.

    Parameters
    ----------
    convex : bool or None
        None where it is undecided.
    reason : str
        The argument, in words.
    smallest_eigenvalue : float, optional
        The smallest eigenvalue of P, where it was computed.
    """

    convex: bool | None
    reason: str
    smallest_eigenvalue: float | None = None


@dataclass(frozen=True)
class FormReport:
    """The report of `StandardForm.inspect`; printable.

    Parameters
    ----------
    sizes : str
        A sentence: name, variables, rows, non-zeros and bytes of the form.
    ranges : tuple of Range
        Objective, every constraint's F and g, bounds.
    condition : Condition or None
        Condition of the rows; None without non-zero rows.
    convexity : ConvexityFinding
        Whether the continuous relaxation is convex.
    advice : tuple of str
        What to do about the scaling, a sentence for each warning.
    """

    sizes: str
    ranges: tuple[Range, ...]
    condition: Condition | None
    convexity: ConvexityFinding
    advice: tuple[str, ...]

    def range(self, part: str) -> Range:
        """Return the range of a part, such as ``"F margin"``."""
        return next(r for r in self.ranges if r.part == part)

    def __str__(self) -> str:
        verdict = {True: "convex", False: "not convex", None: "undecided"}[self.convexity.convex]
        lines = [self.sizes, *(f"  {r}" for r in self.ranges)]
        lines += [f"  condition of the rows: {self.condition}"] if self.condition is not None else []
        lines.append(f"  {verdict}: {self.convexity.reason}")
        lines += [f"  advice: {text}" for text in self.advice] or ["  scaling: no warnings"]
        return "\n".join(lines)

    __repr__ = __str__


def inspect_form(form: StandardForm) -> FormReport:
    """Return ranges, condition, convexity and scaling advice of a form."""
    ranges = [Range.of("q", form.q)]
    if form.quadratic is not None:
        part = form.quadratic.factor if form.quadratic.matrix is None and form.quadratic.factor is not None else None
        values = form.quadratic.csc.data if part is None else _data(part)
        ranges.insert(0, Range.of("P" if part is None else "R, P = R'R", values))
    for c in form.constraints:
        ranges += [Range.of(f"F {c.label}", c.F.data), Range.of(f"g {c.label}", c.g)]
    ranges.append(Range.of("bounds", np.concatenate([form.lower, form.upper])))
    stored = sum(c.F.nnz for c in form.constraints)
    sizes = (
        f"{form.name}: {count_text(form.n, 'variable')}, {count_text(form.rows, 'row')}, "
        f"{count_text(stored, 'non-zero', spec=',')}, {form.bytes:,} bytes"
    )
    return FormReport(sizes, tuple(ranges), _condition(form), _convexity(form), tuple(_advice(form, ranges)))


def _data(matrix: Any) -> FloatArray:
    return np.asarray(matrix.data if sp.issparse(matrix) else matrix)


def _condition(form: StandardForm) -> Condition | None:
    if not form.rows:
        return None
    F, _ = form.rows_matrix()
    if max(F.shape) <= _DENSE:
        singular = np.linalg.svd(F.toarray(), compute_uv=False)
        nonzero = singular[singular > singular.max(initial=0.0) * max(F.shape) * np.finfo(float).eps]
        return Condition(float(nonzero.max() / nonzero.min()), True) if nonzero.size else None
    norms = np.sqrt(np.asarray(F.multiply(F).sum(axis=0)).ravel())
    norms = norms[norms > 0]
    return Condition(float(norms.max() / norms.min()), False) if norms.size else None


def _convexity(form: StandardForm) -> ConvexityFinding:
    strange = [c.label for c in form.constraints if not c.cone.convex]
    if strange:
        return ConvexityFinding(False, f"{', '.join(strange)}: not a convex set")
    relaxed = "the continuous relaxation: " if form.integer.any() else ""
    if form.quadratic is None:
        return ConvexityFinding(True, f"{relaxed}a linear objective over convex cones")
    if form.quadratic.factor is not None:
        return ConvexityFinding(True, f"{relaxed}P = R'R by construction")
    low, high, method = _extremes(form)
    if low is None or high is None:
        return ConvexityFinding(None, f"{relaxed}{method}")
    if low >= -_ROUNDING * max(high, 0.0):
        return ConvexityFinding(True, f"{relaxed}smallest eigenvalue of P {low:.2g}, largest {high:.2g} ({method})", low)
    return ConvexityFinding(False, f"P has the eigenvalue {low:.4g} beside {high:.2g} ({method})", low)


def _extremes(form: StandardForm) -> tuple[float | None, float | None, str]:
    """Return the smallest and the largest eigenvalue of P, and how they were found; None and the reason where Lanczos fails."""
    quadratic = form.quadratic
    assert quadratic is not None
    if form.n <= _DENSE:
        eigenvalues = np.linalg.eigvalsh(np.asarray(quadratic.csc.toarray()))
        return float(eigenvalues[0]), float(eigenvalues[-1]), "dense decomposition"
    operator = sp.linalg.LinearOperator((form.n, form.n), matvec=lambda v: quadratic.product(np.ravel(v)), dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(form.n)
    try:
        ends = [
            float(sp.linalg.eigsh(operator, k=1, which=end, v0=start, tol=1e-3, maxiter=200, return_eigenvectors=False)[0])
            for end in ("SA", "LA")
        ]
    except sp.linalg.ArpackNoConvergence:
        return None, None, "Lanczos found no smallest eigenvalue of P in 200 steps"
    return ends[0], ends[1], "Lanczos, to 1e-3 of the largest"


def _advice(form: StandardForm, ranges: list[Range]) -> list[str]:
    sentences = []
    by_part = {r.part: r for r in ranges}
    for c in form.constraints:
        r = by_part[f"F {c.label}"]
        big = _big_m(form, c)
        if big is not None:
            sentences.append(
                f"{c.label}: coefficients of integer variables up to {big:.2g} beside others (big M): an incumbent's value "
                "tightens M, and tolerances times M bound what an integer off by rounding can hide"
            )
        elif r.ratio > _SPREAD:
            sentences.append(
                f"{c.label}: coefficients span a factor of {r.ratio:.1g}; standardise the features "
                "(Instance.prepared(standardise=True)) or scale the columns"
            )
        spread = _row_spread(c)
        if spread > _ROWS:
            sentences.append(
                f"{c.label}: norms of its rows differ by a factor of {spread:.1g}; residual tolerances mean other things"
            )
    if by_part["bounds"].largest > _HUGE:
        sentences.append(f"bounds up to {by_part['bounds'].largest:.2g}: leave them out where they mean 'none'")
    objective = [r for r in ranges if r.part in ("P", "q")]
    top = max((r.largest for r in objective), default=0.0)
    rows = max((by_part[f"F {c.label}"].largest for c in form.constraints), default=0.0)
    if top and rows and max(top / rows, rows / top) > _SPREAD:
        sentences.append(f"objective coefficients up to {top:.2g}, rows' up to {rows:.2g}: scale the objective")
    return sentences


def _big_m(form: StandardForm, c: Constraint) -> float | None:
    """Return the largest coefficient of integer variables, if it is above 1e3 times the median of the others' coefficients."""
    integer = form.integer[c.F.indices]
    sizes = np.abs(c.F.data)
    continuous_sizes = sizes[~integer & (sizes > 0)]
    if not integer.any() or not continuous_sizes.size:
        return None
    largest = float(sizes[integer].max())
    return largest if largest > 1e3 * float(np.median(continuous_sizes)) else None


def _row_spread(c: Constraint) -> float:
    """Return the largest over the smallest norm of a linear constraint's rows; 1 for cones, whose rows belong together."""
    if not isinstance(c.cone, (Zero, Nonnegative)) or not c.rows:
        return 1.0
    largest = abs(c.F).max(axis=1).toarray().ravel()  # squares of the entries may overflow, those of their ratios cannot
    scaled = sp.diags_array(1.0 / np.where(largest > 0.0, largest, 1.0)) @ c.F
    norms = largest * np.sqrt(np.asarray(scaled.multiply(scaled).sum(axis=1)).ravel())
    norms = norms[norms > 0]
    return float(norms.max() / norms.min()) if norms.size else 1.0


#: Symbols of the cones, each with a colour of its own in `spy`.
_KINDS = ("Nonnegative", "Zero", "SecondOrder", "RotatedSecondOrder", "PSD", "Indicator", "Exponential", "Power", "Bilinear")
_COLOURS = dict(zip(_KINDS, (*COLOURS, "#882255", "#999933"), strict=True))


def spy(form: StandardForm) -> Picture:
    """Draw the positions of the non-zeros: P above, one band of rows for each constraint below, blocks of variables side by side.

    Colours name the cones; a band's height grows with its rows, between two limits.
    """
    shown = [c for c in form.constraints if c.rows]
    heights = [] if form.quadratic is None else [min(max(form.n / 4, 1.0), 12.0)]
    heights += [min(max(c.rows / 4, 1.2), 12.0) for c in shown]
    figure = figure_of(8.0, 1.2 + 0.32 * sum(heights))
    axes = np.atleast_1d(figure.subplots(max(len(heights), 1), 1, gridspec_kw={"height_ratios": heights or [1.0]}))
    free_axes = list(axes)
    if form.quadratic is not None:
        _band(free_axes.pop(0), sp.coo_array(form.quadratic.csc), "P", "#444444", form)
    for ax, c in zip(free_axes, shown, strict=False):
        _band(ax, sp.coo_array(c.F), f"{c.label}\n{c.cone}", _COLOURS[c.cone.symbol], form)
    below = axes[-1].get_xaxis_transform()  # data coordinates across, the axes' own up and down
    for b in form.blocks:
        s = form.slices[b.label]
        mark = " (integer)" if form.integer[s].any() else ""
        middle = 0.5 * (s.start + s.stop) - 0.5
        axes[-1].text(middle, -0.02, literal_text(f"{b.label}{mark}"), ha="center", va="top", fontsize=8, transform=below)
    axes[0].set_title(literal_text(f"{form.name}: {count_text(form.n, 'variable')}, {count_text(form.rows, 'row')}"), fontsize=10)
    return Picture(svg_of(figure))


def _band(ax: Any, matrix: sp.coo_array, name: str, colour: str, form: StandardForm) -> None:
    nonzero = matrix.data != 0
    size = min(max(260.0 / max(form.n, matrix.shape[0], 1), 0.4), 6.0)
    ax.plot(
        matrix.col[nonzero],
        matrix.row[nonzero],
        "s",
        color=colour,
        markersize=size,
        markeredgewidth=0,
        rasterized=nonzero.sum() > 20_000,
    )
    for s in list(form.slices.values())[1:]:
        ax.axvline(s.start - 0.5, color=GREY, lw=0.6)
    ax.set_xlim(-0.5, form.n - 0.5)
    ax.set_ylim(matrix.shape[0] - 0.5, -0.5)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_ylabel(name, fontsize=8, rotation=0, ha="right", va="center")


@dataclass(frozen=True)
class FormDelta:
    """The difference between two forms, as `StandardForm.diff` finds it.

    Parameters
    ----------
    structure : tuple of str
        Differences of structure (blocks, labels, cones, sense), in words; empty when only numbers differ. If it is not empty, the
        other fields are empty or False without a comparison.
    quadratic : bool
        Whether P differs.
    q, lower, upper, integer : ndarray of int
        Indices of the variables whose entry differs.
    r : bool
        Whether the constant differs.
    F, g : tuple of str
        Labels of the constraints whose matrix or constant differs.
    """

    structure: tuple[str, ...]
    quadratic: bool
    q: IntArray
    r: bool
    F: tuple[str, ...]
    g: tuple[str, ...]
    lower: IntArray
    upper: IntArray
    integer: IntArray

    @property
    def empty(self) -> bool:
        """Return whether the forms are equal; a factored P is compared as a matrix."""
        vectors = (self.q, self.lower, self.upper, self.integer)
        return not (self.structure or self.quadratic or self.r or self.F or self.g or any(v.size for v in vectors))

    @classmethod
    def between(cls, old: StandardForm, new: StandardForm) -> FormDelta:
        """Return the difference between two forms; arrays that they share are not read."""
        empty = np.zeros(0, dtype=np.int64)
        structure = tuple(_structure(old, new))
        if structure:
            return cls(structure, False, empty, False, (), (), empty, empty, empty)
        pairs = list(zip(old.constraints, new.constraints, strict=True))
        return cls(
            structure=(),
            quadratic=not _same_quadratic(old.quadratic, new.quadratic),
            q=_changed(old.q, new.q),
            r=old.r != new.r,
            F=tuple(a.label for a, b in pairs if not _same_matrix(a.F, b.F)),
            g=tuple(a.label for a, b in pairs if _changed(a.g, b.g).size),
            lower=_changed(old.lower, new.lower),
            upper=_changed(old.upper, new.upper),
            integer=_changed(old.integer, new.integer),
        )

    def __str__(self) -> str:
        if self.empty:
            return "no difference"
        parts = list(self.structure)
        parts += ["quadratic term"] if self.quadratic else []
        parts += ["constant of the objective"] if self.r else []
        names = ("q", "lower", "upper", "integer")
        vectors = (self.q, self.lower, self.upper, self.integer)
        parts += [
            f"{name}: {v.size} {'entry' if v.size == 1 else 'entries'}" for name, v in zip(names, vectors, strict=True) if v.size
        ]
        parts += [f"F of {label}" for label in self.F] + [f"g of {label}" for label in self.g]
        return "; ".join(parts)


def _structure(old: StandardForm, new: StandardForm) -> list[str]:
    reasons = []
    if old.blocks != new.blocks:
        reasons.append(f"blocks {_labels(old.blocks)} → {_labels(new.blocks)}")
    if [(c.label, c.cone) for c in old.constraints] != [(c.label, c.cone) for c in new.constraints]:
        reasons.append(f"constraints {_labels(old.constraints)} → {_labels(new.constraints)}")
    if old.maximise != new.maximise:
        reasons.append("sense of the objective")
    return reasons


def _labels(items: tuple[Any, ...]) -> str:
    return "(" + ", ".join(item.label for item in items) + ")"


def _changed(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> IntArray:
    return np.zeros(0, dtype=np.int64) if a is b else np.flatnonzero(a != b)


def _same_matrix(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if _same_places(a, b):
        return bool(np.array_equal(a.data, b.data))
    if sp.issparse(a) or sp.issparse(b):
        difference = sp.csr_array(a) - sp.csr_array(b)
        return difference.nnz == 0 or not difference.data.any()
    return bool(np.array_equal(a, b))


def _same_places(a: Any, b: Any) -> bool:
    """Return whether two matrices, both CSR or both CSC, store the same pattern, as forms of one model do."""
    if not (sp.issparse(a) and sp.issparse(b) and a.format == b.format and a.format in ("csr", "csc") and a.shape == b.shape):
        return False
    return np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices)


def _same_quadratic(a: Quadratic | None, b: Quadratic | None) -> bool:
    if a is b:
        return True
    if a is None or b is None:
        present = a if a is not None else b
        assert present is not None
        return not present.csc.nnz
    return _same_matrix(a.materialised, b.materialised)
