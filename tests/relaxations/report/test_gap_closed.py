"""The part of the gap that a relaxation closes: recomputed from the stored cells as docs/how-to/gap-report.md says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from data import clouds

from marginopt.models import Margin, ZeroOneSVM
from marginopt.relaxations import BigM, Conic, GapReport, Hinge, gap_report


def test_every_number_is_the_definitions() -> None:
    X, y = clouds(3, 10, 2, 0.6, order="halves")
    models = {"zero": ZeroOneSVM(X, y, lam=0.7), "parts": Margin(X, y, "zero-one", "half-l2", sample_weight=0.7)}
    reductions = ["big-m", "continuous", "continuous-hinge", "hulls-one", "conic"]
    known = {name for name in reductions if name != "hulls-one"}
    report = gap_report(models, sorted(known), ("zero-one-bb", "margin-bb"), progress=False, time_limit=20)
    numbers = 0
    for row in report.rows:
        cells = report.relaxations_of(row.instance.key)
        base = next((c.bound for c in cells if c.relaxation == "continuous"), None)
        proven = [c.incumbent for c in report.exacts_of(row.instance.key) if c.proven]
        if row.closed is None:
            assert row.relaxation.bound is None or base is None or not proven
            continue
        assert base is not None and row.relaxation.bound is not None and proven[0] is not None
        numbers += 1
        assert row.closed.exact
        assert row.closed.high == pytest.approx((row.relaxation.bound - base) / (row.zeta.high - base), rel=1e-12, abs=1e-12)
    assert numbers >= 4


def test_the_base_is_big_m_from_the_zero_point_alone() -> None:
    assert BigM("zero").is_base
    assert not any(reduction.is_base for reduction in (BigM("incumbent"), BigM(5.0), BigM("zero", 100.0), Hinge(1.0), Conic()))


def test_a_bound_above_the_best_point_closes_nothing_and_is_a_contradiction() -> None:
    X, y = clouds(3, 10, 2, 0.6, order="halves")
    model = Margin(X, y, "zero-one", "half-l2", sample_weight=0.7)
    report = gap_report({"m": model}, ["continuous", "continuous-hinge"], None, progress=False, time_limit=20)
    assert report.contradictions == ()
    best = report.rows[0].zeta.high
    for place in range(2):
        cells = list(report.relaxations)
        cells[place] = replace(cells[place], bound=15.0 * best)
        edited = GapReport(report.instances, tuple(cells), report.exacts, report.meta)
        assert len(edited.contradictions) == 1
        assert edited.rows[place].closed is None and not np.isinf(best)
