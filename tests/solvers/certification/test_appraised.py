"""Certificates without a form agree with those of the form, and make large models usable."""

from __future__ import annotations

import numpy as np
import pytest
from facts import about

import marginopt as mo
from marginopt.errors import TooLargeError
from marginopt.solvers.certification.certificate import certify, certify_by_model


@pytest.mark.parametrize("parameters", [{"lam": 0.7}, {"kappa": 0.2}, {"lam": 0.7, "kernel": mo.RBF(0.3)}])
@pytest.mark.parametrize("spoil", [None, "W", "z", "r_plus", "w", "s"])
def test_it_says_what_the_form_s_certificate_says(parameters: dict[str, object], spoil: str | None) -> None:
    data = mo.instances.gaussian_clusters(15, 2, sigma=0.5, outliers="clustered", seed=1)
    model = mo.ConicSVM(data.X, data.y, **parameters)  # type: ignore[arg-type]
    result = mo.solve(model, "clarabel")
    values = {label: np.array(value) for label, value in result.values.items()}
    if spoil is not None:
        values[spoil] = values[spoil] - 0.01
    by_form = certify(model.form, values, result.multipliers, None, model)
    by_structure = certify_by_model(model, values, result.multipliers)
    assert by_structure.objective == pytest.approx(by_form.objective, rel=1e-12)
    assert by_structure.bound == pytest.approx(by_form.bound, rel=1e-9)
    for label in ("hull", "split", "violated", "kept", "bounds"):
        assert by_structure.violations[label] == pytest.approx(by_form.violations[label], rel=1e-6, abs=1e-12)
    assert by_structure.feasible(1e-7) == by_form.feasible(1e-7)


def test_a_model_too_large_for_its_form_is_solved_and_certified_by_its_structure(monkeypatch: pytest.MonkeyPatch) -> None:
    data = mo.instances.gaussian_clusters(60, 3, sigma=0.5, outliers="clustered", seed=0)
    model = mo.ConicSVM(data.X, data.y, lam=0.5)
    expected = mo.solve(mo.ConicSVM(data.X, data.y, lam=0.5), "clarabel").objective
    monkeypatch.setenv("MARGINOPT_MAX_BYTES", "1000")
    with pytest.raises(TooLargeError):
        _ = model.form
    result = mo.solve(model, "conic-ipm")
    assert result.solved
    assert result.bound_kind == "proved"
    assert result.objective == pytest.approx(expected, rel=1e-6)
    with pytest.raises(TooLargeError, check=about("X")):
        mo.solve(model, "clarabel")
