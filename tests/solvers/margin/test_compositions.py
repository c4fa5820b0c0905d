"""`margin-bb` on compositions of all losses, regularisers, domains and restrictions that it reads, beside rational optima.

What the comparison rests on comes first: the rational optimum is that of a sheet of paper, that of what other solvers find, and
no drawn point is below it. `tests/attack/cases/attack_compositions.py` has any number of these problems, with proofs and
forgeries.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from effort import part as spread, trials
from rational import Compositions, Loss, Vector, fractions
from rational.draws import LOSSES, REGULARISERS, RESTRICTIONS, Drawn, drawn
from rational.judged import answer_fault, closed_fault, report_fault

import marginopt as mo
from marginopt.errors import InputError, UnsupportedModelError
from marginopt.models.views import MarginProblem

pytestmark = pytest.mark.filterwarnings("ignore")

ONE, HALF = Fraction(1), Fraction(1, 2)
#: Problems as small as these take few.
NODES = 5000


def line(loss: Loss, cost: Fraction = ONE, **parts: object) -> Compositions:
    """One point x = 1 with y = 1."""
    return replace(Compositions(((ONE,),), (cost,), (Fraction(0),), loss), **parts)  # type: ignore[arg-type]


# -- what the comparison rests on -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("problem", "optimum", "at"),
    [
        (line(Loss.count(1.0), HALF, squares=(ONE,)), HALF, 0),  # an error is cheaper than w = 1
        (line(Loss.count(1.0), Fraction(3), squares=(ONE,)), ONE, 1),
        (line(Loss.count(1.0), Fraction(3), squares=(ONE,), kept_points=(0,)), ONE, 1),
        (line(Loss.count(1.0), Fraction(3), atoms=((HALF,),)), Fraction(2), 1),  # 2|w|
        (line(Loss.count(1.0), Fraction(3), upper=(HALF,), lower=(-ONE,), squares=(ONE,)), Fraction(3), 0),
        (line(Loss.count(1.0), Fraction(3), upper=(HALF,), lower=(-ONE,), kept_points=(0,)), None, None),
        (line(Loss.count(0.5), ONE, upper=(ONE,), lower=(-ONE,), integer=(0,), price=(HALF,)), HALF, 1),
        (line(Loss.count(0.5), ONE, upper=(ONE,), lower=(-ONE,), price=(Fraction(2),)), ONE, 0),
        (line(Loss.count(0.0), ONE, squares=(ONE,), demands=(((-ONE,), HALF),)), Fraction(5, 4), -HALF),  # w ≤ -1/2
        (line(Loss.count(1.0), ONE, squares=(Fraction(4),), budgets=(((0,), 0),)), Fraction(4), 1),
        (line(Loss.count(1.0), ONE, squares=(Fraction(4),), budgets=(((0,), 1),)), ONE, 0),
        (line(Loss.count(1.0), ONE, counted=(0,), max_nonzeros=0), ONE, 0),
        (line(Loss.count(1.0), ONE, counted=(0,), max_nonzeros=0, kept_points=(0,)), None, None),
        (line(Loss.hinge(), ONE, squares=(ONE,)), Fraction(3, 4), HALF),
        (line(Loss.ramp(1.0, 1.0, 2.0), ONE, squares=(ONE,), upper=(Fraction(-2),), lower=(None,)), Fraction(6), -2),
        (line(Loss.through([(-1, 2), (0, 2), (1, 1), (1, 0), (2, 0)]), Fraction(2), squares=(ONE,)), ONE, 1),
        (line(Loss.through([(-1, 3), (0, 2), (2, 0), (3, 0)]), ONE, squares=(ONE,)), Fraction(7, 4), HALF),
    ],
)
def test_the_optimum_of_one_point_is_that_of_a_sheet_of_paper(
    problem: Compositions, optimum: Fraction | None, at: Fraction | None
) -> None:
    assert problem.optimum() == optimum
    assert problem.minimiser() == (None if at is None else (Fraction(at),))


def test_two_opposite_points_keep_one() -> None:
    """Both errors may not be; the cheaper side of the line pays: |w| = 1 and the other point's cost."""
    two = Compositions(((ONE,), (-ONE,)), (ONE, HALF), (Fraction(1, 4),), Loss.count(1.0))
    assert two.optimum() == Fraction(3, 4) and two.minimiser() == (ONE,)
    assert replace(two, budgets=(((1,), 0),)).optimum() == Fraction(5, 4)
    assert replace(two, kept_points=(0, 1)).optimum() is None
    assert replace(two, budgets=(((0, 1), 0),)).optimum() is None


def near(problem: Drawn, rng: np.random.Generator) -> list[Vector]:
    """Points of quarters, whole ones among them, of thirds, and steps of a 64th from the best."""
    p = problem.model.X.shape[1]
    at = problem.exact.minimiser() or (Fraction(0),) * p
    grid = [tuple(Fraction(int(v), 4) for v in step) for step in rng.integers(-12, 13, size=(60, p))]
    grid += [tuple(Fraction(int(v), 3) for v in step) for step in rng.integers(-6, 7, size=(30, p))]
    grid += [tuple(Fraction(int(v)) for v in step) for step in rng.integers(-3, 4, size=(60, p))]
    steps = [[Fraction(int(v), 64) for v in step] for step in rng.integers(-9, 10, size=(60, p))]
    return grid + [tuple(v + s for v, s in zip(at, step, strict=True)) for step in steps]


@pytest.mark.parametrize("part", range(trials(2, 4)))
def test_no_point_is_below_the_rational_optimum(part: int) -> None:
    for number in range(15 * part, 15 * part + trials(5, 15)):
        problem, rng = drawn(number), np.random.default_rng(number)
        optimum = problem.exact.optimum()
        values = [value for w in near(problem, rng) if (value := problem.exact.at(w)) is not None]
        assert not values or (optimum is not None and min(values) >= optimum), (number, str(problem))


@pytest.mark.parametrize("solver", ["scip", "highs"])
def test_other_solvers_find_the_rational_optimum(solver: str) -> None:
    """HiGHS reads those without indicators, and without squares beside integers."""
    judged = 0
    for number in spread(range(3, 504, 17), 12):
        problem = drawn(number)
        try:
            result = mo.solve(problem.model, solver)
        except UnsupportedModelError:
            continue
        fault, judged = answer_fault(result, problem.exact, problem.exact.optimum()), judged + 1
        assert not fault, (number, str(problem), fault)
    assert judged == (trials(12, 30) if solver == "scip" else trials(7, 19))


# -- what the engine reads ------------------------------------------------------------------------------------------------


def viewed(view: MarginProblem, polar: np.ndarray, w: np.ndarray) -> float:
    """The objective of the view; infinite where w is not allowed."""
    margins, used = view.A @ w, w != 0.0
    broken = (
        (w < view.lower).any()
        or (w > view.upper).any()
        or (w[view.integer] % 1.0).any()
        or used[view.counted].sum() > view.max_nonzeros,
        (view.rows @ w < view.row_lower - 1e-12).any() or (margins[view.kept_points] < 1.0).any(),
        any((margins[budget.points] < 1.0).sum() > budget.limit for budget in view.budgets),
    )
    norm = float((polar @ w).max(initial=0.0))
    smooth = float(view.curvature @ w**2 + view.price[used].sum() + view.costs @ view.loss.values(margins))
    return math.inf if any(broken) else smooth + norm


@pytest.mark.parametrize("part", range(trials(2, 3)))
def test_the_view_says_what_the_parts_say(part: int) -> None:
    """At quarters, where many margins are at corners, and doubles are exact."""
    for number in range(1000 + 84 * part, 1000 + 84 * part + trials(28, 84)):
        problem, rng = drawn(number), np.random.default_rng(number)
        view = problem.model.view(MarginProblem)
        if view is None:
            continue
        p = view.lower.size
        polar = np.array([[float(v) for v in row] for row in problem.exact.polar]).reshape(-1, p)
        points = np.vstack([rng.integers(-12, 13, size=(30, p)) / 4.0, rng.integers(-2, 3, size=(15, p)), np.zeros((1, p))])
        for w in points.astype(float):
            direct = problem.exact.at(fractions(w))
            assert viewed(view, polar, w) == pytest.approx(math.inf if direct is None else float(direct)), (
                number,
                str(problem),
                w,
            )


# -- the engine -----------------------------------------------------------------------------------------------------------


def wrong(number: int, path: str) -> str:
    """Return what is wrong with the answer or the log of one problem; empty where nothing is, or the engine does not read it."""
    problem = drawn(number)
    if problem.model.view(MarginProblem) is None:
        return ""
    optimum = problem.exact.optimum()
    try:
        result = mo.solve(problem.model, "margin-bb", proof=path, node_limit=NODES)
    except InputError as error:
        without = optimum is None and problem.unbounded  # without a point nothing bounds the search: it says so
        return "" if without else f"{number}: {problem}: {error}"
    fault = f"open after {NODES} nodes, from {result.bound!r} to {result.objective!r}" if result.status.stopped else ""
    fault = fault or answer_fault(result, problem.exact, optimum) or closed_fault(result, optimum)
    fault = fault or report_fault(mo.check_proof(path, problem.model), optimum, must=True)
    return fault and f"{number}: {problem}, {problem.model.X.shape}: {fault}"


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_with_every_other_part(loss: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Of its 63 pairs of a regulariser and a restriction 9 or 20: each of these occurs in the first nine."""
    path = tmp_path_factory.mktemp("logs") / "p.log"
    first = LOSSES.index(loss)
    step = 2 * len(LOSSES)
    numbers = range(2000 + first, 2000 + first + trials(9, 20) * step, step)
    faults = [fault for number in numbers if (fault := wrong(number, str(path)))]
    assert not faults, "\n".join(faults)


def test_the_matrix_is_full_and_read() -> None:
    """Consecutive numbers hold what their docstring says; what the engine does not read is convex, or has no point."""
    problems = [drawn(number) for number in range(2000, 2504)]
    kinds = [problem.kinds for problem in problems]
    seen = {(k["loss"], k["regulariser"], k["restriction"]) for k in kinds}
    assert len(seen) == len(LOSSES) * len(REGULARISERS) * len(RESTRICTIONS)
    assert {k["domain"] for k in kinds} == {"reals", "box", "integers", "signs"}
    unread = [problem for problem in problems if problem.model.view(MarginProblem) is None]
    missing = [problem for problem in unread if not problem.model.convex and problem.exact.optimum() is not None]
    assert not missing, [(str(problem), problem.model.margin_reduction.obstacle) for problem in missing]
