"""Kernels with differentiable parameters, and MaxMinSVM moving any of them by the envelope argument."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from data import alternating
from facts import about

import marginopt.solvers as solvers
from marginopt.errors import InputError
from marginopt.models import RBF, Kernel, Laplacian, Linear, MaxMinSVM, Mixture, Polynomial, RationalQuadratic
from marginopt.models.kernels.kernels import ParameterRange
from marginopt.solvers import Status

KERNELS = [
    RBF(0.3),
    Laplacian(0.4),
    RationalQuadratic(0.3, 1.7),
    Polynomial(3, 0.2, 1.5),
    Polynomial(1, 0.2, 1.5),
    Mixture(RBF(0.05), RBF(2.0), 0.3),
    Mixture(Mixture(RBF(0.05), Laplacian(0.5), 0.4), Polynomial(2, 0.1, 1.0), 0.25),
]
CASES = [(kernel, name) for kernel in KERNELS for name in kernel.parameters]


def data(seed=0, m=30):
    return alternating(seed, m)


@pytest.mark.parametrize(("kernel", "name"), CASES, ids=str)
def test_derivative_is_the_difference_quotient(kernel, name):
    X, _ = data()
    Z = X[:7] + 0.3
    here, h = kernel.parameter_value(name), 1e-5
    quotient = (kernel.with_parameter(name, here + h).matrix(X, Z) - kernel.with_parameter(name, here - h).matrix(X, Z)) / (2 * h)
    np.testing.assert_allclose(kernel.derivative(name, X, Z), quotient, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(kernel.derivative(name, sp.csr_array(X), Z), kernel.derivative(name, X, Z), atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_new_kernels_are_kernels(kernel):
    X, _ = data()
    K = kernel.matrix(X, X)
    np.testing.assert_allclose(K, K.T, atol=1e-12)
    np.testing.assert_allclose(np.diagonal(K), kernel.diagonal(X), rtol=1e-12)
    assert np.linalg.eigvalsh(K)[0] >= -1e-10 * np.trace(K)
    assert kernel.constant_diagonal == (np.ptp(kernel.diagonal(X)) == 0)
    assert "k(x,z) = " in str(kernel)
    assert kernel.latex.startswith("k(x,z) = ")


def test_entries_of_the_new_kernels():
    x, z = np.array([[1.0, 2.0]]), np.array([[0.5, -1.0]])
    assert Laplacian(0.4).matrix(x, z)[0, 0] == pytest.approx(np.exp(-0.4 * 3.5))
    assert RationalQuadratic(0.3, 2.0).matrix(x, z)[0, 0] == pytest.approx((1 + 0.3 * 9.25 / 2.0) ** -2.0)
    assert RationalQuadratic(0.3, 1e8).matrix(x, z)[0, 0] == pytest.approx(RBF(0.3).matrix(x, z)[0, 0], rel=1e-6)
    both = 0.75 * RBF(0.1).matrix(x, z) + 0.25 * Linear().matrix(x, z)
    assert Mixture(RBF(0.1), Linear(), 0.25).matrix(x, z) == pytest.approx(both)


@pytest.mark.parametrize(("kernel", "name"), [case for case in CASES if case[0] is not KERNELS[0]], ids=str)
def test_envelope_derivative_is_that_of_the_optimal_value(kernel, name):
    X, y = data()
    problem = MaxMinSVM(X, y, kernel=kernel, parameter=name, lower=1e-3, upper=1.0 if "weight" in name else 100.0).problem

    def optimum(value):
        result = solvers.solve(problem.inner_problem(np.array([value])), "smo", tol=1e-12)
        return result.objective, result.values["a"]

    here, h = kernel.parameter_value(name), 1e-4
    value, a = optimum(here)
    assert problem.value(a, np.array([here])) == pytest.approx(value, rel=1e-10)
    quotient = (optimum(here + h)[0] - optimum(here - h)[0]) / (2 * h)
    assert problem.derivative(a, np.array([here]))[0] == pytest.approx(quotient, rel=1e-4, abs=1e-8)


@pytest.mark.parametrize(
    ("kernel", "parameter", "limits"),
    [
        (Laplacian(0.01), "gamma", {}),
        (Laplacian(0.01), "log-gamma", {}),
        (RationalQuadratic(0.01, 1.0), "log-gamma", {}),
        (RationalQuadratic(0.2, 1.0), "log-alpha", {"lower": 1e-2, "upper": 100.0}),
        (Mixture(RBF(0.02), RBF(2.0), 0.1), "weight", {}),
        (Mixture(RBF(1e-3), RBF(2.0), 0.5), "log-first.gamma", {"lower": 1e-4, "upper": 10.0}),
        (Mixture(RBF(0.1), Polynomial(2, 0.1), 0.5), "weight", {}),
        (Polynomial(2, 0.1, 1.0), "coef0", {"upper": 5.0}),
    ],
    ids=str,
)
def test_the_ascent_ends_at_the_largest_value_of_a_scan(kernel, parameter, limits):
    X, y = data(1, 40)
    model = MaxMinSVM(X, y, kernel=kernel, parameter=parameter, **limits)
    result = solvers.solve(model, "maxmin")
    name = parameter.removeprefix("log-")
    computed = result.details[name]
    lower, upper = model.problem.lower, model.problem.upper
    scan = np.linspace(lower, upper, 15) if lower == 0 else np.geomspace(lower, upper, 15)
    best = max(solvers.solve(model.at(value), "smo", tol=1e-8).objective for value in scan)
    assert result.status is Status.STATIONARY
    assert lower <= computed <= upper
    assert result.objective >= best * (1 - 1e-4)
    assert result.details["stationarity"] <= 1e-3
    assert result.details["models_trained"] <= 25
    again = solvers.solve(model.at(computed), "clarabel").objective
    assert result.objective == pytest.approx(again, rel=1e-5)


def test_the_gaussian_kernel_given_or_not_is_the_same():
    X, y = data(2)
    plain = solvers.solve(MaxMinSVM(X, y), "maxmin")
    result = solvers.solve(MaxMinSVM(X, y, kernel=RBF(0.004)), "maxmin")
    assert result.details["gamma"] == plain.details["gamma"]
    with_start = MaxMinSVM(X, y, kernel=RBF(0.1))
    assert with_start.problem.gamma0[0] == 0.1


def test_a_users_kernel_declares_its_own_parameter():
    class Cosine(Kernel):
        name = "cosine"

        def __init__(self, shift):
            object.__setattr__(self, "shift", shift)

        @property
        def parameters(self):
            return {"shift": ParameterRange(0.0, 4.0)}

        def with_parameter(self, parameter, value):
            return Cosine(value)

        def matrix(self, X, Z):
            scaled = [np.asarray(P) / np.linalg.norm(P, axis=1, keepdims=True) for P in (X, Z)]
            return scaled[0] @ scaled[1].T * self.shift + 1.0

        def derivative(self, parameter, X, Z):
            return self.matrix(X, Z) / self.shift - 1.0 / self.shift if self.shift else Cosine(1.0).matrix(X, Z) - 1.0

        def diagonal(self, X):
            return np.full(X.shape[0], self.shift + 1.0)

        latex = "k(x,z) = 1 + s\\cos"

    X, y = data(3)
    result = solvers.solve(MaxMinSVM(X, y, kernel=Cosine(1.0), parameter="shift"), "maxmin")
    assert result.details["shift"] == pytest.approx(4.0)  # grows with the scale of the kernel: the end of the range
    assert result.status is Status.STATIONARY


def test_what_cannot_be_moved_is_refused():
    X, y = data()
    with pytest.raises(InputError, check=about("parameter")):
        MaxMinSVM(X, y, parameter="alpha")
    with pytest.raises(InputError, check=about("parameter")):
        MaxMinSVM(X, y, kernel=Linear())
    with pytest.raises(InputError, check=about("parameter")):
        Linear().derivative("gamma", X, X)
    with pytest.raises(InputError, check=about("parameter")):
        MaxMinSVM(X, y, kernel=Laplacian(1.0), parameter="per-feature")
    with pytest.raises(InputError, check=about("lower")):
        MaxMinSVM(X, y, kernel=Polynomial(2, 0.1, 1.0), parameter="coef0")  # an upper end must be given
    with pytest.raises(InputError, check=about("lower")):
        MaxMinSVM(X, y, kernel=Mixture(RBF(0.1), RBF(1.0)), parameter="weight", upper=2.0)
    with pytest.raises(InputError, check=about("lower")):
        MaxMinSVM(X, y, kernel=Mixture(RBF(0.1), RBF(1.0)), parameter="log-weight")
    with pytest.raises(InputError, check=about("gamma0")):
        MaxMinSVM(X, y, kernel=RationalQuadratic(0.1, 1.0), parameter="alpha", lower=2.0, upper=3.0)
    with pytest.raises(InputError, check=about("kernels")):
        Mixture(RBF(0.1), 3.0)
    with pytest.raises(InputError, check=about("weight")):
        Mixture(RBF(0.1), RBF(1.0), 1.5)


def test_the_statement_names_what_is_moved():
    X, y = data()
    statement = MaxMinSVM(X, y, kernel=Mixture(RBF(0.1), RBF(1.0)), parameter="weight").statement
    assert any("weight" in line.text for line in statement.constraints)
