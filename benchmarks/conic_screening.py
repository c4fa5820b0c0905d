"""Safe screening for the conic SVM: the number of z that the gap-ball rule proves to be 0 after each solve along λ and κ.

    python benchmarks/conic_screening.py [--cells 200x3 500x10] [--sigma .2 .5 1]

For dual feasible (γ, v) with S = I - Σγ_i a_i a_i' ≻ 0, value D and w_D = ½S⁻¹Σ(v_i - 2γ_i)a_i, every point (w, V) of Conic (21)
has objective ≥ D + (w - w_D)'S(w - w_D). An optimal w therefore has objective ≤ U, the best known, only inside that ellipsoid of
radius² U - D, and u_i > 1 (z_i = 0) is certain where

    a_i'w_D > 1   and   D + (a_i'w_D - 1)²/(a_i'S⁻¹a_i) > U.

Tried for (γ, v) at the solution and for (1 - ε)(γ, v), ε from 1e-8 to 1: the best of all, more than a solver could pay for.
"""

from __future__ import annotations

import argparse

import numpy as np
from conic import points

from marginopt.models.conic_bound import dual_value
from marginopt.models.views import ConicProblem
from marginopt.solvers.conic import ConicPathPoint, conic_path

#: Values of ε, by which the multipliers are scaled.
EPSILONS = np.r_[0.0, np.logspace(-8, 0, 33)[:-1]]


def certain_zeros(problem: ConicProblem, upper: float, point: ConicPathPoint) -> np.ndarray:
    """Return the mask (n,) of the points whose z is proved to be 0 at an optimum of at most ``upper``."""
    assert point.bound is not None
    A, p = problem.A, problem.A.shape[1]
    certain = np.zeros(A.shape[0], dtype=bool)
    for rest in 1.0 - EPSILONS:
        gamma, v, mu = rest * point.bound.gamma, rest * point.bound.v, rest * point.bound.mu
        value = dual_value(problem, gamma, v, None if problem.kappa is None else mu)
        if not np.isfinite(value):
            continue
        S = np.eye(p) - (A * gamma[:, None]).T @ A
        beyond = A @ (0.5 * np.linalg.solve(S, A.T @ (v - 2.0 * gamma))) - 1.0
        spread = np.einsum("ij,ij->i", A, np.linalg.solve(S, A.T).T)
        certain |= (beyond > 0.0) & (value + beyond**2 / spread > upper)
    return certain


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", nargs="+", default=["100x3", "200x5", "500x10", "1000x30"])
    parser.add_argument("--sigma", nargs="+", type=float, default=[0.05, 0.2, 0.5, 1.0])
    parser.add_argument("--clean", action="store_true", help="without outliers")
    arguments = parser.parse_args()
    print("| n x p | σ | form | z = 0 at the optimum, % | fixed, % | rank V | ||V||/||w||² |\n|---|---|---|---|---|---|---|")
    for cell in arguments.cells:
        for sigma in arguments.sigma:
            n, p = (int(part) for part in cell.split("x"))
            A = points(n, p, np.random.default_rng(0), sigma)
            A = A[: 2 * int(0.45 * n)] if arguments.clean else A
            forms = {"kappas": [0.02, 0.05, 0.1, 0.15, 0.2, 0.4], "lams": [1e-2, 0.1, 1.0, 10.0, 100.0, 1e3]}
            for form, values in forms.items():
                zero, certain, rank, size = [], [], [], []
                for value, point in zip(
                    values, conic_path(ConicProblem(A, 1.0, None), tolerance=1e-9, **{form: values}), strict=True
                ):
                    assert point.point is not None
                    problem = ConicProblem(A, *((None, value) if form == "kappas" else (value, None)))
                    w = point.point.values["w"]
                    spectrum = np.linalg.eigvalsh(point.point.values["W"] - np.outer(w, w))
                    zero.append(100.0 * float((A @ w > 1.0).mean()))
                    certain.append(100.0 * float(certain_zeros(problem, point.point.objective, point).mean()))
                    rank.append(int((spectrum > 1e-5 * float(w @ w)).sum()))
                    size.append(spectrum[-1] / float(w @ w))
                shown = f"{min(zero):.0f}-{max(zero):.0f} | {min(certain):.1f}-{max(certain):.1f} | {min(rank)}-{max(rank)}"
                print(f"| {cell} | {sigma:g} | {form} | {shown} | {min(size):.1e}-{max(size):.1e} |", flush=True)


if __name__ == "__main__":
    main()
