"""Claims about programs with second-order and semidefinite cones, without evidence: it is supplied, or they stay claims."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from effort import trials

import marginopt as mo
from marginopt.models import PSD, Block, Cone, Constraint, Nonnegative, RotatedSecondOrder, SecondOrder, StandardForm, Zero
from marginopt.models.model import as_model
from marginopt.solvers import Answer, Status, get_solver
from marginopt.solvers.certification.evidence import ScaledConeRows
from marginopt.solvers.certification.rays import RayEvidence, ray_is_exact
from marginopt.solvers.certification.result import Result
from marginopt.solvers.interface.solver import OPEN_LICENCE
from marginopt.solvers.judgement import judge
from marginopt.solvers.records import Options

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")


def judged(form: StandardForm, status: Status, **text: Any) -> Result:
    """Return what becomes of a bare claim."""
    return judge(as_model(form), get_solver("clarabel"), Answer(status, "my word", **text), Options(), OPEN_LICENCE)


def drawn(seed: int) -> StandardForm:
    """Up to four variables and three stacks of cones, whole numbers or normal ones."""
    rng = np.random.default_rng(seed)
    n, constraints = int(rng.integers(1, 5)), []

    def numbers(*shape: int) -> np.ndarray:
        return rng.integers(-3, 4, shape).astype(float) if seed % 2 else rng.normal(size=shape)

    for k in range(int(rng.integers(1, 4))):
        cones: tuple[Cone, ...] = (
            Nonnegative(int(rng.integers(1, 4))), SecondOrder(3, int(rng.integers(1, 3))), RotatedSecondOrder(3), PSD.of_order(2),
        )  # fmt: skip
        cone = cones[int(rng.integers(4))]
        constraints.append(Constraint(f"cone {k}", sp.csr_array(numbers(cone.rows, n)), numbers(cone.rows), cone))
    if rng.random() < 0.3:
        constraints.append(Constraint("equal", sp.csr_array(numbers(1, n)), numbers(1), Zero(1)))
    lower, upper = np.where(rng.random(n) < 0.3, -1.0, -np.inf), np.where(rng.random(n) < 0.2, 2.0, np.inf)
    return StandardForm("cones", (Block("x", (n,)),), numbers(n), tuple(constraints), lower, upper, np.zeros(n, dtype=bool))


@pytest.mark.parametrize("block", range(trials(2, 4)))
def test_bare_claims_are_proved_refuted_or_stay_claims(block: int) -> None:
    """Beside what Clarabel finds: a claim that holds is proved but for a few, one that does not is never proved."""
    held = proved = refuted = bounded = optimal = 0
    for seed in range(30 * block, 30 * block + trials(5, 30)):
        form = drawn(seed)
        result = mo.solve(form, "clarabel")
        empty, endless = judged(form, Status.INFEASIBLE), judged(form, Status.UNBOUNDED)
        if result.status is Status.OPTIMAL:
            optimal += 1
            assert "proved: " not in empty.evidence and "proved: " not in endless.evidence, seed
            refuted += empty.status is Status.INACCURATE and endless.status is Status.INACCURATE
            bare = judged(form, Status.OPTIMAL, values=result.values)
            bounded += bool(np.isfinite(bare.bound))
            assert not bare.bound > result.objective + 1e-6 * max(1.0, abs(result.objective)), seed
        elif "proved: " in result.evidence:
            held += 1
            claim = empty if result.status is Status.INFEASIBLE else endless
            proved += "proved: " in claim.evidence
            assert claim.status is result.status, (seed, claim.evidence)
    assert proved >= 0.8 * held, (held, proved)
    assert refuted >= 0.5 * optimal and bounded >= 0.6 * optimal, (optimal, refuted, bounded)


def test_a_ball_beside_a_half_plane() -> None:
    """||x|| ≤ 1 and x_0 ≥ 2: the multipliers are supplied; x_0 ≥ 1/2: a point speaks against the claim."""
    ball = Constraint("ball", sp.csr_array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([1.0, 0.0, 0.0]), SecondOrder(3))

    def beyond(r: float) -> StandardForm:
        right = Constraint("right", sp.csr_array([[1.0, 0.0]]), np.array([-r]), Nonnegative(1))
        free, real = np.full(2, np.inf), np.zeros(2, dtype=bool)
        return StandardForm("ball", (Block("x", (2,)),), np.array([0.0, 1.0]), (ball, right), -free, free, real)

    assert "proved: Farkas" in judged(beyond(2.0), Status.INFEASIBLE).evidence
    verdict = judged(beyond(0.5), Status.INFEASIBLE)
    assert verdict.status is Status.INACCURATE and "a point violates no constraint" in verdict.evidence
    assert judged(beyond(0.5), Status.UNBOUNDED).status is Status.INACCURATE
    # they touch: there is one point, and nothing proves that there is none
    assert "proved: " not in judged(beyond(1.0), Status.INFEASIBLE).evidence


def test_weakly_infeasible_is_not_proved() -> None:
    """x_1 ≥ 0 and [x_1, 1; 1, 0] ⪰ 0 has no point, and points as near as one likes: no multipliers exist."""
    F = sp.csr_array(np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]))
    form = StandardForm(
        "weak", (Block("x", (2,)),), np.zeros(2), (Constraint("S", F, np.array([0.0, np.sqrt(2.0), 0.0]), PSD.of_order(2)),),
        np.full(2, -np.inf), np.full(2, np.inf), np.zeros(2, dtype=bool),
    )  # fmt: skip
    verdict = judged(form, Status.INFEASIBLE)
    assert verdict.status in (Status.INFEASIBLE, Status.INACCURATE) and "proved: " not in verdict.evidence
    rows = ScaledConeRows.of(form)
    assert rows is not None and rows.farkas()[1] is None


def test_a_ray_inside_a_cone_is_exact() -> None:
    """min -t over ||(x, y)|| ≤ t: (1, 0, 0) is a ray; (1, 1, 0), on the boundary, is not said to be one."""
    cone = Constraint("cone", sp.csr_array(np.eye(3)), np.zeros(3), SecondOrder(3))
    free = np.full(3, np.inf)
    form = StandardForm("up", (Block("x", (3,)),), np.array([-1.0, 0.0, 0.0]), (cone,), -free, free, np.zeros(3, dtype=bool))
    assert ray_is_exact(form, np.array([1.0, 0.0, 0.0])) and not ray_is_exact(form, np.array([1.0, 1.0, 0.0]))
    assert not ray_is_exact(form, np.array([1.0, 2.0, 0.0]))
    assert "proved: an exact ray" in judged(form, Status.UNBOUNDED).evidence
    assert RayEvidence.of(form, np.array([1.0, np.nan, 0.0])).proved is False


@pytest.mark.parametrize("cone", [SecondOrder(4, 3), RotatedSecondOrder(3, 3), PSD.of_order(3), Nonnegative(2), Zero(2)])
def test_a_ball_of_that_depth_is_in_the_cone(cone: Cone) -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        v = cone.interior_direction * rng.exponential() + rng.normal(size=cone.rows)
        depth = cone.depth(v)
        step = cone.by_cone(rng.normal(size=cone.rows))
        step = step / np.linalg.norm(step, axis=1)[:, None] * depth[:, None]
        inside = cone.by_cone(v + step.ravel())[depth > 0.0]
        same = type(cone)(cone.dim, inside.shape[0])
        assert not inside.size or same.violation(inside.ravel()) <= 1e-12 * np.abs(inside).max()
