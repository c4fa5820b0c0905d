"""Laws of a page that does not mislead its reader: medians of other instances, columns of nothing, ends that hide intervals."""

from __future__ import annotations

from dataclasses import replace

import pytest
from report_examples import swept

from marginopt.relaxations.report.pictures import gap_against, gap_against_seconds, gap_bars
from marginopt.relaxations.report.report_data import Interval
from marginopt.relaxations.report.tables import Column, cell_text


def test_a_bound_of_few_instances_says_so() -> None:
    report = swept()
    for picture in (gap_bars(report), gap_against_seconds(report)):
        assert picture is not None and "lucky (1 of 12)" in picture and "weak (" not in picture


def test_of_relaxations_that_are_exact_as_often_the_strongest_is_named() -> None:
    report = swept()
    exact = tuple(
        replace(c, bound=10.0) if c.relaxation != "lucky" and c.instance == "set[p=1, sigma=0]" else c for c in report.relaxations
    )
    findings = [finding.text for finding in replace(report, relaxations=exact).document.findings]
    assert any("1 of 12" in text and "strong" in text for text in findings)


def test_a_solver_that_never_ran_is_one_sentence_and_no_column() -> None:
    report = swept()
    assert report.document.matrix.unused_columns == {"asleep": "no <licence>"}
    page = report.html()
    assert "<b>asleep</b>, no &lt;licence&gt;." in page
    assert page.count("data-idle>") == 1 and "data-idle>asleep</th>" in page


def test_many_panels_become_medians_of_the_same_instances() -> None:
    few, many = gap_against(swept(ps=4), "sigma"), gap_against(swept(ps=6), "sigma")
    assert few is not None and "set, p =" in few and "the first" not in few
    assert many is not None and "set, λ = 1" in many and "set, p" not in many
    lonely = swept(ps=6)  # one instance at σ = 1 alone: in no median
    cut = [c for c in lonely.instances if c.instance != "set[p=6, sigma=0]"]
    names = {c.instance for c in cut}
    model = replace(
        lonely, instances=tuple(cut), relaxations=tuple(c for c in lonely.relaxations if c.instance in names),
        exacts=tuple(c for c in lonely.exacts if c.instance in names),
    )  # fmt: skip
    assert gap_against(model, "sigma") == gap_against(swept(ps=5), "sigma")


@pytest.mark.parametrize(
    ("form", "value", "text"),
    [
        ("seconds", 0.0000936, "0.000094"), ("seconds", 0.0, "0"), ("seconds", 0.0349, "0.0349"), ("ratio", 0.19, "0.19"),
        ("value", Interval(1.0 / 3.0, 2.0 / 3.0), "[0.33333, 0.66667]"), ("percent", Interval(0.25, 0.5), "[25.0, 50.0]%"),
        ("percent", Interval(0.25, 0.25), "25.00%"),
    ],
)  # fmt: skip
def test_numbers_are_for_readers(form: str, value: float | Interval, text: str) -> None:
    assert cell_text(Column("a", "a", "", lambda row: row, form), value) == text
