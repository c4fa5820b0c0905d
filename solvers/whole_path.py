"""The whole path of the 0-1-loss SVM over λ: ``path(model, "lam", "all")``.

Let N(w) be the squared norm and V(w) = Σ c_i 1{a_i'w < 1} the cost of the violations, a_i = y_i x_i, c_i = 1 unless the model's
λ differ by point. The optimal value φ(λ) = min_w N(w) + λ V(w) is a minimum of lines in λ. So it is concave, nondecreasing and
piecewise linear, with φ(0) = 0. Its pieces are the corners of the lower convex hull of all (V, N). They are found by the method
of Eisner and Severance (1976): where the lines of two corners meet, an exact solve either finds a point below both lines, a new
corner, or proves that there is none.

*What is proved.* Let b_i ≤ φ(λ_i) be proved at 0 < λ_1 < ... < λ_m. Concavity and φ(0) = 0 give φ(λ) ≥ the interpolation of
(0, 0), (λ_1, b_1), ..., (λ_m, b_m) for λ ≤ λ_m, and φ(λ) ≥ b_m beyond. Where every b_i is the value of the two lines that meet at
λ_i, the interpolation is the path itself. Beyond λ_m the last corner stays optimal if it violates no margin. Otherwise only
N ≥ b_m - λ_m (V_m - c) is known of a classifier with fewer violations than its V_m, c the least cost of a violation.
"""

from __future__ import annotations

import bisect
import itertools
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ..display import Display, Displayable, Tabular, bound_text
from ..drawing import COLOURS, new_axes
from ..errors import InputError, UnsupportedModelError, WriteError, count_text, short_text
from ..models.arrays import FloatArray, as_positive, to_dense
from ..models.formulations.margin.exact_evaluation import satisfies_margins
from ..models.formulations.zero_one import ZeroOneSVM
from ..models.model import Model
from ..models.program.form import StandardForm
from .certification.result import Result
from .exact.check.log_reader import file_sha256, stated_bound
from .proofs import Question, check_proof
from .records import Options, Status
from .solve import solve_problem

#: Largest λ by default, in units of 1/(median squared norm of the rows).
_FAR = 1e7
#: Least relative decrease below two meeting lines that counts as a new corner, in units of the tolerance.
_NEW = 2.0
_SOLVER = "zero-one-bb"
#: Relative difference that rounding may leave between numbers of a path and those of its check.
_AGREES = Fraction(1, 10**9)
#: Least ratio of bound and value at which a path of any tolerance counts as proved.
_PROVED = 1.0 - 2.0 * _NEW * 1e-2


@dataclass(frozen=True, eq=False)
class Corner:
    """A classifier that is optimal on an interval of λ, with the symbols V, N and c_i of the module.

    Parameters
    ----------
    lam_low, lam_high : float
        The interval, from 0 for the first corner. The last one ends at ``lam_max``, or at ∞ if it violates no margin.
    w : ndarray (p,)
        The coefficients.
    violations : float
        V(w) = Σ c_i 1{a_i'w < 1}.
    norm : float
        N(w), the squared norm of the penalised weights.
    proved_ratio : float
        The least ratio of proved bound and value at the ends of the interval; 1 up to rounding if the corner is proved.
    """

    lam_low: float
    lam_high: float
    w: FloatArray
    violations: float
    norm: float
    proved_ratio: float

    def value(self, lam: float) -> float:
        """Return N + λV."""
        return self.norm + lam * self.violations


@dataclass(frozen=True)
class Breakpoint:
    """A λ at which two corners have the same value, or the largest λ of the path, with the proved lower bound of φ(λ)."""

    lam: float  #: λ
    value: float  #: N + λV of the corners that meet there: φ(λ) if the path is proved
    bound: float  #: proved lower bound of φ(λ)


@dataclass(frozen=True, eq=False)
class PathPoint:
    """The path at one λ: the corner's classifier, its objective N + λV, and the proved lower bound of all classifiers."""

    lam: float  #: λ
    w: FloatArray  #: (p,) coefficients of the corner
    violations: float  #: V(w)
    norm: float  #: N(w)
    objective: float  #: N + λV
    bound: float  #: proved lower bound of φ(λ)


@dataclass(frozen=True)
class PathReport:
    """The verdict on the logs of a path.

    Parameters
    ----------
    valid : bool
        Whether every log is about its λ of this model and proves its bound, and every corner attains its V and N.
    ratio : float
        The least ratio of a bound that the logs prove and the path's value, over all breakpoints.
    nodes : int
        Nodes verified.
    message : str
        The first fault; empty for a valid path.
    """

    valid: bool
    ratio: float
    nodes: int
    message: str


@dataclass(frozen=True, eq=False)
class WholePath(Displayable, Tabular, Question):
    """The optimal classifiers for every λ in (0, lam_max], with proved bounds.

    ``check_proof(log, path)`` verifies one log of a breakpoint, and `check` all of them.

    Parameters
    ----------
    model : ZeroOneSVM
        The data. A λ of the path multiplies its costs c_i.
    corners : tuple of Corner
        By increasing λ: fewer violations, larger norm.
    breakpoints : tuple of Breakpoint
        By increasing λ; the last one is ``lam_max``.
    lam_max : float
        The largest λ at which the path is proved.
    proved : bool
        Whether every breakpoint's gap is within the tolerance.
    solves : int
        Number of exact solves.
    seconds : float
        Total time.
    logs : tuple of str
        Paths of the proof logs, one for each breakpoint; empty without logs.
    digests : tuple of str
        SHA-256 of each log.
    """

    model: ZeroOneSVM
    corners: tuple[Corner, ...]
    breakpoints: tuple[Breakpoint, ...]
    lam_max: float
    proved: bool
    solves: int
    seconds: float
    logs: tuple[str, ...] = field(default=())
    digests: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.corners)

    def __iter__(self) -> Iterator[Corner]:
        return iter(self.corners)

    def at(self, lam: float) -> PathPoint:
        """Return the path at one λ > 0.

        Raises
        ------
        InputError
            λ is not a positive number.
        """
        lam = as_positive(lam, "lam")
        ends = [corner.lam_high for corner in self.corners[:-1]]
        corner = self.corners[bisect.bisect_left(ends, lam)]
        value = corner.value(lam)
        return PathPoint(lam, corner.w, corner.violations, corner.norm, value, min(self.bound(lam), value))

    def bound(self, lam: float) -> float:
        """Return the proved lower bound of φ(λ): the interpolation of the breakpoints' bounds and (0, 0)."""
        lams = np.array([0.0, *(point.lam for point in self.breakpoints)])
        bounds = np.array([0.0, *(point.bound for point in self.breakpoints)])
        return float(np.interp(lam, lams, bounds)) * (1.0 - 1e-15)

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary for each corner, as rows of a table: its interval of λ, V, N and proved ratio."""
        return [
            {
                "lam from": corner.lam_low,
                "lam to": corner.lam_high,
                "violations": corner.violations,
                "norm": corner.norm,
                "proved": corner.proved_ratio,
            }
            for corner in self.corners
        ]

    @property
    def _interval(self) -> str:
        """The λ of the path in words."""
        return f"(0, {float(bound_text(self.lam_max, 'minimum')):.4g}]"

    @property
    def _title(self) -> str:
        claim, proof = ("optimal", "proved") if self.proved else ("the best found", "not proved everywhere")
        verb, solves = "is" if len(self) == 1 else "are", count_text(self.solves, "exact solve")
        return f"{count_text(len(self), 'classifier')} {verb} {claim} for λ in {self._interval}: {proof}, {solves}"

    @property
    def sentence(self) -> str:
        """Return the path as one sentence: the claim, its standing, the logs' digests and the data."""
        low, high = (f"{self.corners[k].violations:g}" for k in (-1, 0))
        rows = np.unique(np.column_stack([to_dense(self.model.X), self.model.y]), axis=0)
        digests = ", ".join(digest[:16] for digest in self.digests)
        share = float(bound_text(max(1.0 - self._ratio, 0.0), "maximum", 2))
        clauses = [
            "proved" if self.proved else "not proved everywhere",
            *([f"logs sha256 {digests}"] if digests else []),
            f"{count_text(len(self.model.y), 'point')} in {count_text(len(rows), 'distinct row')}",
        ]
        return (
            f"For every λ in {self._interval} one of {len(self)} classifiers, with {high} to {low} violations, has the "
            f"least ||w||² + λ × violations up to a share {share:.1e}: {', '.join(clauses)}."
        )

    @property
    def _ratio(self) -> float:
        """The least ratio of a bound and the path's value."""
        return min(point.bound / point.value if point.value > 0.0 else 1.0 for point in self.breakpoints)

    def problems(self) -> Mapping[str, Model]:
        """Return the model of every breakpoint by the name "λ = ...": those that the logs are about."""
        costs = _costs(self.model)
        return {f"λ = {point.lam!r}": _model_at_lam(self.model, costs, point.lam) for point in self.breakpoints}

    def __str__(self) -> str:
        lines = [self._title, f"  {'lambda from':>12}  {'to':>12}  {'violations':>10}  {'||w||^2':>14}  bound/objective"]
        lines += [
            f"  {c.lam_low:>12.6g}  {c.lam_high:>12.6g}  {c.violations:>10g}  {c.norm:>14.8g}  {c.proved_ratio:.6%}"
            for c in self.corners
        ]
        return "\n".join(lines)

    def display(self) -> Display:
        """Return the notebook view."""
        rows = tuple(
            (f"{c.lam_low:.6g}", f"{c.lam_high:.6g}", f"{c.violations:g}", f"{c.norm:.8g}", f"{c.proved_ratio:.6%}")
            for c in self.corners
        )
        return Display(self._title, head=("λ from", "λ to", "violations", "||w||²", "bound/objective"), rows=rows)

    def plot(self, ax: Any = None) -> Any:
        """Draw the staircase of violations against λ, both ends of every step marked; return the matplotlib axes."""
        axes = new_axes((6.0, 4.0)) if ax is None else ax
        inner = [corner.lam_high for corner in self.corners[:-1]] or [self.lam_max]
        low, high = 0.3 * inner[0], min(3.0 * inner[-1], max(self.lam_max, inner[-1]))
        lams = np.array([low, *(corner.lam_high for corner in self.corners[:-1]), high])
        violations = np.array([corner.violations for corner in self.corners])
        axes.stairs(violations, lams, baseline=None, color=COLOURS[0], lw=1.6, label="violations of the optimum")
        axes.set_xscale("log")
        axes.set_xlabel("λ")
        axes.set_ylabel("violations")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
        return axes

    def check(self) -> PathReport:
        """Verify the logs from the data: derive the model of every breakpoint, check its log, recompute every corner.

        V and N of the corners are evaluated in rational arithmetic. The bounds of the logs are interpolated between their λ and
        compared with the path at every kink of either. A path that states more than the logs prove is not valid.
        """
        if len(self.logs) != len(self.breakpoints):
            return PathReport(False, 0.0, 0, f"there are {len(self.logs)} logs for {len(self.breakpoints)} breakpoints")
        lams = [point.lam for point in self.breakpoints]
        if not (self.lam_max < math.inf and all(a < b for a, b in itertools.pairwise([0.0, *lams, math.inf]))):
            return PathReport(False, 0.0, 0, "the breakpoints are not in the order of λ > 0")
        costs = _costs(self.model)
        numbers = [_numbers(self.model, costs, corner.w) for corner in self.corners]
        for corner, (violations, norm) in zip(self.corners, numbers, strict=True):
            if not (_rounded(corner.violations, violations) and _rounded(corner.norm, norm)):
                return PathReport(False, 0.0, 0, f"the classifier of {corner.violations:g} violations has other numbers")
        if numbers[0][1]:
            return PathReport(False, 0.0, 0, "no classifier of the path has norm zero, as the best ones of the least λ have")
        nodes, bounds = 0, dict[float, float]()
        for point, log, problem in zip(self.breakpoints, self.logs, self.problems().values(), strict=True):
            report = check_proof(log, problem)
            if not report.valid:
                return PathReport(False, 0.0, nodes, f"the log at λ = {point.lam:g}: {report.message}")
            nodes += report.nodes
            bounds[point.lam] = report.bound
        if self.digests != tuple(file_sha256(Path(log)) for log in self.logs):
            return PathReport(False, 0.0, nodes, "the logs' digests are others")
        ratio = self._least_ratio(bounds)
        return PathReport(not (message := self._objection(numbers, bounds, ratio)), ratio, nodes, message)

    def _least_ratio(self, bounds: Mapping[float, float]) -> float:
        """Return the least ratio of proved bounds, interpolated, and the path's value over (0, lam_max]."""
        kinks = [lam for lam in (*bounds, *self._ends) if 0.0 < lam <= self.lam_max]
        return min(self._ratio_at(lam, bounds) for lam in (0.5 * min(kinks), *kinks))

    def _ratio_at(self, lam: float, bounds: Mapping[float, float]) -> float:
        value = min(corner.value(lam) for corner in self.corners)
        nodes = sorted(bounds.items())
        bound = float(np.interp(lam, [0.0, *(node for node, _ in nodes)], [0.0, *(proved for _, proved in nodes)]))
        return bound / value if value > 0.0 else 1.0

    @property
    def _ends(self) -> list[float]:
        """The upper ends of the corners' intervals."""
        return [*(corner.lam_high for corner in self.corners[:-1]), self.lam_max]

    def _objection(self, numbers: list[tuple[Fraction, Fraction]], bounds: Mapping[float, float], ratio: float) -> str:
        """Return the first statement of the path that its corners' numbers and the logs' bounds do not imply."""
        slack, low = 1.0 + float(_AGREES), 0.0
        for corner, high, (violations, norm) in zip(self.corners, self._ends, numbers, strict=True):
            values = [(norm + lam * violations, min(n + lam * v for v, n in numbers)) for lam in (Fraction(low), Fraction(high))]
            if corner.lam_low != low or not low < high or any(value > lower * (1 + _AGREES) for value, lower in values):
                return f"the classifier of {corner.violations:g} violations is not the best one on its interval"
            if not corner.proved_ratio <= slack * min(self._ratio_at(lam, bounds) for lam in (low or 0.5 * high, high)):
                return f"the logs prove less of the classifier of {corner.violations:g} violations than is stated"
            low = high
        last = self.corners[-1].lam_high
        if not (last == self.lam_max or (last == math.inf and not numbers[-1][0])):
            return f"the last classifier is the best one up to {self.lam_max:g}, not {last:g}"
        for point in self.breakpoints:
            if not 0.0 <= point.bound <= bounds[point.lam] * slack:
                return f"the log at λ = {point.lam:g} proves {bounds[point.lam]:.12g}, not the stated {point.bound:.12g}"
        if not self._ratio <= ratio * slack or (self.proved and ratio < _PROVED):
            return f"the logs prove the path up to a share of {1.0 - ratio:.1e}"
        return ""

    def solve_between_corners(self, time_limit: float | None = None) -> tuple[Result, ...]:
        """Solve min N(w) with at most k violations (the form of `ZeroOneSVM` with κ = k/n) for every k between two corners.

        The points lie above the lines between the corners, so that no λ finds them. Each result has its own proved bound.

        Raises
        ------
        UnsupportedModelError
            The costs of the points differ.
        """
        if (_costs(self.model) != 1.0).any():
            raise UnsupportedModelError("the points between corners are of the κ form, which counts points; these costs differ")
        n, results = len(self.model.y), []
        for corner, following in zip(self.corners[:-1], self.corners[1:], strict=True):
            for count in range(int(corner.violations) - 1, int(following.violations), -1):
                model = ZeroOneSVM(self.model.X, self.model.y, kappa=count / n, intercept=self.model.intercept)
                options = Options.of(None, time_limit=time_limit, start={"w": following.w})
                results.append(solve_problem(model, _SOLVER, options))
        return tuple(results)


def whole_path(
    model: Model | StandardForm, *, lam_max: float | None = None, tol: float = 1e-8, time_limit: float | None = None,
    proof: str | Path | None = None, options: Options | None = None,
) -> WholePath:  # fmt: skip
    """Solve a 0-1-loss SVM for every λ in (0, lam_max].

    Parameters
    ----------
    model : ZeroOneSVM
        The λ form, linear. One λ for each point gives the costs c_i that the λ of the path multiplies; a single λ is not used.
    lam_max : float, optional
        Largest λ; by default 1e7 over the median squared norm of the rows.
    tol : float
        Relative gap of every solve, in [1e-12, 1e-2).
    time_limit : float, optional
        Seconds for all solves; after them the path has the corners found so far, and its bounds are those proved so far.
    proof : str or Path, optional
        A folder for one proof log of each breakpoint, which `WholePath.check` verifies.
    options : Options, optional
        Common options of every solve, such as ``threads`` and ``seed``.

    Raises
    ------
    UnsupportedModelError
        The model is no `ZeroOneSVM` of the λ form.
    InputError
        lam_max, tol or time_limit is not a positive number, or tol is out of range.
    WriteError
        The folder cannot be made, or a log cannot be written.
    """
    begin = time.perf_counter()
    search = _Search.of(model, lam_max, tol, time_limit, options)
    search.find_corners()
    logs = () if proof is None else search.write_logs(Path(proof))
    return search.path(time.perf_counter() - begin, logs)


def _model_at_lam(model: ZeroOneSVM, costs: FloatArray, lam: float) -> ZeroOneSVM:
    """Return the model at one λ of the path; equal costs stay one number."""
    point_lams: Any = lam if (costs == 1.0).all() else lam * costs
    return ZeroOneSVM(model.X, model.y, point_lams, intercept=model.intercept)


def _costs(model: ZeroOneSVM) -> FloatArray:
    """Return c_i: the model's λ_i if it has one for each point, else ones."""
    return np.ones(len(model.y)) if isinstance(model.lam, float) else np.asarray(model.sample_weight)


def _numbers(model: ZeroOneSVM, costs: FloatArray, w: FloatArray) -> tuple[Fraction, Fraction]:
    """Return V(w) and N(w) in rational arithmetic."""
    violated = costs[~satisfies_margins(model.signed, w)]
    violations = sum((Fraction(c) for c in violated.tolist()), Fraction(0))
    return violations, sum((Fraction(x) ** 2 for x in w[model.penalised].tolist()), Fraction(0))


def _rounded(number: float, exact: Fraction) -> bool:
    """Return whether a number is a rational one up to rounding."""
    return math.isfinite(number) and abs(Fraction(number) - exact) <= exact * Fraction(1, 10**12)


@dataclass(frozen=True, eq=False)
class _Point:
    """A classifier with its V and N."""

    w: FloatArray
    violations: float
    norm: float

    def value(self, lam: float) -> float:
        return self.norm + lam * self.violations


@dataclass(eq=False)
class _Search:
    """The search for corners: solved problems, corners by decreasing violations, and proved bounds by λ."""

    model: ZeroOneSVM
    costs: FloatArray
    lam_max: float
    tol: float
    options: Options
    deadline: float
    solved: list[tuple[ZeroOneSVM, Result]] = field(default_factory=list)
    bounds: dict[float, float] = field(default_factory=dict)
    points: list[_Point] = field(default_factory=list)

    @classmethod
    def of(
        cls, model: Model | StandardForm, lam_max: float | None, tol: float, time_limit: float | None, options: Options | None
    ) -> _Search:
        """Check the arguments and return the search before its first solve."""
        # exempt (formulation): the whole path over λ is of this formulation alone
        if not isinstance(model, ZeroOneSVM) or model.kappa is not None or model.kernel is not None:
            raise UnsupportedModelError(
                "the whole path over λ is of a linear ZeroOneSVM(X, y, lam), whose exact solver proves every λ; "
                f"got {type(model).__name__}"
            )
        squares = np.square(np.asarray(model.signed)[:, model.penalised]).sum(axis=1)
        scale = float(np.median(squares[squares > 0.0])) if (squares > 0.0).any() else 1.0
        largest = _FAR / scale if lam_max is None else as_positive(lam_max, "lam_max")
        tolerance = as_positive(tol, "tol")
        if not 1e-12 <= tolerance < 1e-2:
            raise InputError(f"tol must be in [1e-12, 1e-2), a relative gap of the solves; it is {short_text(tol)}", name="tol")
        limit = math.inf if time_limit is None else as_positive(time_limit, "time_limit")
        common = Options.of(options, tol=tolerance)
        return cls(model, _costs(model), largest, tolerance, common, time.perf_counter() + limit)

    def find_corners(self) -> None:
        """Start from the trivial classifier and the optimum at lam_max, and meet lines until no line is crossed.

        Solves that a limit ends may give classifiers that are best for no λ; the lower hull leaves these out.
        """
        first, last = self._trivial(), self._solve(self.lam_max, None)
        if last is None or last.value(self.lam_max) >= first.value(self.lam_max) or last.violations >= first.violations:
            self.points = [first]
            return
        self.points = [first, last]
        pending = [(first, last)]
        while pending:
            left, right = pending.pop()
            lam = _meeting(left, right)
            point = self._solve(lam, right) if lam > 0.0 else None
            if point is None or not point.value(lam) < left.value(lam) * (1.0 - _NEW * self.tol):
                continue
            self.points.append(point)
            if right.violations < point.violations < left.violations:
                pending += [(left, point), (point, right)]
        self.points = _lower_hull(self.points, self.lam_max)

    def _trivial(self) -> _Point:
        """Return the best classifier of norm zero."""
        model = self.model
        candidates = [np.zeros(len(model.penalised))]
        if not model.penalised.all():
            candidates += [np.where(model.penalised, 0.0, b) for b in (-1.0, 1.0)]
        return min((self._point(w) for w in candidates), key=lambda point: point.violations)

    def _point(self, w: FloatArray) -> _Point:
        violations, norm = _numbers(self.model, self.costs, w)
        return _Point(w, float(violations), float(norm))

    def _solve(self, lam: float, neighbour: _Point | None, proof: Path | None = None) -> _Point | None:
        """Solve at one λ, record the proved bound, and return the best point; None after the time limit or an interruption."""
        remaining = self.deadline - time.perf_counter()
        if remaining <= 0.0:
            return None
        native: dict[str, Any] = {"earlier": self.solved} if proof is None else {"proof": str(proof)}
        limits = {} if remaining == math.inf else {"time_limit": remaining}
        start = {} if neighbour is None else {"start": {"w": neighbour.w}}
        model = _model_at_lam(self.model, self.costs, lam)
        result = solve_problem(model, _SOLVER, Options.of(self.options, **limits, **start, **native))
        bound = 0.0 if result.bound is None else float(result.bound)
        if proof is None:
            self.bounds[lam] = max(bound, self.bounds.get(lam, 0.0))
            self.solved.append((model, result))
        else:  # a path with logs states the bounds of the logs
            self.bounds[lam] = min(bound, stated_bound(proof))
        if result.status is Status.INTERRUPTED:
            self.deadline = -math.inf
        return self._point(np.asarray(result.values["w"], dtype=np.float64))

    def breakpoint_lams(self) -> list[float]:
        """Return the values of λ at which neighbouring corners meet, and the largest λ."""
        meetings = [_meeting(left, right) for left, right in zip(self.points[:-1], self.points[1:], strict=True)]
        return [*meetings, self.lam_max]

    def write_logs(self, folder: Path) -> tuple[str, ...]:
        """Solve at every breakpoint again, from its optimum, with a proof log; return the logs until the time limit."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WriteError(f"{folder} could not be made: {error.strerror or error}") from error
        logs = []
        for k, lam in enumerate(self.breakpoint_lams()):
            log = folder / f"{k:03d}.jsonl.gz"
            if self._solve(lam, min(self.points, key=lambda point: point.value(lam)), log) is None:
                break
            logs.append(str(log))
        return tuple(logs)

    def path(self, seconds: float, logs: tuple[str, ...]) -> WholePath:
        """Return the path; a breakpoint that no solve has reached has the bound that concavity gives."""
        lams = self.breakpoint_lams()
        lams_of_bounds = np.array([0.0, *sorted(self.bounds)])
        bounds = np.array([0.0, *(self.bounds[lam] for lam in sorted(self.bounds))])
        breakpoints = []
        for k, lam in enumerate(lams):
            value = self.points[k].value(lam)
            proved = float(np.interp(lam, lams_of_bounds, bounds)) * (1.0 - (lam not in self.bounds) * 1e-15)
            breakpoints.append(Breakpoint(lam, value, min(proved, value)))
        ratios = [point.bound / point.value if point.value > 0.0 else 1.0 for point in breakpoints]
        corners = tuple(
            Corner(
                0.0 if k == 0 else lams[k - 1],
                math.inf if point.violations == 0.0 else lams[k],
                point.w, point.violations, point.norm, min(ratios[max(k - 1, 0)], ratios[k]),
            )
            for k, point in enumerate(self.points)
        )  # fmt: skip
        proved_everywhere = min(ratios) >= 1.0 - 2.0 * _NEW * self.tol
        return WholePath(
            self.model, corners, tuple(breakpoints), self.lam_max, proved_everywhere, len(self.solved), seconds, logs,
            tuple(file_sha256(Path(log)) for log in logs),
        )  # fmt: skip


def _lower_hull(points: Sequence[_Point], lam_max: float) -> list[_Point]:
    """Return the points that are best for some λ in (0, lam_max), by decreasing violations."""
    hull: list[_Point] = []
    for point in sorted(points, key=lambda point: (-point.violations, -point.norm)):
        while hull and (
            point.norm <= hull[-1].norm or (len(hull) > 1 and _meeting(hull[-1], point) <= _meeting(hull[-2], hull[-1]))
        ):
            hull.pop()
        hull.append(point)
    while len(hull) > 1 and _meeting(hull[-2], hull[-1]) >= lam_max:
        hull.pop()
    return hull


def _meeting(left: _Point, right: _Point) -> float:
    """Return the λ at which two lines N + λV meet."""
    return (right.norm - left.norm) / (left.violations - right.violations)
