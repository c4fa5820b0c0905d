"""The sentences of gap reports, pinned once: verdicts on ranks, contradictions and findings."""

from __future__ import annotations

from dataclasses import replace

import pytest
from report_examples import made_up, swept

from marginopt.relaxations import ExactCell, GapReport, InstanceCell, RelaxationCell
from marginopt.relaxations.report.report_data import find_contradictions, rank_verdict

INSTANCE = InstanceCell("a", 1.0, "made up", 50, 3, True, 25, objective=12.0, violations=9, misclassified=4, seconds=0.1)
CELL = RelaxationCell("a", 1.0, "conic SDP", "clarabel", status="optimal", bound=6.0, kind="proved", recovered=11.0)
EXACT = ExactCell(
    "a", 1.0, "scip", status="optimal", proven=True, incumbent=10.0, claimed=10.0, bound=10.0, kind="claimed by solver"
)


@pytest.mark.parametrize(
    ("ratio", "recovered", "sentence"),
    [
        (None, 11.0, ""),
        (0.3, 11.0, "not exact"),
        (1e-9, 6.0, "exact: rank one"),
        (1e-9, 11.0, "rank one"),
        (0.3, 6.0, "exact: bound"),
        (0.3, None, ""),
    ],
)
def test_the_verdict_on_a_rank(ratio: float | None, recovered: float | None, sentence: str) -> None:
    verdict = rank_verdict(replace(CELL, rank_ratio=ratio, recovered=recovered))
    assert verdict.startswith(sentence) and bool(verdict) == bool(sentence)


@pytest.mark.parametrize(
    ("relaxation", "exact", "sentence"),
    [
        (replace(CELL, bound=10.5), EXACT, "10.5 of conic SDP (proved) exceeds the objective 10 of scip"),
        (replace(CELL, recovered=9.0), EXACT, "scip claims the optimum 10; conic SDP has 9"),
        (CELL, replace(EXACT, claimed=9.0), "claims the objective 9; its classifier has 10"),
    ],
)
def test_a_contradiction(relaxation: RelaxationCell, exact: ExactCell, sentence: str) -> None:
    assert any(sentence in line for line in find_contradictions(INSTANCE, [relaxation], [exact]))


def test_findings() -> None:
    sentences = [finding.text for finding in made_up().document.findings]
    assert sentences[0].startswith("The smallest gap is that of conic SDP: 36.7% in the median over 2 instances; the base")
    assert any("Of 2 problems, scip claims 1" in text for text in sentences)
    assert any("not known on 1 of 2 instances" in text and "[8, 10], on second" in text for text in sentences)
    assert "no gap" in GapReport(made_up().instances, (), ()).document.findings[0].text


def test_findings_of_a_family() -> None:
    report = swept()
    sentences = [finding.text for finding in report.document.findings]
    assert any("smallest gap is that of strong" in text for text in sentences)
    assert any("No relaxation is exact" in text for text in sentences)
    assert not any("lucky is exact" in text for text in sentences)
    exact = tuple(
        replace(c, bound=10.0) if c.relaxation != "lucky" and c.instance == "set[p=1, sigma=0]" else c for c in report.relaxations
    )
    sentences = [finding.text for finding in replace(report, relaxations=exact).document.findings]
    assert "On 1 of 12 instances, strong is exact (to 0.01%)." in sentences
