"""Gaps, intervals, verdicts and contradictions from made-up cells."""

from __future__ import annotations

from dataclasses import replace

import pytest
from facts import about

from marginopt.errors import DataError, InputError
from marginopt.relaxations import ExactCell, GapReport, InstanceCell, Interval, KappaCell, RelaxationCell
from marginopt.relaxations.report.report_data import (
    base_bound,
    best_known_optimum,
    best_runs_by_solver,
    find_contradictions,
    gap,
    gap_closed,
    is_trivial,
    optimum_interval,
    remaining_gap,
    root_gap,
    trivial_objective,
)

INSTANCE = InstanceCell("a", 1.0, "made up", 50, 3, True, 25, objective=12.0, violations=9, misclassified=4, seconds=0.1)
CELL = RelaxationCell("a", 1.0, "conic SDP", "clarabel", status="optimal", bound=6.0, kind="proved", recovered=11.0)
EXACT = ExactCell(
    "a", 1.0, "scip", status="optimal", proven=True, incumbent=10.0, claimed=10.0, bound=10.0, kind="claimed by solver"
)
STOPPED = replace(EXACT, status="time limit", proven=False, bound=8.0)


def test_optimum_of_one_exact_solve() -> None:
    assert optimum_interval(EXACT) == Interval(10.0, 10.0)
    assert optimum_interval(STOPPED) == Interval(8.0, 10.0)
    assert optimum_interval(replace(STOPPED, bound=-5.0)) == Interval(0.0, 10.0)  # the loss is not negative
    assert optimum_interval(replace(STOPPED, bound=None)) == Interval(0.0, 10.0)
    assert optimum_interval(replace(STOPPED, incumbent=None)) is None
    assert Interval(1.0, 1.0).exact and not Interval(1.0, 2.0).exact


def test_best_known_takes_every_cell() -> None:
    assert best_known_optimum(INSTANCE, [CELL], [EXACT]) == Interval(10.0, 10.0)
    assert best_known_optimum(INSTANCE, [CELL], [STOPPED]) == Interval(8.0, 10.0)
    assert best_known_optimum(INSTANCE, [CELL], []) == Interval(6.0, 11.0)
    assert best_known_optimum(INSTANCE, [replace(CELL, caveat="M too small")], []) == Interval(0.0, 11.0)
    assert best_known_optimum(INSTANCE, [], []) == Interval(0.0, 12.0)


def test_gap_by_the_papers_formula_and_its_interval() -> None:
    assert gap(6.0, Interval(10.0, 10.0)) == Interval(0.4, 0.4)
    interval = gap(6.0, Interval(8.0, 10.0))
    assert interval is not None
    assert (interval.low, interval.high) == (pytest.approx(0.25), pytest.approx(0.4))
    assert gap(6.0, Interval(5.0, 10.0)) == Interval(0.0, 0.4)  # the relaxation's own bound raises the lower end
    assert gap(0.0, Interval(0.0, 10.0)) == Interval(0.0, 1.0)
    assert gap(0.0, Interval(0.0, 0.0)) is None
    above = gap(10.0000001, Interval(10.0, 10.0))
    assert above is not None and -1e-6 < above.low < 0.0


def test_gap_interval_contains_the_gap_at_every_possible_optimum() -> None:
    interval = gap(6.0, Interval(7.0, 10.0))
    closed = gap_closed(6.0, 2.0, Interval(7.0, 10.0))
    assert interval is not None and closed is not None
    for zeta in (7.0, 8.3, 10.0):
        assert interval.low - 1e-12 <= (zeta - 6.0) / zeta <= interval.high + 1e-12
        assert closed.low - 1e-12 <= (6.0 - 2.0) / (zeta - 2.0) <= closed.high + 1e-12


def test_gap_closed() -> None:
    assert gap_closed(6.0, 2.0, Interval(10.0, 10.0)) == Interval(0.5, 0.5)
    assert gap_closed(2.0, 2.0, Interval(10.0, 10.0)) == Interval(0.0, 0.0)
    assert gap_closed(2.0, 2.0, Interval(2.0, 2.0)) is None
    assert gap_closed(6.0, 2.0, Interval(5.0, 10.0)) == Interval(0.5, 1.0)
    below = gap_closed(1.0, 2.0, Interval(5.0, 10.0))
    assert below is not None and below.low == pytest.approx(-1 / 3) and below.high == pytest.approx(-1 / 8)
    assert base_bound([CELL, replace(CELL, relaxation="big-M", bound=2.0)], "big-M") == 2.0
    assert base_bound([CELL], "big-M") is None
    assert base_bound([replace(CELL, caveat="no")], "conic SDP") is None


def test_audit_names_contradictions() -> None:
    assert find_contradictions(INSTANCE, [CELL], [EXACT]) == []
    assert find_contradictions(INSTANCE, [CELL], [replace(EXACT, bound=10.0 * (1 + 1e-8))]) == []
    high = find_contradictions(INSTANCE, [replace(CELL, bound=10.5)], [EXACT])
    assert len(high) == 1
    assert find_contradictions(INSTANCE, [replace(CELL, bound=10.5, caveat="M too small")], [EXACT]) == []
    worse = find_contradictions(INSTANCE, [replace(CELL, recovered=9.0)], [EXACT])
    assert worse
    dreamt = find_contradictions(INSTANCE, [], [replace(EXACT, claimed=9.0)])
    assert dreamt


def test_rows_of_a_report() -> None:
    base = replace(CELL, relaxation="big-M, M from w=0", bound=2.0)
    loose = replace(CELL, relaxation="hinge, M=1", bound=30.0, caveat="M is too small")
    report = GapReport((INSTANCE,), (base, CELL, loose), (EXACT, replace(STOPPED, solver="other")), {"base": "big-M, M from w=0"})
    assert len(report.rows) == 3
    by = {r.relaxation.relaxation: r for r in report.rows}
    assert by["conic SDP"].gap == Interval(0.4, 0.4)
    assert by["conic SDP"].closed == Interval(0.5, 0.5)
    stopped = GapReport((INSTANCE,), (base, CELL, loose), (STOPPED,), report.meta).rows[1].gap
    assert stopped is not None and not stopped.exact
    assert by["hinge, M=1"].gap is None  # not a bound, so no gap
    assert report.best[INSTANCE.key] == Interval(10.0, 10.0)
    alone = GapReport((INSTANCE,), (CELL,), ())
    assert len(alone.rows) == 1 and alone.rows[0].zeta == Interval(6.0, 11.0)
    nothing = replace(STOPPED, incumbent=None, bound=None)
    failed = GapReport((INSTANCE,), (replace(CELL, bound=None, reason="no solver"),), (nothing,))
    assert failed.rows[0].gap is None and failed.rows[0].zeta == Interval(0.0, 11.0)


def test_the_best_run_of_a_solver_is_the_one_that_says_most() -> None:
    slow = replace(EXACT, encoding="indicator", solve_seconds=9.0)
    fast = replace(EXACT, encoding="strengthened", solve_seconds=3.0)
    refused = replace(EXACT, solver="gurobi", incumbent=None, bound=None, proven=False, reason="no licence")
    assert best_runs_by_solver([STOPPED, slow, refused, fast]) == [fast, refused]
    nearer = replace(STOPPED, bound=9.5)
    assert best_runs_by_solver([STOPPED, nearer]) == [nearer]


def test_an_exact_solve_with_an_m_that_is_not_valid_bounds_nothing() -> None:
    cut = replace(EXACT, m_source="M=2", caveat="M is too small", proven=False, incumbent=11.0, claimed=11.0, bound=11.0)
    assert not cut.bounds_optimum
    assert optimum_interval(cut) == Interval(0.0, 11.0)
    assert best_known_optimum(INSTANCE, [], [cut, STOPPED]) == Interval(8.0, 10.0)
    assert find_contradictions(INSTANCE, [], [cut, EXACT]) == []
    assert cut.variant == "scip, M=2" and EXACT.variant == "scip"
    assert replace(EXACT, encoding="strengthened", m_source="M from incumbent").variant == "scip, strengthened"


def test_reports_refuse_mixed_up_cells() -> None:
    with pytest.raises(InputError, check=about("instances")):
        GapReport((INSTANCE,), (), (), kappas=(KappaCell("b", 0.1, 5, "clarabel"),))
    with pytest.raises(InputError, check=about("instances")):
        GapReport((INSTANCE, INSTANCE), (), ())
    with pytest.raises(InputError, check=about("instances")):
        GapReport((INSTANCE,), (replace(CELL, lam=2.0),), ())


def test_cells_and_records() -> None:
    assert RelaxationCell.from_record(CELL.record()) == CELL
    broken = CELL.record()
    del broken["bound"]
    with pytest.raises(DataError, check=about("", allowed=CELL.record())):
        RelaxationCell.from_record(broken)


def test_trivial_optima() -> None:
    assert trivial_objective(INSTANCE) == 26.0  # 25 of the smaller class, and b = ±1
    assert trivial_objective(replace(INSTANCE, lam=0.01)) == 0.5  # w = 0
    assert trivial_objective(replace(INSTANCE, intercept=False)) == 50.0
    assert is_trivial(INSTANCE, Interval(20.0, 26.0)) and not is_trivial(INSTANCE, Interval(20.0, 25.9))


def test_gaps_of_runs() -> None:
    assert remaining_gap(EXACT) == 0.0 and remaining_gap(STOPPED) == 0.2 and remaining_gap(replace(STOPPED, bound=None)) is None
    assert remaining_gap(replace(STOPPED, bound=-3.0)) == 1.0 and remaining_gap(replace(STOPPED, caveat="M too small")) is None
    assert root_gap(replace(EXACT, root=4.0), 10.0) == 0.6 and root_gap(EXACT, 10.0) is None
