"""The Newton finisher on nearly singular matrices: no overflow, and never a worse point."""

from __future__ import annotations

from collections.abc import Callable, Generator

import numpy as np
import pytest

from marginopt.models.formulations.enclosing_ball import MEBDual
from marginopt.models.kernels.gram import MatrixGram
from marginopt.models.views import SimplexQP
from marginopt.solvers.records import Options, Status
from marginopt.solvers.simplex import newton_cholesky, smo
from marginopt.solvers.simplex.common import FeasiblePoint
from marginopt.solvers.simplex.newton_cholesky import polish_by_cholesky
from marginopt.solvers.simplex.smo import SMO
from marginopt.solvers.solve import solve_problem


def _gram(rng: np.random.Generator, scale: float) -> np.ndarray:
    """Gradients of a few objectives, some equal up to 1e-9 .. 1e-20, of sizes that differ by many decades."""
    n, rank = int(rng.integers(3, 12)), int(rng.integers(1, 5))
    rows = rng.standard_normal((rank, rank))[rng.integers(0, rank, n)]
    rows = rows * 10.0 ** rng.uniform(-12, 0, (n, 1)) * (1.0 + 10.0 ** rng.uniform(-20, -9) * rng.standard_normal(rows.shape))
    Q = rows @ rows.T
    return Q * (scale / np.abs(Q).max())


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e25])
def test_nearly_singular_matrices_neither_overflow_nor_spoil_the_point(
    scale: float, drain: Callable[[Generator[None, None, FeasiblePoint]], FeasiblePoint]
) -> None:
    rng = np.random.default_rng(3)
    moved = 0
    for _ in range(300):
        Q = _gram(rng, scale)
        n = Q.shape[0]
        view = SimplexQP(MatrixGram(Q), np.zeros(n), np.zeros(n, dtype=np.int64))
        a = rng.dirichlet(np.ones(n))
        end = drain(polish_by_cholesky(view, a, Q @ a, 1e-9))
        assert np.isfinite(end.a).all() and end.a.min() >= 0.0
        assert end.a.sum() == pytest.approx(1.0, abs=1e-9)
        assert view.objective(end.a) <= view.objective(a) * (1 + 1e-9)
        moved += not np.array_equal(end.a, a)
    assert moved > 0


@pytest.mark.parametrize(("n", "features", "crowd"), [(20_000, 30, 0), (3_000, 800, 512)])
def test_no_crowd_is_taken_for_a_support(n: int, features: int, crowd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Far from the optimum nearly all points may violate: a guess is refused before it has its own n² numbers."""
    sizes, whole = [], newton_cholesky._submatrix

    def counted(guessed: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
        def guess(*start: object) -> np.ndarray:
            sizes.append(guessed(*start).size)
            return guessed(*start)

        return guess

    def seen(view: SimplexQP, guess: np.ndarray) -> newton_cholesky.Steps:
        assert guess.size <= 512
        return whole(view, guess)

    monkeypatch.setattr(newton_cholesky, "_submatrix", seen)
    monkeypatch.setattr(newton_cholesky, "_next_guess", counted(newton_cholesky._next_guess))
    monkeypatch.setattr(smo, "first_support_guess", counted(newton_cholesky.first_support_guess))
    model = MEBDual(np.random.default_rng(0).standard_normal((n, features)))
    result = solve_problem(model, SMO(lowrank=False), Options(tol=1e-6))
    assert result.status is Status.OPTIMAL
    assert max(sizes) > crowd
