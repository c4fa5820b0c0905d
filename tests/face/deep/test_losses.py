"""Objectives, τ-step and head of D-NPSVC++ against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from facts import about

import marginopt as mo
from marginopt.errors import InputError

torch = pytest.importorskip("torch", reason="the deep part needs PyTorch")
deep = mo.deep


@pytest.fixture
def batch() -> tuple[object, object]:
    """Values of three hyperplanes at eight samples, and their classes."""
    generator = torch.Generator().manual_seed(0)
    return torch.randn(8, 3, generator=generator, dtype=torch.float64), torch.tensor([0, 1, 2, 0, 1, 2, 0, 0])


@pytest.mark.parametrize("orientation", ["one", "rest"])
def test_the_objectives_are_those_of_a13(batch: tuple, orientation: str) -> None:
    F, y = batch
    c, s, K, n = 2.5, 0.8, 3, 8
    expected = np.zeros(K)
    for k in range(K):
        for i in range(n):
            f, direct = float(F[i, k]), int(y[i]) == k
            near, far = 0.5 * f * f, 0.5 * max(s - f, 0.0) ** 2
            if orientation == "one":
                expected[k] += near if direct else c / (K - 1) * far
            else:
                expected[k] += c * far if direct else near / (K - 1)
    J = deep.NearObjectives(K, c=c, margin=s, orientation=orientation)(F, y)
    assert J.numpy() == pytest.approx(expected / n, rel=1e-12)


def test_the_hinge_is_not_the_released_code_s_square() -> None:
    """[s - f]_+², not (s - f)²: beyond the margin costs nothing, the wrong side all the more."""
    objectives = deep.NearObjectives(2)
    assert objectives(torch.tensor([[0.0, 3.0]]), torch.tensor([0])).tolist() == [0.0, 0.0]
    assert objectives(torch.tensor([[0.0, -3.0]]), torch.tensor([0])).tolist() == [0.0, 8.0]


def test_softmax_objectives_add_up_to_the_cross_entropy(batch: tuple) -> None:
    F, y = batch
    J = deep.SoftmaxObjectives(3)(F, y)
    assert float(J.sum()) == pytest.approx(float(torch.nn.functional.cross_entropy(F, y)), rel=1e-12)
    assert (J > 0).all()


def test_margin_softmax_is_the_cross_entropy_of_logits_that_lead_by_the_margin(batch: tuple) -> None:
    F, y = batch
    less = F - 0.7 * torch.nn.functional.one_hot(y, 3).to(F.dtype)
    J = deep.SoftmaxObjectives(3, margin=0.7)(F, y)
    assert float(J.sum()) == pytest.approx(float(torch.nn.functional.cross_entropy(less, y)), rel=1e-12)
    assert (deep.SoftmaxObjectives(3)(F, y) <= J).all()


def test_the_nearest_hyperplane_is_measured_in_its_own_norm() -> None:
    F, norms = torch.tensor([[0.5, -0.4]]), torch.tensor([2.0, 1.0])
    assert deep.NearObjectives(2).scores(F, norms).argmax(dim=1).tolist() == [0]
    assert deep.NearObjectives(2, orientation="rest").scores(F, norms).argmax(dim=1).tolist() == [1]


@pytest.mark.parametrize("gamma", [0.0, 0.3])
def test_the_weights_solve_25(gamma: float) -> None:
    """Against the same program by Clarabel, from the gradients themselves."""
    rng = np.random.default_rng(1)
    gradients, J = rng.normal(size=(5, 40)), rng.random(5)
    tau = deep.common_weights(gradients @ gradients.T, J, gamma)
    reference = mo.solve(mo.ParetoQP(gradients, J, gamma), "clarabel").values["a"]
    assert tau.sum() == pytest.approx(1.0, abs=1e-12)
    assert tau == pytest.approx(reference, abs=1e-4)
    other = deep.common_weights(gradients @ gradients.T, J, gamma, "clarabel")
    assert other == pytest.approx(tau, abs=1e-4)


def test_without_gamma_every_objective_descends_and_else_the_point_is_stationary() -> None:
    """Theorem 2 on the Gram matrix: with τ*, <grad_l, Δ> ≤ -||Δ||²; opposite gradients leave no direction."""
    rng = np.random.default_rng(2)
    gradients = rng.normal(size=(4, 30))
    gram = gradients @ gradients.T
    tau = deep.common_weights(gram, np.zeros(4), 0.0)
    slopes = -(gram @ tau)
    assert (slopes <= slopes @ tau + 1e-4).all()
    assert float(tau @ gram @ tau) > 0.1
    opposite = np.array([[4.0, -2.0], [-2.0, 1.0]])
    assert deep.losses.stationarity(opposite) < 1e-6
    assert deep.losses.stationarity(gram) > 0.1


def test_gram_of_the_gradients_by_finite_differences() -> None:
    """Σ_i g_il'g_im of the objectives' derivatives at φ and z, and at z alone where the encoder stands still."""
    torch.manual_seed(3)
    head = deep.NPSVCHead(4, 3, hidden=(5,), dropout=0.0).double().eval()
    phi, y = torch.randn(6, 4, dtype=torch.float64), torch.tensor([0, 1, 2, 0, 1, 2])
    z = head.learned_features(phi).detach()
    objectives = deep.NearObjectives(3, c=2.0)
    for moves in (True, False):
        J, gram = deep.losses.gradient_gram(head, objectives, phi, z, y, moves_phi=moves)
        columns = []
        for which, start in (("phi", phi), ("z", z)):
            if which == "phi" and not moves:
                continue
            for i in range(6):
                for j in range(start.shape[1]):
                    sides = []
                    for sign in (1.0, -1.0):
                        moved = start.clone()
                        moved[i, j] += sign * 1e-6
                        pair = (moved, z) if which == "phi" else (phi, moved)
                        sides.append(objectives(head.decision_values(*pair), y).detach())
                    columns.append(6.0 * (sides[0] - sides[1]) / 2e-6)
        G = torch.stack(columns, dim=1)
        assert torch.allclose(gram, G @ G.T, rtol=1e-5, atol=1e-8)
        assert torch.allclose(J, objectives(head.decision_values(phi, z), y), rtol=1e-12)


def test_tau_moves_by_26_and_the_loss_is_its_combination(batch: tuple) -> None:
    F, y = batch
    loss = deep.ChebyshevLoss(deep.NearObjectives(3), 3, weights=[1.0, 2.0, 4.0], momentum=0.6)
    J = loss.objectives(F, y)
    assert float(loss(F, y)) == pytest.approx(float((J * torch.tensor([1.0, 2.0, 4.0]) / 3).sum()), rel=1e-12)
    gram = torch.diag(torch.tensor([1.0, 1.0, 1.0], dtype=torch.float64))
    loss.step_tau(gram, J, 0.0)
    best = np.array([16.0, 4.0, 1.0]) / 21.0  # min Σ (ϖ_l τ_l)² on the simplex
    assert loss.tau.numpy() == pytest.approx(0.6 * best + 0.4 / 3, abs=1e-5)
    uniform = deep.ChebyshevLoss(deep.NearObjectives(3), 3, combination="sum")
    uniform.step_tau(gram, J, 0.0)
    assert uniform.tau.tolist() == [1 / 3] * 3


def test_a_large_gamma_puts_the_weight_on_the_largest_objective() -> None:
    J = np.array([0.1, 0.5, 0.3])
    assert deep.common_weights(np.eye(3), J, 1e4) == pytest.approx([0.0, 1.0, 0.0], abs=1e-9)


@pytest.mark.parametrize(("hypothesis", "size"), [("skip", 4 + 6), ("learned", 6), ("encoder", 4)])
def test_the_hypothesis_and_its_ablations(hypothesis: str, size: int) -> None:
    torch.manual_seed(0)
    head = deep.NPSVCHead(4, 3, hidden=(7, 6), hypothesis=hypothesis).eval()
    phi = torch.randn(5, 4)
    z = head.learned_features(phi)
    joined = {"skip": torch.cat([phi, z], dim=1), "learned": z, "encoder": phi}[hypothesis]
    assert joined.shape == (5, size)
    expected = torch.nn.functional.layer_norm(joined, (size,)) @ head.planes.weight.T
    assert torch.allclose(head(phi), expected, atol=1e-6)
    assert torch.allclose(head.norms, head.planes.weight.norm(dim=1))
    assert (len(head.mlp) == 0) == (hypothesis == "encoder")


def test_a_frozen_encoder_keeps_its_statistics() -> None:
    encoder = deep.ConvEncoder((6, 6), channels=(3,), features=4)
    network = deep.Network(encoder, deep.NPSVCHead(4, 2, hidden=(3,)))
    network.train()
    network(torch.randn(8, 6, 6))
    network.freeze_encoder()
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    network.train()
    loss = network(torch.randn(8, 6, 6)).square().sum()
    loss.backward()
    assert not encoder.training
    assert network.head.training
    assert all(p.grad is None for p in encoder.parameters())
    assert all(torch.equal(before[name], value) for name, value in encoder.state_dict().items())


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: deep.NPSVCHead(4, 2, hypothesis="both"), "hypothesis"),
        (lambda: deep.NPSVCHead(4, 2, hidden=()), "hidden"),
        (lambda: deep.NPSVCHead(4, 2, dropout=1.0), "dropout"),
        (lambda: deep.NearObjectives(2, c=0.0), "c"),
        (lambda: deep.NearObjectives(2, margin=-1.0), "margin"),
        (lambda: deep.NearObjectives(2, orientation="all"), "orientation"),
        (lambda: deep.ChebyshevLoss(deep.NearObjectives(2), 2, weights=[1.0, 0.0]), "weights"),
        (lambda: deep.ChebyshevLoss(deep.NearObjectives(2), 2, weights=[1.0]), "weights"),
        (lambda: deep.ChebyshevLoss(deep.NearObjectives(2), 2, momentum=1.5), "momentum"),
        (lambda: deep.ChebyshevLoss(deep.NearObjectives(2), 2, combination="max"), "combination"),
        (lambda: deep.common_weights(np.full((2, 2), np.nan), np.zeros(2), 0.0), "learning_rate"),
        (lambda: deep.common_weights(np.eye(2), np.zeros(2), 0.0, "boxqp"), "boxqp"),
        (lambda: deep.ConvEncoder((3,)), "encoder"),
    ],
)
def test_bad_pieces_are_our_errors(make: object, name: str) -> None:
    with pytest.raises(InputError, check=about(name)):
        make()  # type: ignore[operator]


def test_nan_in_a_batch_is_our_error() -> None:
    loss = deep.ChebyshevLoss(deep.NearObjectives(2), 2)
    with pytest.raises(InputError, check=about("batch")):
        loss(torch.tensor([[0.0, float("nan")], [1.0, 1.0]]), torch.tensor([0, 1]))


def test_arcface_is_the_cross_entropy_of_the_widened_angle(batch: tuple) -> None:
    """(3) of Deng et al., sample by sample; every class's objective has its own samples, and they sum to it."""
    F, y = batch
    cosines = torch.tanh(F)
    m, s = 0.5, 64.0
    expected = np.zeros(3)
    for i, k in enumerate(y.tolist()):
        angle = np.arccos(cosines[i].numpy())
        logits = s * np.where(np.arange(3) == k, np.cos(angle + m), np.cos(angle))
        expected[k] -= (logits[k] - np.logaddexp.reduce(logits)) / 8
    assert deep.AngularObjectives(3)(cosines, y).numpy() == pytest.approx(expected, rel=1e-9)


def test_arcface_s_slope_is_finite_where_the_angle_is_zero() -> None:
    cosines = torch.tensor([[1.0, -1.0], [-1.0, 1.0]], requires_grad=True)
    deep.AngularObjectives(2)(cosines, torch.tensor([0, 0])).sum().backward()
    assert bool(torch.isfinite(cosines.grad).all())


@pytest.mark.parametrize("margin", [0.0, -1.0, 3.2, float("nan")])
def test_arcface_s_margin_is_an_angle(margin: float) -> None:
    with pytest.raises(InputError):
        deep.AngularObjectives(2, margin)


def test_an_angular_head_gives_cosines_whatever_the_lengths() -> None:
    torch.manual_seed(0)
    head = deep.NPSVCHead(5, 3, hidden=(4,), angular=True).double().eval()
    phi = torch.randn(7, 5, dtype=torch.float64)
    F = head(phi)
    assert float(F.detach().abs().max()) <= 1.0 + 1e-12
    with torch.no_grad():
        head.planes.weight.mul_(torch.tensor([[0.1], [3.0], [20.0]], dtype=torch.float64))
    assert head(phi).detach().numpy() == pytest.approx(F.detach().numpy(), rel=1e-12)


def test_the_classifier_learns_by_arcface() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 40)
    X = rng.normal(size=(120, 4)) + 3.0 * np.eye(4)[y]
    model = deep.DeepNPSVC(objective="arcface", margin=0.5, epochs=15, hidden=(16, 8), random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    with pytest.raises(InputError, check=about("margin")):
        deep.DeepNPSVC(objective="arcface", margin=4.0, epochs=1).fit(X, y)
