"""The book of margins: every entry stands, and one that claims too much is refused."""

import bz2
import gzip
import hashlib
import io
import json
import math
import re
import sys
import tarfile
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from chromium import PROGRAM, browser

import marginopt as mo
from marginopt import book, files
from marginopt.book import book_page, data as book_data, proof_page_path
from marginopt.book.data import build_data, data_digest
from marginopt.book.entries import Entry, find_entry, load_entries, save_entries
from marginopt.book.solving import improved_entry, run_entry, solved_entry, submit_result, with_stated_bound
from marginopt.book.verification import MODELS, exact_bound, exact_value, make_entry_model
from marginopt.cli.main import main
from marginopt.errors import DataError, InputError
from marginopt.models.deadline import OutOfTimeError, deadline
from marginopt.solvers import Options
from marginopt.solvers.exact.check.arithmetic import ceil_to_float

sys.path.insert(0, str(Path(__file__).parents[3] / "docs"))
import proof_pages

ENTRIES = load_entries()
#: One small entry of each model.
SMALL = [min((e for e in ENTRIES if e.model == model and e.data["kind"] == "flipped"), key=lambda e: e.data["n"])
         for model in ("zero-one", "hinge", "ramp", "conic")]  # fmt: skip
PAGE = Path(__file__).parents[3] / "docs" / "book.md"


def test_the_book_has_four_hundred_entries_below_a_megabyte():
    assert len(ENTRIES) >= 400
    assert {"zero-one", "hinge", "ramp", "conic", "scoring"} <= {e.model for e in ENTRIES} <= set(MODELS)
    assert Path(book.__file__).with_name("entries.jsonl").stat().st_size < 2**20


def test_every_entry_stands():
    """All whose data are here: none is refused, and the generated ones are all checked."""
    verdicts = {entry.name: book.verify_entry(entry) for entry in ENTRIES}
    assert [str(v) for v in verdicts.values() if v.stands is False] == []
    generated = [e.name for e in ENTRIES if e.data["kind"] in ("flipped", "clusters", "rings", "half-space")]
    assert all(verdicts[name].stands for name in generated)


@pytest.mark.parametrize("entry", SMALL, ids=lambda e: e.model)
def test_an_entry_that_claims_too_much_is_refused(entry):
    """A lower value than the point's, a bound above the evidence, no point, a point of another size, other data."""
    value = book.verify_entry(entry).value
    wrong = [
        replace(entry, value=float(value) * (1 - 1e-9)),
        replace(entry, value=float(value) * (1 + 1e-9)),
        replace(entry, bound=entry.value * (1 + 1e-9)),
        replace(entry, point={}),
        replace(entry, point={"w": entry.point["w"][:-1]}),
        replace(entry, point=entry.point | {"w": [float("nan")] * len(entry.point["w"])}),
        replace(entry, point=entry.point | {"w": ["1"] * len(entry.point["w"])}),
        replace(entry, bound=float("inf")),
        replace(entry, evidence="word"),
        replace(entry, sha256="0" * 64),
        replace(entry, data=dict(entry.data) | {"seed": 77}),
        replace(entry, data={"kind": "guess"}),
        replace(entry, data={"kind": "flipped", "n": 12}),
        replace(entry, model="pareto"),
        replace(entry, parameters={}),
    ]
    for claim in wrong:
        assert book.verify_entry(claim).stands is False
    assert book.verify_entry(entry).stands is True


def test_evidence_is_not_taken_on_trust():
    zero_one, hinge, _, conic = SMALL
    assert not book.verify_entry(replace(zero_one, log="")).stands
    assert not book.verify_entry(replace(hinge, bound=hinge.value, value=hinge.value)).stands
    assert not book.verify_entry(replace(hinge, multipliers=())).stands
    assert not book.verify_entry(replace(hinge, multipliers=tuple(2 * a for a in hinge.multipliers))).stands
    assert not book.verify_entry(replace(hinge, multipliers=(-1.0, *hinge.multipliers[1:]))).stands
    assert not book.verify_entry(replace(zero_one, evidence="multipliers")).stands
    outside = dict(conic.point) | {"W": [0.5 * x for x in conic.point["W"]]}
    assert "semidefinite" in book.verify_entry(replace(conic, point=outside)).message


@pytest.mark.parametrize("entry", SMALL, ids=lambda e: e.model)
def test_values_are_those_of_the_formulations(entry):
    """The rational value against the formulation's own objective, or a feasible point of the conic form."""
    X, y = build_data(entry.data)
    model = make_entry_model(entry.model, entry.parameters, X, y)
    if entry.model == "conic":
        assert mo.solve(model).objective == pytest.approx(entry.value, rel=1e-6)
        return
    rng = np.random.default_rng(1)
    for w in rng.standard_normal((20, X.shape[1])):
        loss = {"zero-one": lambda u: u < 1, "hinge": lambda u: np.maximum(1 - u, 0), "ramp": lambda u: np.clip(1 - u, 0, 2)}[
            entry.model
        ]
        expected = w @ w + entry.parameters["lam"] * loss(y * (X @ w)).sum()
        value = exact_value(entry.model, entry.parameters, X, y, {"w": w.tolist()})
        assert float(value) == pytest.approx(expected, rel=1e-12)
        assert value >= Fraction(entry.bound)


def test_semi_supervised_values_are_those_of_the_formulation():
    rng = np.random.default_rng(5)
    X = np.column_stack([np.ones(9), rng.normal(size=(9, 2))])
    y = np.array([1.0, -1, 0, 0, 0, 0, 1, 0, 0])
    parameters = {"C": 3.0}
    for w in rng.normal(scale=2.0, size=(20, 3)):
        score = X @ w
        losses = np.maximum(1 - np.where(y == 0, np.abs(score), y * score), 0)
        value = float(exact_value("semi-supervised", parameters, X, y, {"w": w.tolist()}))
        assert value == pytest.approx(w[1:] @ w[1:] + 3.0 * losses.sum(), rel=1e-12)
    model = make_entry_model("semi-supervised", parameters, X, y)
    result = mo.solve(model, "margin-bb", tol=1e-6)
    point = {"w": result.values["w"].tolist()}
    assert float(exact_value("semi-supervised", parameters, X, y, point)) == pytest.approx(result.objective, rel=1e-9)


def test_multipliers_bound_every_point():
    entry = SMALL[1]
    X, y = build_data(entry.data)
    rng = np.random.default_rng(2)
    for _ in range(20):
        alpha = rng.uniform(0, entry.parameters["lam"], len(y)).tolist()
        w = rng.standard_normal(X.shape[1]).tolist()
        assert exact_bound("hinge", entry.parameters, X, y, alpha) <= exact_value("hinge", entry.parameters, X, y, {"w": w})


def test_rounding_is_upward():
    for value in (Fraction(1, 3), Fraction(2, 3), Fraction(-1, 3), Fraction(1, 2)):
        assert Fraction(ceil_to_float(value)) >= value
    assert ceil_to_float(Fraction(1, 2)) == 0.5


@pytest.mark.parametrize("entry", SMALL, ids=lambda e: e.model)
def test_a_run_finds_the_entry_again(tmp_path, entry):
    proof = tmp_path / "log.jsonl.gz" if entry.evidence == "log" else None
    run = run_entry(entry, proof=proof, time_limit=20.0)
    assert run.new_entry is not None and book.verify_entry(run.new_entry).stands
    assert run.row["value"] == pytest.approx(entry.value, rel=2e-6)
    assert run.new_entry.bound <= entry.value * (1 + 1e-12) and entry.bound <= run.new_entry.value
    if proof is not None:
        assert book.verify_entry(replace(entry, bound=run.new_entry.bound), proof).stands
        assert not book.verify_entry(replace(entry, bound=entry.value), proof).stands
        other = next(e for e in ENTRIES if e.model == entry.model and e.sha256 != entry.sha256)
        assert not book.verify_entry(other, proof).stands


@pytest.mark.parametrize(("entry", "solver"), [(SMALL[0], "scip"), (SMALL[1], "clarabel"), (SMALL[2], "scip")])
def test_a_run_of_a_solver_without_logs_has_the_value_of_its_point(entry, solver):
    """The exact objective of the point, which is what the row compares; a bound that is claimed alone makes no entry."""
    run = run_entry(entry, solver, time_limit=20.0)
    X, y = build_data(entry.data)
    point = {"w": run.result.values["w"].tolist()}
    assert run.row["value"] == ceil_to_float(exact_value(entry.model, entry.parameters, X, y, point)) >= entry.bound
    assert run.row["above_book"] == pytest.approx((run.value - entry.value) / max(run.value, entry.value))
    assert (run.new_entry is None) == (entry.evidence == "log")


def test_results_are_submitted_where_they_are_better(tmp_path):
    entry = SMALL[0]
    X, y = build_data(entry.data)
    result = mo.solve(make_entry_model(entry.model, entry.parameters, X, y), "zero-one-bb", time_limit=20.0)
    result.save(tmp_path / "result.npz")
    with pytest.raises(InputError):
        submit_result(tmp_path / "result.npz", [entry], who="a reader")
    worse = replace(entry, value=2 * entry.value, point={"w": [0.0] * X.shape[1]})
    better = submit_result(tmp_path / "result.npz", [worse], who="a reader")
    assert better.who == "a reader" and book.verify_entry(better).stands
    with pytest.raises(InputError):
        submit_result(tmp_path / "result.npz", [SMALL[1]], who="a reader")
    with pytest.raises(InputError):
        submit_result(tmp_path / "result.npz", [worse], proof=tmp_path / "no-log", who="a reader")


def test_a_result_finds_its_entry_among_the_sets_of_an_archive(tmp_path, monkeypatch):
    """The entry is recognised by the data of each set in the archive; without the archive no entry can be."""
    rng = np.random.default_rng(2)
    X, y = rng.integers(-3, 4, (12, 2)) / 4.0, np.where(np.arange(12) % 2, 1, -1)
    rows = "".join(f"{label} {a} {b}\n" for label, (a, b) in zip(y.tolist(), X.tolist(), strict=True))
    (tmp_path / "brooks").mkdir()
    with tarfile.open(tmp_path / "brooks" / "set-a.tar.bz2", "w:bz2") as archive:
        member = tarfile.TarInfo("n12d2ATj0")
        text = f"12\n2\n{rows}".encode()
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text))
    monkeypatch.setenv("MARGINOPT_DATA", str(tmp_path))
    source = {"kind": "brooks", "name": "n12d2ATj0"}
    parameters = {"lam": 2.0, "intercept": "free"}
    options = Options(time_limit=20.0)
    entry = solved_entry("zero-one/a-set", source, "zero-one", parameters, options=options, who="a test")
    assert entry is not None
    poor = replace(entry, value=2 * entry.value, point={"w": [0.0] * 3})
    run_entry(entry, time_limit=20.0).result.save(tmp_path / "result.npz")
    assert submit_result(tmp_path / "result.npz", [SMALL[0], poor], who="a reader").name == entry.name
    monkeypatch.delenv("MARGINOPT_DATA")
    with pytest.raises(InputError):
        submit_result(tmp_path / "result.npz", [SMALL[0], poor], who="a reader")


def test_the_better_value_and_the_better_bound_stay():
    """A search from a worse point may prove more, and one that finds a better point less."""
    entry = SMALL[0]
    poor = replace(entry, value=2 * entry.value, point={"w": [0.0]}, log="", solver="a solver")
    weak = replace(entry, bound=0.5 * entry.bound, log="", solver="another")
    assert improved_entry(entry, poor) is entry is improved_entry(entry, weak)
    for first, second in ((poor, weak), (weak, poor)):
        both = improved_entry(first, second)
        assert (both.value, both.point, both.bound) == (entry.value, entry.point, entry.bound)
        assert (both.solver, both.log) == (poor.solver, poor.log)


@pytest.fixture
def small_table(tmp_path, monkeypatch):
    """A table with an outcome and two whole-numbered columns in the data directory."""
    rng = np.random.default_rng(4)
    X = rng.integers(-2, 3, (14, 2))
    y = (X[:, 0] + rng.normal(size=14) > 0).astype(int)
    lines = ["outcome,a,b", *(f"{label},{a},{b}" for label, (a, b) in zip(y.tolist(), X.tolist(), strict=True))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    monkeypatch.setenv("MARGINOPT_DATA", str(tmp_path))
    return {"kind": "table", "path": "t.csv", "label": 0, "header": 1}


@pytest.mark.parametrize(
    ("model", "parameters", "infeasible"),
    [
        (
            "scoring",
            {"C0": "1/50", "max_features": 1, "intercept_range": [-9, 9]},
            ([0.5, 0, 0], [0, 1, 1], [0, 11, 0], [10, 0, 0]),
        ),
        ("kernel-ramp", {"C": 3.0}, ()),
        ("balanced", {"C": 3.0}, ()),
    ],
)
def test_instances_of_tables_become_entries(small_table, model, parameters, infeasible):
    """The exact value is the solver's objective, the bound below it; lower values, higher bounds and bad points are refused."""
    entry = solved_entry("new", small_table, model, parameters, options=Options(time_limit=20.0), who="a test")
    assert entry is not None and entry.status == "closed" and book.verify_entry(entry).stands
    X, y = build_data(small_table)
    solved = mo.solve(make_entry_model(model, parameters, X, y), MODELS[model].solvers[0])
    assert solved.objective == pytest.approx(entry.value, rel=2e-6)
    for claim in (replace(entry, value=entry.value * (1 - 1e-9)), replace(entry, bound=entry.value * (1 + 1e-9))):
        assert book.verify_entry(claim).stands is False
    for w in infeasible:
        with pytest.raises(InputError):
            exact_value(model, parameters, X, y, {"w": w})
    with pytest.raises(InputError):
        exact_value(model, parameters, X, y, {"w": [0.0], "u": [0.0], "b": [0.0]})


@pytest.mark.parametrize("solver", MODELS["kernel-ramp"].solvers)
def test_an_entry_is_made_anew_by_its_own_solver(small_table, solver):
    """Its evidence is a log of the solver that it names; an open one is searched again from its point's coefficients."""
    entry = solved_entry(
        "kernel-ramp/new", small_table, "kernel-ramp", {"C": 3.0}, options=Options(time_limit=20.0), who="a test", solver=solver
    )
    assert entry is not None and entry.solver == run_entry(entry, time_limit=20.0).result.solver == solver
    X, _ = build_data(small_table)
    w = MODELS["kernel-ramp"].start_coefficients(entry.point, X)
    assert MODELS["kernel-ramp"].make_point({"w": w}, X)["u"] == pytest.approx(entry.point["u"])
    for claim in (entry, replace(entry, bound=0.9 * entry.bound)):
        assert book.remake_entry(claim, 20.0).stands
    with pytest.raises(InputError):
        run_entry(entry, "scip", proof="log.jsonl")


def test_kernel_weights_pay_for_their_norm_and_their_losses():
    """At u = 0 every margin is ±b; a point far beyond the ramp pays 2 and its margin beyond -99."""
    X, y = np.array([[1.0, 1.0], [1.0, -3.0]]), np.array([1.0, -1.0])
    value = lambda u, b: exact_value("kernel-ramp", {"C": 2.0}, X, y, {"u": u, "b": [b]})  # noqa: E731
    assert value([0.0, 0.0], 0.0) == 2 * 1 + 2 * 1
    assert value([1.0, 0.0], 0.0) == 1 + 0 + 0
    assert value([-200.0, 0.0], 0.0) == 200 + 2 * (2 + 101) + 2 * (2 + 501)


def test_audits_are_read_from_predictions(tmp_path, monkeypatch):
    """The persons whose target is low, with the protected columns; bit k is the prediction for the k-th of them."""
    monkeypatch.setenv("MARGINOPT_DATA", str(tmp_path))
    (tmp_path / "people.csv").write_text("late,age,fee\n0,3,7\n1,4,8\n0,5,9\n")
    source = {"kind": "audit", "path": "people.csv", "target": "late", "protected": ["fee"], "predicted": "2"}
    X, y = build_data(source)
    assert X.tolist() == [[1.0, 7.0], [1.0, 9.0]] and y.tolist() == [-1.0, 1.0]
    with pytest.raises(DataError):
        build_data(source | {"protected": ["height"]})


def test_a_forged_entry_is_refused():
    """A bound above the value had a gap of 0, and was called proved; a half-space of one point was drawn for ever."""
    entry = next(e for e in ENTRIES if e.evidence == "log" and e.data["kind"] == "clusters")
    record = asdict(entry)
    above = Entry.from_record(record | {"bound": 2 * entry.value})
    assert above.status == "contradicted" and book.verify_entry(above).stands is False
    far = replace(entry, point={"w": [1e290] * len(entry.point["w"])})
    assert book.verify_entry(far).stands is False
    assert proof_page_path(replace(entry, data=dict(entry.data) | {"n": [40]})) == ""
    for changes in ({"data": {}}, {"who": "a\u2028b"}, {"data": {"kind": "\ud800"}}):
        with pytest.raises(DataError):
            Entry.from_record(record | changes)
    for n, p in ((1, 2), (0, 2), (5, 0)):
        with pytest.raises(InputError):
            build_data({"kind": "half-space", "n": n, "p": p, "seed": 0})
    for parameters in ({}, {"lam": "free"}, {"lam": math.nan}):
        with pytest.raises(InputError):
            book_page([replace(entry, parameters=parameters)])


def test_a_new_instance_becomes_an_entry():
    data = {"kind": "flipped", "n": 12, "p": 1, "tau": 0.2, "seed": 9}
    entry = solved_entry(
        "zero-one/new", data, "zero-one", {"lam": 1.0, "intercept": "penalised"}, options=Options(time_limit=10.0), who="a test"
    )
    assert entry is not None and entry.status == "closed" and book.verify_entry(entry).stands
    X, y = build_data(data)
    assert entry.sha256 == data_digest(X, y)


@pytest.mark.parametrize(("n", "p", "kind"), [(40, 5, "conflicts"), (220, 5, "boxes"), (220, 6, "conflicts")])
def test_logs_are_of_the_engine_that_is_sooner_checked(tmp_path, n, p, kind):
    data = {"kind": "flipped", "n": n, "p": p, "tau": 0.1, "seed": 0}
    parameters = {"lam": 1e-4, "intercept": "penalised"}
    entry = solved_entry("zero-one/new", data, "zero-one", parameters, options=Options(time_limit=20.0), who="a test")
    assert entry is not None
    run_entry(entry, proof=tmp_path / "log.jsonl", time_limit=20.0)
    assert json.loads((tmp_path / "log.jsonl").read_text().splitlines()[0])["kind"] == kind


@pytest.mark.parametrize("text", ["{", "[]\n", '{"name": "a"}\n', '{"name": 1, "extra": 2}\n'])
def test_files_that_are_no_entries_are_refused(tmp_path, text):
    file = tmp_path / "entries.jsonl"
    file.write_text(text)
    with pytest.raises(DataError):
        load_entries(file)
    record = json.loads((save_entries(file, SMALL[:1])).read_text())
    for change in ({"value": "1"}, {"point": []}, {"who": 3}):
        file.write_text(json.dumps(record | change))
        with pytest.raises(DataError):
            load_entries(file)
    file.write_text((json.dumps(record) + "\n") * 2)
    with pytest.raises(DataError):
        load_entries(file)


def test_entries_that_cannot_be_read_are_not_written(tmp_path):
    for change in ({"who": "two\nlines"}, {"who": ""}, {"value": float("nan")}, {"name": "../x"}, {"log": "1"}):
        with pytest.raises(DataError):
            save_entries(tmp_path / "entries.jsonl", [replace(SMALL[0], **change)])
    assert not (tmp_path / "entries.jsonl").exists()


def test_bounds_are_stated_below_what_is_proved_and_never_below_zero():
    """An open bound of 0 stays 0, others lose their last digits."""
    for bound in (0.0, 1e-3, 0.5 * SMALL[0].value, SMALL[0].value):
        stated = with_stated_bound(replace(SMALL[0], bound=bound)).bound
        assert 0.0 <= stated <= bound and stated >= bound - 1.1e-6 * SMALL[0].value
    assert min(entry.bound for entry in ENTRIES if entry.model != "semidefinite") >= 0.0


def test_entries_are_read_as_they_were_written(tmp_path):
    path = save_entries(tmp_path / "entries.jsonl", SMALL)
    assert {e.name: e for e in load_entries(path)} == {e.name: e for e in SMALL}
    with pytest.raises(InputError):
        find_entry("zero-one/none", SMALL)


def test_tables_are_read_from_the_data_directory(tmp_path, monkeypatch):
    source = {"kind": "table", "path": "t.csv", "label": 0, "header": 1}
    monkeypatch.setenv("MARGINOPT_DATA", str(tmp_path))
    with pytest.raises(DataError):
        book_data.build_data(source)
    (tmp_path / "t.csv").write_text("y,a,b\n1,0.5,100\n-1,2,0\n")
    X, y = book_data.build_data(source)
    assert X.tolist() == [[1.0, 0.5, 100.0], [1.0, 2.0, 0.0]] and y.tolist() == [1.0, -1.0]
    (tmp_path / "t.csv").write_text("y,a,b\n1,high,100\n")
    with pytest.raises(DataError):
        book_data.build_data(source)


def test_the_page_is_that_of_the_entries():
    assert PAGE.read_text(encoding="utf-8") == book_page(ENTRIES)


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium (apt-get install chromium)")
def test_the_page_filters_and_sorts_in_chromium(tmp_path):
    """The rows that are shown are those of the entries that fit status, gap and text; a click sorts by number."""
    page = tmp_path / "page.html"
    page.write_text(
        "<!doctype html>" + PAGE.read_text(encoding="utf-8").split("```{raw} html")[1].split("```")[0], encoding="utf-8"
    )
    with browser(tmp_path) as chromium:
        chromium.open(page)

        def shown(field, value):
            chromium.evaluate(f"document.getElementById('book-{field}').value = '{value}'")
            for event in ("input", "change"):
                chromium.evaluate(f"document.getElementById('book-{field}').dispatchEvent(new Event('{event}'))")
            return chromium.evaluate("[...document.querySelectorAll('#book tbody tr')].filter(r => !r.hidden).length")

        assert shown("text", "") == len(ENTRIES)
        assert shown("gap", "1e-3") == sum(e.gap >= 1e-3 for e in ENTRIES) > 0
        assert shown("status", "closed") == 0
        assert shown("gap", "") == sum(e.status == "closed" for e in ENTRIES)
        assert shown("status", "open") == sum(e.status == "open" for e in ENTRIES)
        assert shown("text", "zero-one/") == sum(e.status == "open" and "zero-one/" in e.name for e in ENTRIES)
        chromium.evaluate("document.querySelectorAll('#book th button')[6].click()")
        gaps = chromium.evaluate("[...document.querySelectorAll('#book tbody tr')].map(r => Number(r.dataset.gap)).join(' ')")
        assert [float(gap) for gap in gaps.split()] == sorted(max(e.gap, 0.0) for e in ENTRIES)


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium (apt-get install chromium)")
def test_the_site_s_pages_prove_their_entries_in_chromium(tmp_path):
    """The table links to the pages of small entries; one is opened from a file, and refused with a flipped label."""
    pages = {proof_page_path(entry): entry for entry in ENTRIES} | {"": None}
    links = re.findall(r'<a href="(proofs/[^"]*)">prove it here</a>', PAGE.read_text(encoding="utf-8"))
    assert sorted(links) == sorted(filter(None, pages)) and len(links) >= 30
    entry = pages["proofs/flipped-n24-p2-s0-lam1.html"]
    with browser(tmp_path) as chromium:
        chromium.open(proof_pages.write_page(entry, tmp_path / "page.html"))
        chromium.wait("document.body.dataset.finished !== undefined")
        shown = chromium.evaluate("document.body.innerText")
        proved = float(re.search(r"Proved\..* is at least ([\d.]+)", shown)[1])
        assert proved == pytest.approx(entry.bound, rel=1e-7) and entry.name in shown
        label = "[...document.querySelectorAll('button')].find((b) => b.textContent === 'Flip its label')"
        chromium.evaluate(f"{label}.click()")
        chromium.wait("Number(document.body.dataset.finished) > 1")
        assert "Proved." not in chromium.evaluate("document.body.innerText")


def test_evidence_made_anew(tmp_path, capsys):
    """An entry stands by a log or a certificate that is made anew, and not where its bound is above what these prove."""
    for entry in (SMALL[0], SMALL[1], SMALL[3]):
        assert book.remake_entry(entry, 20.0).stands
    for entry in (SMALL[0], SMALL[2], SMALL[3]):
        too_high = replace(entry, bound=entry.value)
        assert book.verify_entry(too_high).stands and "not checked" in book.verify_entry(too_high).message
        assert book.remake_entry(too_high, 20.0).stands is False
    file = save_entries(tmp_path / "wrong.jsonl", [replace(SMALL[0], bound=SMALL[0].value)])
    assert main(["book", "verify", "--entries", str(file)]) == 0
    assert main(["book", "verify", "--entries", str(file), "--remake"]) == 1
    assert main(["book", "verify", SMALL[0].name, "--remake", "--log", "log.jsonl"]) == 2
    capsys.readouterr()


def test_logs_are_checked_within_the_time_limit(tmp_path, monkeypatch):
    """The check ends between two nodes; what was not checked is not called wrong."""
    for number, entry in enumerate(e for e in SMALL if e.evidence == "log"):
        log = tmp_path / f"{number}.jsonl.gz"
        run_entry(entry, time_limit=60.0, proof=log)
        with deadline(-math.inf), pytest.raises(OutOfTimeError):
            mo.proofs.check_proof(log)
    monkeypatch.setattr("marginopt.book.solving.deadline", lambda end: deadline(-math.inf))
    run = run_entry(SMALL[0], time_limit=60.0)
    assert run.new_entry is None and run.missing and run.value is not None
    assert book.remake_entry(SMALL[0], 60.0).stands is False


def test_an_open_entry_is_made_anew_up_to_its_bound():
    """From a poor point too, whose gap is larger than that of the bound below the best point; and no farther than needed."""
    entry = find_entry("zero-one/flipped-n80-p4-s0-lam1", ENTRIES)
    X, y = build_data(entry.data)
    zero = {"w": [0.0] * X.shape[1]}
    poor = replace(entry, point=zero, value=ceil_to_float(exact_value(entry.model, entry.parameters, X, y, zero)))
    assert poor.value > 1.5 * entry.value
    for claim in (replace(entry, bound=0.6 * entry.value), replace(poor, bound=0.6 * entry.value)):
        verdict = book.remake_entry(claim, 60.0)
        assert verdict.stands and claim.bound <= verdict.bound < 0.95 * entry.value
    assert book.remake_entry(replace(poor, bound=1.01 * entry.value), 60.0).stands is False


def test_the_command(tmp_path, capsys):
    entry = SMALL[1]
    assert main(["book"]) == 0
    assert main(["book", "verify", entry.name]) == 0
    file = save_entries(tmp_path / "wrong.jsonl", [replace(entry, value=entry.value * 0.5), SMALL[0]])
    assert main(["book", "verify", "--entries", str(file)]) == 1
    assert main(["book", "run", entry.name, "--time-limit", "10", "--json"]) == 0
    assert main(["book", "run", entry.name, "--proof", str(tmp_path / "log")]) == 2
    assert main(["book", "run"]) == 2
    assert main(["book", "verify", "nothing"]) == 2
    assert main(["book", "run", entry.name, "--who", "me"]) == main(["book", "verify", "-o", "entry.jsonl"]) == 2
    assert main(["book", "page", str(tmp_path / "book.md")]) == 0
    assert (tmp_path / "book.md").read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")
    capsys.readouterr()


def test_a_newcomer_s_better_result_becomes_an_entry(tmp_path, capsys):
    """Run an instance and store the result, submit it with its log, verify the new entry."""
    entry = find_entry("zero-one/flipped-n16-p1-s0-lam1", ENTRIES)
    poor = str(save_entries(tmp_path / "poor.jsonl", [replace(entry, bound=5.0)]))
    result, log, made = (str(tmp_path / name) for name in ("result.npz", "log.jsonl", "entry.jsonl"))
    assert main(["book", "run", entry.name, "--time-limit", "60", "--proof", log, "-o", result]) == 0
    assert main(["book", "submit", result, "--log", log]) == 2  # the book's own is as good
    assert main(["book", "submit", result, "--log", log, "--entries", poor, "--who", "me", "-o", made]) == 0
    (better,) = load_entries(made)
    assert better.who == "me" and 5.9 < better.bound <= better.value
    assert main(["book", "verify", entry.name, "--entries", made, "--log", log]) == 0
    capsys.readouterr()


def test_logs_of_any_size_have_a_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The digest of a packed log is that of its text, read piece by piece: what files unpack to in the memory is limited."""
    text = json.dumps(list(range(1000))).encode()
    for name, compress in (("log.jsonl", bytes), ("log.jsonl.gz", gzip.compress), ("log.jsonl.bz2", bz2.compress)):
        (tmp_path / name).write_bytes(compress(text))
    monkeypatch.setattr(files, "READ_LIMIT", 100)
    assert {files.content_digest(path) for path in tmp_path.iterdir()} == {hashlib.sha256(text).hexdigest()}
    with pytest.raises(mo.errors.DataError):
        files.read_bytes(tmp_path / "log.jsonl.gz")
