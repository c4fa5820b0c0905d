"""Performance profiles, means over instances, and the LaTeX form."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from facts import about, at

from marginopt.errors import DataError, InputError
from marginopt.instances import gaussian_clusters
from marginopt.relaxations import (
    ExactCell,
    GapReport,
    InstanceCell,
    KappaCell,
    RelaxationCell,
    fraction_within,
    gap_report,
    performance_ratios,
    shifted_geometric_mean,
)
from marginopt.relaxations.report import pictures as pictures_sweeps
from marginopt.relaxations.report.formats import latex_escaped
from marginopt.relaxations.report.means import VIRTUAL_BEST, exact_means, exact_ratios, primal_dual_integral, relaxation_means
from marginopt.relaxations.report.pictures import (
    bound_against_m,
    convergence_curves,
    gap_against,
    integral_bars,
    kappa_sweep,
    performance_profiles,
    seed_spread,
)
from marginopt.relaxations.report.report_data import display_name, family_name, name_without, parameter_value, row_label
from marginopt.relaxations.report.tables import KAPPA_COLUMNS, cell_text

INF = float("inf")


def made_up(count: int = 3) -> GapReport:
    """Instances at several n, three M, two solvers and an encoding, two seeds, a sweep over κ."""
    instances, relaxations, exacts, kappas = [], [], [], []
    for k in range(count):
        name = f"made_up & co[n={20 + 10 * k}, σ=0.5]"
        instances.append(
            InstanceCell(name, 1.0, "§5, λ² ≤ 1 | Ñanculef 中", 20 + 10 * k, 3, True, 10, 10.0, 5, 2, 0.1,
                         family="made_up & co", parameters={"σ": 0.5})
        )  # fmt: skip
        for m, bound in ((5.0, 4.0), (50.0, 1.0), (5000.0, 0.01)):
            relaxations.append(
                RelaxationCell(name, 1.0, f"big-M, M={m:g}", "piqp", "1", "optimal", bound=bound, kind="proved",
                               m_source="M", m_low=m / 2, m_high=m, recovered=11.0, solve_seconds=0.01, against_m=True)
            )  # fmt: skip
        relaxations.append(
            RelaxationCell(name, 1.0, "conic SDP", "conic-ipm", "1", "optimal", bound=6.0, kind="proved", solve_seconds=3.0,
                           beside_m=True)
        )  # fmt: skip
        for seed in (0, 1):
            trace = ((0.0, None, None), (0.1, 12.0, 1.0), (2.0 + k, 10.0, 10.0))
            done = ExactCell(name, 1.0, "scip", "9", "big-M", "M from incumbent", "optimal", "optimal", True, 10.0, 10.0, 10.0,
                             "claimed by solver", 990, 5, 2, 0.1, 2.0 + k, 30.0, seed=seed, root=3.0, bound_seconds=2.0,
                             trace=trace)  # fmt: skip
            fast = replace(done, solver="zero-one-bb", encoding="none: reads the data", m_source="", solve_seconds=0.5, root=None)
            strong = replace(done, encoding="strengthened", prepare_seconds=1.0, solve_seconds=1.0, nodes=90)
            if k == 0:
                strong = replace(strong, proven=False, status="time limit", bound=8.0, solve_seconds=30.0)
            refused = replace(done, solver="gurobi", proven=False, incumbent=None, bound=None, solve_seconds=None, trace=(),
                              reason="no licence")  # fmt: skip
            exacts += [done, fast, strong, refused]
        kappas += [KappaCell(name, x, 2, "conic-ipm", "1", "optimal", "", 5.0 / x, "proved", 6.0 / x, x, 0.2) for x in (0.1, 0.3)]
    meta = {"base": "big-M, M=50", "seed": 0}
    return GapReport(tuple(instances), tuple(relaxations), tuple(exacts), meta, tuple(kappas))


@pytest.fixture(scope="module")
def drawn() -> GapReport:
    """A report whose pictures are drawn once."""
    return made_up()


def test_shifted_geometric_mean() -> None:
    assert shifted_geometric_mean([3.0, 3.0], 10.0) == pytest.approx(3.0)
    assert shifted_geometric_mean([0.0, 8.0], 1.0) == pytest.approx(2.0)
    for wrong in ([], [-1.0], [-2.0, 5.0]):
        with pytest.raises(InputError, check=about("values")):
            shifted_geometric_mean(wrong, 1.0)


def test_performance_ratios_by_hand() -> None:
    ratios = performance_ratios({"a": [1.0, 4.0, INF, INF], "b": [2.0, 2.0, 5.0, INF]})
    np.testing.assert_array_equal(ratios["a"], [1.0, 2.0, INF, INF])
    np.testing.assert_array_equal(ratios["b"], [2.0, 1.0, 1.0, INF])
    assert [fraction_within(ratios["a"], t) for t in (1.0, 2.0, 100.0)] == [0.25, 0.5, 0.5]
    assert [fraction_within(ratios["b"], t) for t in (1.0, 2.0)] == [0.5, 0.75]
    for wrong in ({}, {"a": []}, {"a": [1.0], "b": [1.0, 2.0]}, {"a": [0.0]}):
        with pytest.raises(InputError):
            performance_ratios(wrong)


def test_means_of_a_report() -> None:
    report = made_up()
    rows = {row.variant: row for row in exact_means(report)}
    assert list(rows) == ["scip", "zero-one-bb", "scip, strengthened", VIRTUAL_BEST]  # what never ran is left out
    scip, bb, strong, _ = rows.values()
    assert (scip.problems, scip.solved, scip.fastest) == (6, 6, 0)
    assert (bb.solved, bb.fastest, bb.share_by_factor[0]) == (6, 6, 1.0)
    assert (strong.problems, strong.solved) == (6, 4)
    assert scip.seconds == pytest.approx((3.0 * 4.0 * 5.0) ** (1 / 3) - 1.0)
    assert strong.seconds == pytest.approx((32.0 * 3.0 * 3.0) ** (1 / 3) - 1.0)  # preparation and stopped runs count
    assert scip.nodes == pytest.approx(990.0) and strong.nodes == pytest.approx(90.0)
    assert scip.share_by_factor == (0.0, 0.0, 1 / 3, 1.0, 1.0)  # 4, 6 and 8 times the fastest
    assert np.isinf(exact_ratios(report)["scip, strengthened"]).sum() == 2
    relaxed = {row.relaxation: row for row in relaxation_means(report)}
    assert relaxed["conic SDP"].gap == pytest.approx(0.4) and relaxed["conic SDP"].closed == pytest.approx(5 / 9)
    assert relaxed["big-M, M=50"].closed == pytest.approx(0.0) and relaxed["conic SDP"].seconds == pytest.approx(3.0)
    only_cut = replace(report.exacts[0], solver="cut", caveat="M too small", proven=False)
    cut = GapReport(report.instances, report.relaxations, (*report.exacts, only_cut), report.meta)
    assert "cut" not in exact_ratios(cut)


def test_families_and_parameters_are_fields() -> None:
    drawn = made_up().instances[0]
    name = "gaussian-clustered[n=50, p=3, sigma=0.2]"
    cell = replace(drawn, instance=name, n=50, family="gaussian-clustered", parameters={"sigma": 0.2})
    assert family_name(cell) == "gaussian-clustered" and family_name(replace(cell, instance="[odd]", family="")) == "[odd]"
    assert [parameter_value(cell, name) for name in ("n", "p", "sigma", "tau", "lam")] == [50.0, 3.0, 0.2, None, 1.0]
    values = {name: name_without(cell, name).replace("\N{NO-BREAK SPACE}", " ") for name in ("sigma", "n", "lam")}
    assert values["sigma"] == "gaussian-clustered, n = 50, p = 3, λ = 1"
    assert values["n"] == "gaussian-clustered, p = 3, σ = 0.2, λ = 1" and name_without(cell, "lam") == display_name(cell)
    assert row_label(replace(cell, n=50, p=3)) == "gaussian-clustered, σ\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}0.2"
    assert row_label(replace(cell, instance="wdbc[n=60, p=4]", n=60, p=4, family="wdbc", parameters={})) == "wdbc"
    # a name of its own says nothing, whatever it looks like
    mine = replace(cell, instance="mine[n=50, sigma=7]")
    assert row_label(mine) == display_name(mine) == name_without(mine, "sigma").partition(", λ")[0] == "mine[n=50, sigma=7]"
    assert parameter_value(mine, "sigma") == 0.2 and family_name(mine) == "gaussian-clustered"


def test_means_are_of_one_family_and_lambda() -> None:
    report = made_up(2)
    other = [replace(c, instance="other[n=9]", family="other") for c in report.instances[:1]]
    relaxed = [replace(c, instance="other[n=9]") for c in report.relaxations[:4]]
    both = GapReport((*report.instances, *other), (*report.relaxations, *relaxed), report.exacts, report.meta)
    rows = [row for row in relaxation_means(both) if row.relaxation == "conic SDP"]
    assert [(row.family, row.lam, row.instances) for row in rows] == [("made_up & co", 1.0, 2), ("other", 1.0, 1)]
    assert rows[0].quartiles == pytest.approx((0.4, 0.4, 0.4)) and rows[0].exact == 0
    exact = {row.variant: row for row in exact_means(both)}
    assert (
        exact["scip"].unrefuted_share == 1.0 and exact["scip"].final_gap is None and exact["scip"].root_gap == pytest.approx(0.7)
    )
    assert exact["scip, strengthened"].final_gap == pytest.approx(0.2)
    assert exact["scip, strengthened"].share_by_gap == (0.5, 0.5)


def test_the_primal_dual_integral_has_a_picture() -> None:
    report = made_up()
    known = [cell for cell in report.exacts if primal_dual_integral(cell) is not None and cell.key not in report.trivial]
    svg = integral_bars(report)
    assert (svg is not None) is bool(known)
    traced = tuple(replace(c, trace=((0.1, 8.0, 1.0), (0.5, 7.0, 7.0)), proven=True) for c in report.exacts)
    drawn = integral_bars(GapReport(report.instances, report.relaxations, traced))
    assert drawn is not None and all(c.variant in drawn for c in traced)
    assert integral_bars(GapReport(report.instances, report.relaxations, ())) is None


def test_what_is_drawn_beside_m_is_a_field_and_not_a_name() -> None:
    report = made_up()
    renamed = tuple(replace(c, relaxation="theirs") if c.beside_m else c for c in report.relaxations)
    theirs = GapReport(report.instances, renamed, report.exacts)
    without_level = GapReport(report.instances, tuple(replace(c, beside_m=False) for c in renamed), report.exacts)
    drawn, bare = bound_against_m(theirs), bound_against_m(without_level)
    assert drawn is not None and bare is not None
    assert "theirs" in drawn and "theirs" not in bare


def test_pictures_of_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures_sweeps, "MAX_PANELS", 2)  # of three
    report = made_up()
    drawn = [
        bound_against_m(report),
        gap_against(report, "n"),
        convergence_curves(report),
        performance_profiles(report),
        kappa_sweep(report),
    ]
    assert all(svg is not None and svg.rstrip().endswith("</svg>") for svg in drawn)
    assert gap_against(report, "lam") is None  # one λ
    assert performance_profiles(report) == performance_profiles(report)
    assert (
        name_without(report.instances[0], "n")
        == name_without(report.instances[2], "n")
        == "made_up & co, σ\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}0.5, λ = 1"
    )
    lams = tuple(replace(c, lam=lam, instance="x") for c in report.instances[:1] for lam in (1.0, 2.0))
    cells = tuple(replace(c, lam=lam, instance="x") for c in report.relaxations[:4] for lam in (1.0, 2.0))
    two = GapReport(lams, cells, ())
    assert gap_against(two, "lam") is not None and gap_against(two, "n") is None
    assert convergence_curves(two) is None and performance_profiles(two) is None and kappa_sweep(two) is None
    bare = GapReport(report.instances[:1], report.relaxations[3:4], report.exacts[:1])
    assert bound_against_m(bare) is None and gap_against(bare, "n") is None and performance_profiles(bare) is None


def test_html_and_markdown_hold_every_table(drawn: GapReport) -> None:
    report = drawn
    page, text = report.html(), report.markdown()
    for name in ("relaxation-means", "exact-means", "kappas"):
        assert f'<table id="{name}-table" class="sortable">' in page
    for title in ("Exact solves over instances", "Relaxations over instances", "Sweep over κ"):
        assert f"<h2>{title}</h2>" in page and f"## {title}" in text
    for caption in ("Bound against M", "Gap against n", "Convergence", "Performance profiles", "Sweep over κ", "Loss functions"):
        assert f'<img alt="{caption}: ' in page
    assert "![" not in text
    names = set(re.findall(r"https?:[^'\"<> ]*", page))  # of XML's name spaces and the document type: nothing is fetched
    assert names <= {f"http://www.w3.org/{at}" for at in ("2000/svg", "1999/xlink", "Graphics/SVG/1.1/DTD/svg11.dtd")}
    exacts = report.csv("exacts").splitlines()
    assert len(exacts) == 1 + 24 and "prepare_seconds" in exacts[0]
    assert len(report.csv("kappas").splitlines()) == 1 + 6
    with pytest.raises(InputError, check=about("table")):
        report.csv("all")  # type: ignore[arg-type]


def test_markdown_links_to_its_pictures(tmp_path: Path, drawn: GapReport) -> None:
    report = drawn
    text = report.write(tmp_path / "gaps.md")[0].read_text(encoding="utf-8")
    links = re.findall(r"!\[[^]]+\]\((.+?)\)", text)
    names = ("gaps", "gap-against-seconds", "against-n", "against-m", "profiles", "seeds", "primal-dual-integral",
             "convergence", "against-kappa", "losses")  # fmt: skip
    assert links == [f"gaps-pictures/{name}.svg" for name in names]
    assert all((tmp_path / link).read_text(encoding="utf-8").rstrip().endswith("</svg>") for link in links)


def test_stored_reports_keep_traces_and_sweeps(tmp_path: Path) -> None:
    report = made_up()
    again = GapReport.from_json(report.write(tmp_path / "report.json")[0])
    assert again.exacts == report.exacts and again.kappas == report.kappas
    assert again.latex() == report.latex() and again.markdown() == report.markdown()


@pytest.mark.parametrize("part", ["instances", "relaxations", "exacts", "kappas", "meta"])
def test_a_report_that_was_changed_after_it_was_written_is_refused(part: str, tmp_path: Path) -> None:
    """A bound of 100 in place of 4 was printed as proved."""
    import json

    path = made_up().write(tmp_path / "report.json")[0]
    stored = json.loads(path.read_text())
    record = stored["meta"] if part == "meta" else stored[part][0]
    record[{"meta": "base", "instances": "objective"}.get(part, "bound")] = 100.0
    path.write_text(json.dumps(stored))
    with pytest.raises(DataError, check=at(path)):
        GapReport.from_json(path)
    stored.pop("sha256")
    path.write_text(json.dumps({**stored, "format_version": 2}))
    again = GapReport.from_json(path)
    assert "proved" not in {c.kind for c in (*again.relaxations, *again.exacts, *again.kappas)}
    if part == "exacts":
        for wrong in ("100", None, 10**400, [1.0], True):
            path.write_text(json.dumps({**stored, "format_version": 2, "exacts": [{**record, "proven": wrong}]}))
            if wrong is not True:
                with pytest.raises(DataError, check=at(path)):
                    GapReport.from_json(path)


def test_latex_is_escaped_and_has_every_table() -> None:
    text = made_up().latex()
    assert text.isascii()
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 6
    assert r"made\_up \& co[n=20, $\sigma$=0.5]" in text
    assert r"\begin{picture}" in text and text.rstrip().endswith(r"\end{document}")
    assert text.count(r"\usepackage") == 1 and r"\usepackage{booktabs}" in text and r"\hline" not in text
    assert text.count(r"\caption{") == text.count(r"\label{tab:") == 6
    assert latex_escaped("50% of {λ} ^~\\ 中 ﬁ") == (
        r"50\% of \{$\lambda$\} \textasciicircum{}\textasciitilde{}\textbackslash{} [cjk unified ideograph-4e2d] fi"
    )
    assert text.count(r"\begin{tabular}") < made_up(9).latex().count(r"\begin{tabular}")  # long tables are cut
    empty = GapReport(made_up().instances, (), ()).latex()
    assert empty.count(r"\begin{tabular}") == 2 and r"\begin{picture}" not in empty


def _has_booktabs() -> bool:
    """Return whether a TeX engine with the package booktabs is installed."""
    if shutil.which("pdflatex") is None or shutil.which("kpsewhich") is None:
        return False
    return subprocess.run(["kpsewhich", "booktabs.sty"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not _has_booktabs(), reason="no pdflatex with booktabs")
def test_latex_compiles(tmp_path: Path) -> None:
    wrong = GapReport(
        made_up().instances, (replace(made_up().relaxations[3], bound=11.5),), made_up().exacts, {"σ": "ü_#", "seed": 0}
    )
    long = made_up(2)
    words = "a name of many words that takes more than one line of its column, and so do reasons: "
    kappas = tuple(replace(c, recovered=None) for c in long.kappas)
    exacts = tuple(replace(c, encoding=words, m_source=words) for c in long.exacts)
    long = replace(long, kappas=kappas, exacts=exacts)
    for name, report in (("whole", made_up(9)), ("contradictions", wrong), ("long", long)):
        path = report.write(tmp_path / f"{name}.tex")[0]
        run = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", path.name],
            cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert run.returncode == 0, run.stdout[-2000:]
        assert (tmp_path / f"{name}.pdf").stat().st_size > 10_000
        log = (tmp_path / f"{name}.log").read_text(errors="replace")
        assert "Missing character" not in log
        assert all(float(over) < 15.0 for over in re.findall(r"Overfull \\hbox \(([0-9.]+)pt", log))


def test_the_integral_is_that_of_the_gap_over_time() -> None:
    cell = next(c for c in made_up().exacts if c.variant == "scip")  # nothing to 0.1 s, 11/12 until 2 s, then proved
    assert primal_dual_integral(cell) == pytest.approx(0.1 + 1.9 * 11.0 / 12.0)
    stopped = replace(cell, proven=False, trace=((0.0, None, None), (1.0, 10.0, -3.0), (4.0, 10.0, 5.0)))
    assert primal_dual_integral(stopped) == pytest.approx(1.0 + 3.0 + 0.5 * 26.0)
    assert primal_dual_integral(replace(cell, trace=())) is None


def test_the_virtual_best_is_no_slower_than_anyone() -> None:
    report = made_up()
    rows = exact_means(report)
    (best,) = (row for row in rows if row.variant == VIRTUAL_BEST)
    others = [row for row in rows if row.variant != VIRTUAL_BEST]
    assert best.problems == others[0].problems and best.solved >= max(row.solved for row in others)
    assert best.seconds <= min(row.seconds for row in others) + 1e-12
    assert "virtual best" in (performance_profiles(report) or "")


def test_seeds_are_drawn_where_there_are_several() -> None:
    assert seed_spread(made_up()) is not None
    report = made_up()
    assert seed_spread(GapReport(report.instances, (), tuple(c for c in report.exacts if c.seed == 0))) is None


def test_the_optimum_of_a_budget_is_an_interval_until_it_is_proved() -> None:
    column = {c.key: c for c in KAPPA_COLUMNS}
    cell = KappaCell("a", 0.1, 2, "conic-ipm", "1", "optimal", "", 5.0, "proved", 8.0)
    assert cell_text(column["zeta"], cell) == "[5, 8]" and cell_text(column["gap"], cell) == "[0.0, 37.5]%"
    solved = replace(cell, exact_status="optimal", exact_objective=6.25, exact_bound=6.25)
    assert cell_text(column["zeta"], solved) == "6.25" and cell_text(column["gap"], solved) == "20.00%"
    infeasible = replace(cell, bound=None, recovered=None, status="infeasible")
    assert "at most 2 margins" in cell_text(column["why"], infeasible)


def test_one_instance_is_told_without_means() -> None:
    """Nobody takes a median over one."""
    report = gap_report([gaussian_clusters(16, 2, 0.2, seed=0)], lam=5.0, exact=["zero-one-bb"], progress=False)
    findings = " ".join(finding.text for finding in report.document.findings)
    assert "The optimum is proved by zero-one-bb." in findings
    assert not any(word in findings for word in ("in the median", "in the mean", "over 1", "Of 1"))
