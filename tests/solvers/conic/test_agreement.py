"""conic-ipm finds the optimum of Clarabel and SCS where their own answer proves itself; benchmarks/conic_agreement does more."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from effort import part

from marginopt import instances
from marginopt.errors import MarginoptWarning
from marginopt.models import ConicSVM
from marginopt.models.kernels.kernels import RBF
from marginopt.solvers import Status, solve

CASES = [
    (k, sigma, outliers)
    for k, (sigma, outliers) in enumerate(itertools.product((0.2, 0.5, 1.0), ("none", "spread", "clustered")))
]


def problem(k, sigma, outliers):
    """n from 20 to 120, p from 1 to 9; λ and κ in turn; every fourth with a kernel."""
    rng = np.random.default_rng([16, k])
    n, p = int(rng.integers(20, 120)), int(rng.integers(1, 10))
    form = {"kappa": float(rng.uniform(0.005, 0.5))} if k % 2 else {"lam": float(10.0 ** rng.uniform(-2, 1))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MarginoptWarning)
        if k % 4 == 3:
            data = instances.gaussian_clusters(24, 2, sigma, outliers=outliers, seed=rng)
            return ConicSVM(data.X[:, 1:], data.y, kernel=RBF(0.5), **form)
        data = instances.gaussian_clusters(n, p, sigma, outliers=outliers, seed=rng)
        return ConicSVM(data.X, data.y, **form)


@pytest.mark.parametrize(("k", "sigma", "outliers"), part(CASES, 5))
def test_optimum_is_that_of_the_peers(k, sigma, outliers):
    model = problem(k, sigma, outliers)
    ours = solve(model, "conic-ipm")
    assert ours.status is Status.OPTIMAL
    assert ours.gap <= 1e-8
    assert ours.certificate.gap <= 1e-8  # what the multipliers prove, without the solver's word
    certified = 0
    for name in ("clarabel", "scs"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MarginoptWarning)
            peer = solve(model, name, tol=1e-7, time_limit=20)
        if peer.certificate.feasible(1e-7) and peer.gap <= 1e-6:
            certified += 1
            assert peer.objective == pytest.approx(ours.objective, rel=1e-6)
            assert peer.bound <= ours.objective * (1 + 1e-12)
    assert certified >= 1
