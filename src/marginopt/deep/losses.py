"""Losses of deep nonparallel classifiers: an objective J_l for each class, and their combination by weights τ, NPSVC++ (25).

*NPSVC++* is Zhang, Lai, Zhou and Liang (2024), *NPSVC++: Nonparallel classifiers encounter representation learning*; numbers in
parentheses are its equations. Class l of K has the decision value f_l(x) = w̃_l'LN[φ(x); z(x)] (`NPSVCHead`); the
*representations* of a sample are the encoder's output φ and the learned features z. |B| is the number of samples in a batch.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Literal, TypeAlias, final

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import InputError, short_text
from ..models.arrays import FloatArray, as_positive, as_vector
from ..models.formulations.pareto import ParetoQP
from ..solvers.records import Options
from ..solvers.registry import SolverLike
from ..solvers.solve import solve_raw
from .head import NPSVCHead


def common_weights(gram: FloatArray, objectives: FloatArray, gamma: float, solver: SolverLike = "smo") -> FloatArray:
    """Return the weights τ that minimise ½τ'Qτ - γ Σ τ_l J_l over the unit simplex, NPSVC++ (25), as a `ParetoQP`.

    Parameters
    ----------
    gram : ndarray (K, K)
        Q_lm = <grad_l, grad_m>, the inner products of the objectives' gradients.
    objectives : ndarray (K,)
        J_l.
    gamma : float
        γ ≥ 0, the weight of the objectives' values; 0 gives the common descent direction of least norm (Theorem 2).
    solver : str
        Any solver that reads `ParetoQP`, the model of this quadratic program.

    Returns
    -------
    ndarray (K,)
        On the simplex to rounding.

    Raises
    ------
    InputError
        Values that are not finite, a solver that cannot read the problem.
    """
    if not (np.isfinite(gram).all() and np.isfinite(objectives).all()):
        raise InputError(
            "the τ-step needs finite gradients and objectives: lower learning_rate, or look at the encoder's output",
            name="learning_rate",
        )
    pareto = ParetoQP(_rows(gram), objectives, gamma)
    answer = solve_raw(solver, pareto, Options(tol=1e-6))
    tau = np.maximum(dict(answer.values or {})["a"], 0.0)
    return np.asarray(tau / tau.sum())


def stationarity(gram: FloatArray, solver: SolverLike = "smo") -> float:
    """Return min over τ of ||Σ τ_l grad_l|| / max ||grad_l|| from the gradients' Gram matrix; 0 exactly if Pareto stationary."""
    largest = float(np.diagonal(gram).max())
    if largest <= 0.0:
        return 0.0
    tau = common_weights(gram, np.zeros(gram.shape[0]), 0.0, solver)
    return float(np.sqrt(max(float(tau @ gram @ tau), 0.0) / largest))


def _rows(gram: FloatArray) -> FloatArray:
    """Return K vectors with these inner products, in place of gradients of any size, so that nothing larger leaves the device."""
    values, vectors = np.linalg.eigh(0.5 * (gram + gram.T))
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


#: How the objectives are weighted: by τ of (25) and (26), or uniformly.
_Combination: TypeAlias = Literal["chebyshev", "sum"]


class Objectives(nn.Module, ABC):
    """The interface of losses with one objective J_l for each of K classes, and of the scores that predict the class."""

    @abstractmethod
    def forward(self, F: Tensor, y: Tensor) -> Tensor:
        """Return J of a batch, (K,), means over the samples, from F (batch, K), the values f_l, and class numbers y (batch,)."""

    @abstractmethod
    def scores(self, F: Tensor, norms: Tensor) -> Tensor:
        """Return the score of each class (batch, K), the largest wins, from F (batch, K) and ``norms``, the ||w̃_l|| (K,)."""


@final
class NearObjectives(Objectives):
    """The objectives of nonparallel hyperplanes, NPSVC++ (A.13) and line 8 of Algorithm 2.

    They are J_l = (1/|B|)(Σ_{y_i=l} ½f_l(x_i)² + c/(K-1) Σ_{y_i≠l} ½[s - f_l(x_i)]_+²).
    With ``orientation="rest"`` the hyperplane is near the other classes' points, and c weighs class l's:
    J_l = (1/|B|)(1/(K-1) Σ_{y_i≠l} ½f_l² + c Σ_{y_i=l} ½[s - f_l]_+²). Both classify by |f_l|/||w̃_l||, (21).

    **Erratum of the released code**: it takes |s - f| before the hinge, which leaves (s - f)²; the hinge here is as printed.

    Parameters
    ----------
    classes : int
        K.
    c : float
        > 0, the weight of the hinge terms.
    margin : float
        s > 0, the value of f_l from which a point's hinge term is zero.
    orientation : {"one", "rest"}
        The points near hyperplane l: those of class l, or those of all other classes.

    Raises
    ------
    InputError
        A parameter out of range.
    """

    def __init__(self, classes: int, *, c: float = 1.0, margin: float = 1.0, orientation: Literal["one", "rest"] = "one") -> None:
        super().__init__()
        if orientation not in ("one", "rest"):
            raise InputError(f"orientation must be 'one' or 'rest'; it is {short_text(orientation)}", name="orientation")
        self.classes, self.orientation = classes, orientation
        self.c, self.margin = as_positive(c, "c"), as_positive(margin, "margin")

    def forward(self, F: Tensor, y: Tensor) -> Tensor:
        """Return J of a batch, (K,)."""
        own_class = torch.nn.functional.one_hot(y, self.classes).bool()
        near_loss = 0.5 * F.square()
        far_loss = 0.5 * self.c * torch.relu(self.margin - F).square()
        other_weight = 1.0 / (self.classes - 1)
        losses = (
            torch.where(own_class, near_loss, other_weight * far_loss)
            if self.orientation == "one"
            else torch.where(own_class, far_loss, other_weight * near_loss)
        )
        return losses.mean(dim=0)

    def scores(self, F: Tensor, norms: Tensor) -> Tensor:
        """Return -|f_l|/||w̃_l||, or |f_l|/||w̃_l|| with ``orientation="rest"``, (21)."""
        distance = F.abs() / norms.clamp_min(torch.finfo(F.dtype).tiny)
        return -distance if self.orientation == "one" else distance


@final
class SoftmaxObjectives(Objectives):
    """Softmax objectives J_l = -(1/|B|) Σ_{y_i=l} log softmax(f(x_i) - s e_l)_l, e_l the l-th unit vector.

    If s = 0, their sum is the cross-entropy. If s > 0 the own class's logit must lead by s: a margin softmax, additive on logits
    that are not normalised.
    `AngularObjectives` has ArcFace's margin, in the angle between normalised vectors.

    Parameters
    ----------
    classes : int
        K.
    margin : float
        s ≥ 0, by which the own class's logit must lead.
    """

    def __init__(self, classes: int, margin: float = 0.0) -> None:
        super().__init__()
        self.classes, self.margin = classes, as_positive(margin, "margin", zero=True)

    def forward(self, F: Tensor, y: Tensor) -> Tensor:
        """Return J of a batch, (K,)."""
        own_class = torch.nn.functional.one_hot(y, self.classes).to(F.dtype)
        return -(own_class * torch.log_softmax(F - self.margin * own_class, dim=1)).mean(dim=0)

    def scores(self, F: Tensor, norms: Tensor) -> Tensor:
        """Return the logits F."""
        return F


@final
class AngularObjectives(Objectives):
    """ArcFace's objectives, one for each class: J_l = -(1/|B|) Σ_{y_i=l} log softmax_j(s cos(θ_ij + m [j = l]))_l.

    θ_ij is the angle between LN[φ(x_i); z(x_i)] and w̃_j, whose cosine `NPSVCHead` gives with ``angular=True``. The sum of the
    J_l is (3) of Deng, Guo, Xue, Zafeiriou, *ArcFace*, CVPR 2019, without a correction where θ + m exceeds π.

    Parameters
    ----------
    classes : int
        K.
    margin : float
        m in (0, π), the angle added for the own class; 0.5 in the source.
    scale : float
        s > 0, the factor of the cosines; 64 in the source.

    Raises
    ------
    InputError
        A parameter out of range.
    """

    def __init__(self, classes: int, margin: float = 0.5, scale: float = 64.0) -> None:
        super().__init__()
        self.classes, self.margin, self.scale = classes, as_positive(margin, "margin"), as_positive(scale, "scale")
        if self.margin >= math.pi:
            raise InputError(
                f"margin is an angle in (0, π) for this objective; it is {short_text(margin)}: 0.5 is the published one",
                name="margin",
            )

    def forward(self, F: Tensor, y: Tensor) -> Tensor:
        """Return J of a batch, (K,), for cosines F."""
        own_class = torch.nn.functional.one_hot(y, self.classes).to(F.dtype)
        near_one = 1.0 - 4.0 * torch.finfo(F.dtype).eps  # the angle has no slope at ±1
        angle = torch.acos(F.clamp(-near_one, near_one))
        logits = self.scale * torch.cos(angle + self.margin * own_class)
        return -(own_class * torch.log_softmax(logits, dim=1)).mean(dim=0)

    def scores(self, F: Tensor, norms: Tensor) -> Tensor:
        """Return the cosines: the class of the least angle wins."""
        return F


def gradient_gram(
    head: NPSVCHead, objectives: Objectives, phi: Tensor, z: Tensor, y: Tensor, *, moves_phi: bool
) -> tuple[Tensor, Tensor]:
    """Return J (K,), and the Gram matrix (K, K) of the objectives' gradients in the representations of a batch.

    The gradients are each sample's own, g_il = |B| ∂J_l/∂(representation of x_i), and the Gram matrix here is Σ_i g_il'g_im.
    Divided by |B| it is that of (25) in the mean-square metric: then τ* for a γ does not depend on the batch's size. With
    the plain norm of (25) the first term would shrink as 1/|B|. **Erratum of the released code**: it sums the squares of
    the samples' own gradients and takes the losses as means, so that its γ is γ/|B|² in (25) and γ/|B| here.

    Parameters
    ----------
    head : NPSVCHead
        The head that computes f from φ and z.
    objectives : Objectives
        The objectives J_l.
    phi, z : Tensor
        Encoder output (batch, features) and learned features (batch, hidden[-1]).
    y : Tensor (batch,)
        Class numbers.
    moves_phi : bool
        Whether the encoder is trained. Then the shared parameters act through φ as well, and the bound (24) on the gradient in
        them holds only with ∂J_l/∂φ included.
    """
    phi, z = phi.detach(), z.detach()
    inputs = [phi, z] if head.hypothesis == "skip" and moves_phi else [z]
    with torch.enable_grad():
        for leaf in inputs:
            leaf.requires_grad_(True)
        J = objectives(head.decision_values(phi, z), y)
        unit = torch.eye(J.numel(), dtype=J.dtype, device=J.device)
        parts = torch.autograd.grad(J, inputs, grad_outputs=unit, is_grads_batched=True)
    gram = torch.zeros_like(unit)
    for part in parts:
        flat = part.flatten(start_dim=1) * float(y.numel())
        gram = gram + flat @ flat.T
    return J.detach(), gram.double()


@final
class ChebyshevLoss(nn.Module):
    """The loss Σ τ_l ϖ_l J_l, dual (9) to max_l ϖ_l J_l; `step_tau` updates τ by (25) and (26), or τ is uniform ("sum").

    τ uniform is the sum of objectives of deep TWSVM (A.15), 1/K Σ ϖ_l J_l.

    Parameters
    ----------
    objectives : Objectives
        The objectives J_l.
    classes : int
        K.
    combination : {"chebyshev", "sum"}
        How the objectives are weighted: by τ of (25) and (26), or uniformly.
    weights : float or sequence of float
        ϖ_l > 0, the importance of class l; one number for all classes or one for each.
    momentum : float
        Share of the new τ in (26), in (0, 1]: β of (26); .85 in the paper.
    simplex : str
        Solver of (25).

    Attributes
    ----------
    tau : Tensor (K,)
        The weights τ, in float64; part of ``state_dict``.

    Raises
    ------
    InputError
        A parameter out of range.
    """

    tau: Tensor
    weights: Tensor

    def __init__(
        self,
        objectives: Objectives,
        classes: int,
        *,
        combination: _Combination = "chebyshev",
        weights: float | Sequence[float] = 1.0,
        momentum: float = 0.02,
        simplex: str = "smo",
    ) -> None:
        super().__init__()
        if combination not in ("chebyshev", "sum"):
            raise InputError(f"combination must be 'chebyshev' or 'sum'; it is {short_text(combination)}", name="combination")
        if not 0.0 < as_positive(momentum, "momentum") <= 1.0:
            raise InputError(
                f"momentum, the share of the new τ, must be in (0, 1]; it is {short_text(momentum)}", name="momentum"
            )
        values = np.full(classes, weights) if np.ndim(weights) == 0 else as_vector(weights, classes, "weights")
        if not (values > 0).all():
            raise InputError(f"weights must be > 0; the least is {values.min():g}", name="weights")
        self.objectives, self.combination, self.simplex = objectives, combination, simplex
        self.momentum = float(momentum)
        self.register_buffer("weights", torch.as_tensor(np.array(values, dtype=np.float64)))
        self.register_buffer("tau", torch.full((classes,), 1.0 / classes, dtype=torch.float64))

    def forward(self, F: Tensor, y: Tensor) -> Tensor:
        """Return Σ τ_l ϖ_l J_l of a batch.

        Raises
        ------
        InputError
            The value is not finite: NaN in the batch, or a step that diverged.
        """
        value = (self.tau * self.weights).to(F.dtype) @ self.objectives(F, y)
        if not bool(torch.isfinite(value)):
            reason = "the network's output holds NaN or infinity" if not bool(torch.isfinite(F).all()) else "it overflowed"
            raise InputError(
                f"the loss is {float(value.detach())} ({reason}): look for NaN in the batch, or lower learning_rate", name="batch"
            )
        return value

    def step_tau(self, gram: Tensor, J: Tensor, gamma: float) -> None:
        """Set τ to βτ* + (1 - β)τ, (26), with β = ``momentum`` and τ* of (25) for the Gram matrix; keep a uniform τ ("sum")."""
        if self.combination == "sum":
            return
        share = self.weights
        Q = (gram * share[:, None] * share[None, :]).cpu().numpy()
        best = common_weights(Q, (J.double() * share).cpu().numpy(), gamma, self.simplex)
        new = torch.as_tensor(best, dtype=self.tau.dtype, device=self.tau.device)
        self.tau.copy_(self.momentum * new + (1.0 - self.momentum) * self.tau)
