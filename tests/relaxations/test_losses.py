"""The loss functions of Conic Figure 1 against their definitions and against each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from marginopt.errors import InputError
from marginopt.relaxations import conic_loss, hinge_loss, normalised_sigmoid_loss, psi_loss, ramp_loss, zero_one_loss

lams = st.floats(0.01, 100.0)
gammas = st.floats(0.0, 100.0)
margins = st.floats(-50.0, 50.0)


@given(u=margins, gamma=gammas, lam=lams)
def test_conic_loss_is_the_minimum_over_z(u: float, gamma: float, lam: float) -> None:
    r = 1.0 - u
    z = np.concatenate([np.linspace(0.0, 1.0, 4001), np.geomspace(1e-9, 1.0, 2001)])
    with np.errstate(divide="ignore", invalid="ignore"):
        hull = np.where(r > 0, r * r / z, 0.0) + np.where(r < 0, r * r / (1 - z), 0.0)
    best = float(np.nanmin(lam * z + (gamma * (hull - r * r) if gamma > 0 else 0.0)))
    # the grid's minimum is an upper bound; the error of a grid step is of second order
    assert conic_loss(u, gamma, lam) <= best + 1e-9 * (lam + gamma * r * r)
    assert conic_loss(u, gamma, lam) == pytest.approx(best, rel=1e-4, abs=1e-6 * (lam + gamma * r * r))


@given(u=margins, gamma=gammas, lam=lams)
def test_conic_loss_underestimates_the_0_1_loss(u: float, gamma: float, lam: float) -> None:
    value = conic_loss(u, gamma, lam)
    assert 0.0 <= value <= zero_one_loss(u, lam)


@given(u=margins, gamma=gammas, more=st.floats(1.0, 10.0), lam=lams)
def test_conic_loss_grows_with_gamma(u: float, gamma: float, more: float, lam: float) -> None:
    assert conic_loss(u, gamma, lam) <= conic_loss(u, more * gamma, lam) * (1 + 1e-12) + 1e-12


@given(u=margins, lam=lams, more=st.floats(1.0, 10.0))
def test_conic_loss_dominates_ramp_and_psi_from_gamma_lam_on(u: float, lam: float, more: float) -> None:
    value = conic_loss(u, more * lam, lam) * (1 + 1e-12)
    assert value >= ramp_loss(u, lam)
    assert value >= psi_loss(u, lam)


@given(u=margins, lam=lams)
def test_underestimators_and_those_that_are_not(u: float, lam: float) -> None:
    bound = zero_one_loss(u, lam)
    assert ramp_loss(u, lam) <= bound
    assert psi_loss(u, lam) <= bound
    assert ramp_loss(u, lam) == min(hinge_loss(u, lam), lam)
    assert 0.0 <= normalised_sigmoid_loss(u, lam) <= 2.0 * lam


def test_values_at_the_corners() -> None:
    u = np.array([-1.0, 0.0, 0.5, 1.0, 2.0])
    np.testing.assert_allclose(zero_one_loss(u), [1, 1, 1, 0, 0])
    np.testing.assert_allclose(hinge_loss(u, 2.0), [4, 2, 1, 0, 0])
    np.testing.assert_allclose(ramp_loss(u), [1, 1, 0.5, 0, 0])
    np.testing.assert_allclose(psi_loss(u), [1, 0, 0, 0, 0])
    np.testing.assert_allclose(normalised_sigmoid_loss(u), 1 - np.tanh(u))
    np.testing.assert_allclose(conic_loss(u, 1.0), [1, 1, 0.75, 0, 0])
    np.testing.assert_allclose(conic_loss(u, 0.25, 4.0), [3.0, 1.75, 0.9375, 0, 0])  # 2r - r²/4
    np.testing.assert_allclose(conic_loss(u, 0.0), 0.0)
    assert normalised_sigmoid_loss(1.0) > 0.0  # no underestimator


def test_conic_loss_plus_its_quadratic_is_convex() -> None:
    u = np.linspace(-5.0, 5.0, 2001)
    for gamma in (0.1, 1.0, 7.0):
        values = conic_loss(u, gamma, 2.0) + gamma * (1.0 - u) ** 2
        assert (np.diff(values, 2) >= -1e-9).all()


@pytest.mark.parametrize(
    "call",
    [
        lambda: conic_loss(0.0, -1.0),
        lambda: conic_loss(0.0, 1.0, 0.0),
        lambda: hinge_loss("margin"),
        lambda: ramp_loss(float("nan")),
        lambda: normalised_sigmoid_loss(0.0, steepness=0.0),
    ],
)
def test_wrong_arguments(call) -> None:
    with pytest.raises(InputError):
        call()
