"""Random compositions: loss × regulariser × domain × restrictions, each law on all of them."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data import clouds
from effort import trials
from facts import about
from hypothesis import HealthCheck, given, settings, strategies as st

import marginopt as mo
from marginopt import margin
from marginopt.errors import ExportError, InputError
from marginopt.models.export.file_formats import file_formats, read_form, write_form
from marginopt.models.program.cones import Feature

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")

N, P = 8, 3
CONVEX = [
    margin.Hinge(),
    margin.SquaredHinge(),
    margin.NuHinge(0.4),
    margin.EpsilonInsensitive(0.2),
    margin.EpsilonInsensitive(0.1, squared=True),
    margin.OneClass(0.5),
    margin.PairwiseHinge(),
    margin.PiecewiseLinear(((-1.0, 3.0), (0.0, 1.0), (1.0, 0.0), (2.0, 0.1))),
    margin.PiecewiseQuadratic((0.5, 1.0), ((0, -1, 0.75), (1, -2, 1), (0, 0, 0))),
    margin.SoftBall(),
    margin.EnclosingBall(),
    margin.NearestHulls(),
]
BINARY = [
    margin.Ramp(2.0, 2.0),
    margin.Ramp(1.0, 0.5),
    margin.ZeroOne(),
    margin.ZeroOne(0.3),
    margin.PiecewiseLinear(((-1.0, 1.0), (0.0, 0.3), (0.5, 0.8), (1.0, 0.0), (3.0, 0.2))),
]
REGULARISERS = [
    margin.SquaredNorm(0.7),
    margin.L1(0.5),
    margin.ElasticNet(0.2, 0.3),
    margin.GroupL1((0, 1, 1), 0.4),
    margin.KernelWeightsL1(np.vstack([np.eye(3), np.ones((1, 3))]), 0.5),
]
DOMAINS = [margin.Reals(), margin.Box(-1.0, 1.5), margin.Signs((0, 1, 0)), margin.Increasing((1, 2)), margin.Integers(-2, 2)]


@st.composite
def compositions(draw: st.DrawFn, losses: list[Any], domains: list[Any]) -> mo.Margin:
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    X, y = clouds(rng, N, P - 1, 0.4, order="halves", first=-1.0)
    loss = draw(st.sampled_from(losses))
    restrictions: list[Any] = []
    if draw(st.booleans()):
        restrictions.append(mo.parity(X[:, 1] > np.median(X[:, 1]), draw(st.sampled_from([0.0, 0.1]))))
    if draw(st.booleans()):
        restrictions.append(margin.LinearRows(rng.normal(size=(2, P)), -1.0, 1.0))
    if draw(st.booleans()) and loss.reads_class_labels:
        restrictions.append(mo.error_budget(1, 0.75) if draw(st.booleans()) else mo.keep([0]))
    targets = y if loss.reads_class_labels else rng.normal(size=N)
    weights = rng.uniform(0.3, 1.0, N)
    return mo.Margin(
        X,
        targets,
        loss,
        draw(st.sampled_from(REGULARISERS)),
        sample_weight=weights,
        domain=draw(st.sampled_from(domains)),
        subject_to=restrictions,
    )


def checked(model: mo.Margin, result: mo.Result) -> None:
    """Check the laws of any solved composition."""
    tolerance = 2e-5 * (1.0 + abs(result.objective))
    w = result.values["w"]
    binary = bool(model.form.integer.any())
    assert model.objective(w * (1 + 1e-7) if binary else w) <= result.objective + tolerance  # stated ≤ form: slacks may be loose
    lower, upper = model.domain.bounds(P)
    assert (w >= lower - 1e-6).all()
    assert (w <= upper + 1e-6).all()
    assert all(r.violation(model.X, model.y, w) <= 1e-5 for r in model.subject_to)
    rng = np.random.default_rng(0)
    for _ in range(60):  # no allowed point costs less
        v = np.clip(w + rng.choice([0.01, 0.2, 1.0]) * rng.normal(size=P), lower, upper)
        v = np.round(v) if model.domain.integer else np.sort(v) if isinstance(model.domain, margin.Increasing) else v
        if all(r.violation(model.X, model.y, v) == 0 for r in model.subject_to):
            assert model.objective(v) >= result.objective - tolerance


def falls_without_end(model: mo.Margin, result: mo.Result) -> bool:
    """Return whether the stated objective falls along the solver's ray, and the domain lets it."""
    assert result.answer.ray is not None
    d = np.asarray(result.answer.ray["w"])
    d = d / np.abs(d).max()
    lower, upper = model.domain.bounds(P)
    assert (d[np.isfinite(lower)] >= -1e-6).all()
    assert (d[np.isfinite(upper)] <= 1e-6).all()
    d = np.where((np.isfinite(lower) & (d < 0)) | (np.isfinite(upper) & (d > 0)), 0.0, d)
    return model.objective(1e4 * d) < model.objective(1e2 * d)


@given(model=compositions(CONVEX, DOMAINS[:4]))
@settings(max_examples=trials(15, 40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_convex_compositions(model: mo.Margin) -> None:
    restricted = bool(model.form.integer.any())
    result = mo.solve(model, "scip" if restricted else "clarabel", tol=1e-7 if restricted else 1e-9, time_limit=60)
    if result.status is mo.Status.INFEASIBLE:  # points that must be kept, and rows against it
        assert model.subject_to
        return
    if result.status is mo.Status.UNBOUNDED:
        assert falls_without_end(model, result)
        return
    # an objective that is small beside its terms is not solved to 1e-9 of itself; what is INACCURATE then is closely bounded
    assert result.solved or 0.0 <= result.gap <= 1e-5
    checked(model, result)
    if not restricted:
        scale = 1 + abs(result.objective)
        assert result.bound_kind == "proved"
        assert result.certificate.bound <= result.objective + 1e-6 * scale
        assert result.certificate.bound >= result.objective - 1e-5 * scale
        rng = np.random.default_rng(1)
        wild = {c.label: rng.normal(size=c.rows) for c in model.form.constraints}
        assert model.bound(None, wild).value <= result.objective + 1e-6 * scale


@given(model=compositions(BINARY, DOMAINS))
@settings(max_examples=trials(10, 20), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_compositions_with_binaries(model: mo.Margin) -> None:
    if not np.isfinite(model.activity_bounds[1]).all():
        if isinstance(model.loss, margin.PiecewiseLinear):  # no switch of its pieces can be an indicator
            with pytest.raises(InputError, check=about("domain")):
                model.compile()
            return
        if Feature.INDICATOR not in model.form.features:
            return
    result = mo.solve(model, "scip", time_limit=60)
    if result.status is mo.Status.INFEASIBLE:
        assert model.subject_to
        return
    checked(model, result)
    relaxed = mo.solve(model.relaxed(), "clarabel")
    assert relaxed.objective <= result.objective + 1e-5 * (1 + abs(result.objective))


@given(model=compositions([*CONVEX, *BINARY[:4]], DOMAINS))
@settings(max_examples=trials(12, 30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_composition_is_printed_and_survives_the_formats_that_carry_it(model: mo.Margin) -> None:
    text, tex = str(model), model.latex(standalone=True)
    assert all(type(part).__name__ in text for part in model.parts)
    assert tex.count("{") == tex.count("}")
    assert re.findall(r"\\begin\{(\w+)\}", tex).count("aligned") == re.findall(r"\\end\{(\w+)\}", tex).count("aligned")
    labels = {label.strip() for line in model.statement.constraints for label in line.label.split(",") if "..." not in label}
    known = {c.label for c in model.form.constraints}
    assert {label for label in labels if label and not any(k.startswith(label) for k in known)} <= {"margin"}
    with tempfile.TemporaryDirectory() as folder:
        carried = 0
        for suffix in file_formats():
            path = Path(folder) / f"form{suffix}"
            try:
                write_form(model.form, path)
            except ExportError:
                continue
            carried += 1
            back = read_form(path)
            if back.n == model.form.n:  # some formats have a variable more, for a quadratic objective
                np.testing.assert_allclose(np.sort(back.q), np.sort(model.form.q), rtol=1e-12, atol=1e-12)
                assert back.integer.sum() == model.form.integer.sum()
            if suffix == ".npz":
                assert back.equals(model.form)
            if suffix in (".npz", ".cbf", ".mof.json"):
                assert [b.label for b in back.blocks] == [b.label for b in model.form.blocks]
        assert carried >= 1


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no TeX engine (pdflatex) is installed")
@given(models=st.lists(compositions([*CONVEX, *BINARY, margin.ZeroOne(0.0)], DOMAINS), min_size=12, max_size=12))
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_latex_of_drawn_compositions_compiles(models: list[mo.Margin]) -> None:
    """Twelve statements in one document, the notes included; nothing sticks out of the page."""
    documents = [model.latex(standalone=True) for model in models]
    head = documents[0].partition("\\noindent")[0]
    bodies = [text.partition("\\noindent")[2].partition("\\end{document}")[0] for text in documents]
    text = head + "\\newpage\n".join(f"\\noindent {body}" for body in bodies) + "\\end{document}\n"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "drawn.tex").write_text(text, encoding="ascii")
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "drawn.tex"]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
        assert run.returncode == 0, run.stdout[-2000:]
        assert (Path(folder) / "drawn.pdf").stat().st_size > 1000
    assert all(float(wide) < 10 for wide in re.findall(r"Overfull .hbox .(\S+)pt too wide. detected", run.stdout)), run.stdout


@pytest.mark.parametrize("loss", [margin.EnclosingBall(), margin.NearestHulls()], ids=["ball", "hulls"])
@pytest.mark.parametrize("regulariser", [margin.SquaredNorm(0.7), margin.ElasticNet(0.2, 0.3)], ids=["l2", "elastic net"])
@pytest.mark.parametrize("domain", [DOMAINS[0], DOMAINS[1], DOMAINS[3]], ids=["reals", "box", "order"])
def test_losses_of_weighted_points(loss: Any, regulariser: Any, domain: Any) -> None:
    rng = np.random.default_rng(5)
    X, y = clouds(rng, N, P - 1, 0.4, order="halves", first=-1.0)
    model = mo.Margin(X, y, loss, regulariser, sample_weight=rng.uniform(0.3, 1.0, N), domain=domain)
    result = mo.solve(model, "clarabel", tol=1e-8)
    checked(model, result)
    assert result.bound <= result.objective + 1e-6 * (1 + abs(result.objective))
    assert result.bound >= result.objective - 1e-5 * (1 + abs(result.objective))
    wild = {c.label: rng.normal(size=c.rows) for c in model.form.constraints}
    assert model.bound(None, wild).value <= result.objective + 1e-6 * (1 + abs(result.objective))
