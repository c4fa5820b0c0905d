"""`DeepNPSVC`: training, its trace, determinism, checkpoints, bad input."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from facts import about
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs

import marginopt as mo
from marginopt.errors import InputError

torch = pytest.importorskip("torch", reason="the deep part needs PyTorch")

CHEAP: dict[str, Any] = {"hidden": (16, 8), "epochs": 3, "batch_size": 32, "learning_rate": 1e-2}


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Batches this small gain nothing from threads, and lose much on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_blobs(n_samples=150, n_features=5, centers=3, cluster_std=1.5, random_state=0)
    return X, np.array(["a", "b", "c"])[y]


def weights(model: Any) -> dict[str, Any]:
    return {name: value.clone() for name, value in model.network_.state_dict().items()}


def same(first: dict[str, Any], second: dict[str, Any]) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("objective", ["chebyshev", "sum", "softmax"])
@pytest.mark.parametrize("orientation", ["one", "rest"])
def test_it_learns(blobs: tuple, objective: str, orientation: str) -> None:
    X, y = blobs
    model = mo.deep.DeepNPSVC(objective=objective, orientation=orientation, **{**CHEAP, "epochs": 8}).fit(X, y, validation=(X, y))
    assert model.score(X, y) > 0.9
    last = model.history_[-1]
    assert last["accuracy"] == last["validation_accuracy"] == pytest.approx(model.score(X, y))
    assert model.history_[-1]["largest"] < 0.7 * model.history_[0]["largest"]
    assert model.transform(X).shape == (150, 8)
    assert model.decision_function(X).shape == (150, 3)
    assert len(model.history_) == model.n_iter_ == 8
    for row in model.history_:
        assert sum(row["tau"]) == pytest.approx(1.0)
        assert row["largest"] == max(row["objectives"])
        assert row["dual"] <= row["largest"] * (1 + 1e-12)
        assert 0.0 <= row["pareto"] <= 1.0 + 1e-9
    assert (model.tau_ == 1 / 3).all() == (objective != "chebyshev")


def test_the_trace_is_the_objectives_definition(blobs: tuple) -> None:
    """The last row from F itself: (A.13) over all samples, and the smallest common gradient at z by another solver."""
    X, y = blobs
    model = mo.deep.DeepNPSVC(**CHEAP, c=2.0, hypothesis="learned", dtype="float64").fit(X, y)
    rows = (X - X.mean(axis=0)) / X.std(axis=0)
    network = model.network_
    phi = network.encoder(torch.as_tensor(rows))
    z = network.head.learned_features(phi).detach().requires_grad_(True)
    F = network.head.decision_values(phi, z)
    direct = torch.as_tensor(y[:, None] == model.classes_[None, :])
    J = torch.where(direct, 0.5 * F**2, 2.0 / 2 * 0.5 * torch.relu(1 - F) ** 2).mean(dim=0)
    assert model.objectives_ == pytest.approx(J.detach().numpy(), rel=1e-9)
    G = np.stack([torch.autograd.grad(J[k], z, retain_graph=True)[0].flatten().numpy() for k in range(3)])
    tau = mo.solve(mo.ParetoQP(G, np.zeros(3), 0.0), "clarabel").values["a"]
    assert model.pareto_ == pytest.approx(np.linalg.norm(tau @ G) / np.linalg.norm(G, axis=1).max(), rel=1e-3)


def test_gamma_and_the_step_are_cosine_annealed(blobs: tuple) -> None:
    model = mo.deep.DeepNPSVC(**{**CHEAP, "epochs": 4}, gamma=2.0, final_gamma=0.5, final_learning_rate=1e-4).fit(*blobs)
    wave = 0.5 * (1 + np.cos(np.pi * np.arange(4) / 4))
    assert [row["gamma"] for row in model.history_] == pytest.approx(0.5 + 1.5 * wave)
    assert [row["learning_rate"] for row in model.history_] == pytest.approx(1e-4 + (1e-2 - 1e-4) * wave)


def test_the_second_update_leaves_the_hyperplanes(blobs: tuple) -> None:
    """Lines 11 to 15 of Algorithm 2: W̃ stands still, θ_sh and τ move."""
    from marginopt.deep import Batches, ChebyshevLoss, MLPEncoder, NearObjectives, Network, NPSVCHead, Settings, Training

    X, y = blobs
    torch.manual_seed(0)
    network = Network(MLPEncoder(5, (6,)), NPSVCHead(6, 3, hidden=(4,)))
    loss = ChebyshevLoss(NearObjectives(3), 3)
    training = Training(network, loss, Settings(), torch.Generator())
    rows, numbers = torch.as_tensor(X, dtype=torch.float32), torch.as_tensor(np.unique(y, return_inverse=True)[1])
    before, tau = {name: value.clone() for name, value in network.state_dict().items()}, loss.tau.clone()
    training._update_shared(rows, numbers, 0.1)
    moved = {name for name, value in network.state_dict().items() if not torch.equal(before[name], value)}
    assert not any(name.startswith(("head.planes", "head.norm")) for name in moved)
    assert "encoder.layers.1.weight" in moved
    assert "head.mlp.0.weight" in moved
    assert not torch.equal(tau, loss.tau)
    training._update_all(rows, numbers)
    assert not torch.equal(before["head.planes.weight"], network.state_dict()["head.planes.weight"])
    assert len(list(Batches(rows[:65], numbers[:65], torch.device("cpu")).shuffled(64, torch.Generator()))) == 1


@pytest.mark.parametrize("hypothesis", ["skip", "learned", "encoder"])
def test_the_encoder_is_frozen_when_asked(blobs: tuple, hypothesis: str) -> None:
    torch.manual_seed(0)
    encoder = torch.nn.Sequential(torch.nn.Linear(5, 6), torch.nn.BatchNorm1d(6), torch.nn.ReLU())
    weights_before = {name: value.clone() for name, value in encoder.state_dict().items()}
    model = mo.deep.DeepNPSVC(encoder, **CHEAP, encoder_epochs=0, hypothesis=hypothesis).fit(*blobs)
    fitted = model.network_.encoder.state_dict()
    assert all(torch.equal(value, fitted[name]) for name, value in weights_before.items())
    free = mo.deep.DeepNPSVC(encoder, **CHEAP, encoder_epochs=2, hypothesis=hypothesis).fit(*blobs)
    assert not torch.equal(weights_before["0.weight"], free.network_.encoder.state_dict()["0.weight"])
    assert all(torch.equal(value, encoder.state_dict()[name]) for name, value in weights_before.items()), "the given module moved"


def test_the_same_seed_gives_the_same_weights_and_leaves_the_caller_s_state(blobs: tuple) -> None:
    before = torch.get_rng_state()
    first = mo.deep.DeepNPSVC(**CHEAP, random_state=3).fit(*blobs)
    second = clone(first).fit(*blobs)
    other = mo.deep.DeepNPSVC(**CHEAP, random_state=4).fit(*blobs)
    assert same(weights(first), weights(second))
    assert first.history_ == second.history_
    assert not same(weights(first), weights(other))
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("optimizer", ["adamw", "adam", "sgd"])
def test_a_broken_run_continues_as_if_unbroken(blobs: tuple, tmp_path: Path, optimizer: str) -> None:
    """Ctrl-C after the second of four epochs, then ``resume``: weights, τ and trace are those of the unbroken run, bit by bit."""
    settings = {**CHEAP, "epochs": np.int64(4), "c": np.float64(2.0), "optimizer": optimizer}
    settings["encoder_epochs"] = 1 if optimizer == "adam" else None

    def interrupt(row: dict[str, Any]) -> None:
        if row["epoch"] == 2:
            raise KeyboardInterrupt

    whole = mo.deep.DeepNPSVC(**settings).fit(*blobs)
    path = tmp_path / "run.pt"
    with pytest.raises(KeyboardInterrupt):
        mo.deep.DeepNPSVC(**settings, checkpoint=path, callback=interrupt).fit(*blobs)
    epochs: list[int] = []
    rest = mo.deep.DeepNPSVC(**settings, checkpoint=path, resume=True, callback=lambda row: epochs.append(row["epoch"])).fit(
        *blobs
    )
    assert epochs == [3, 4]
    assert same(weights(whole), weights(rest))
    assert whole.history_ == rest.history_
    assert (whole.tau_ == rest.tau_).all()
    assert list(tmp_path.iterdir()) == [path]


def test_a_finished_checkpoint_trains_no_further(blobs: tuple, tmp_path: Path) -> None:
    path = tmp_path / "run.pt"
    first = mo.deep.DeepNPSVC(**CHEAP, checkpoint=path, resume=True).fit(*blobs)  # no file yet: it starts
    calls: list[Any] = []
    again = mo.deep.DeepNPSVC(**CHEAP, checkpoint=path, resume=True, callback=lambda row: calls.append(row)).fit(*blobs)
    assert calls == []
    assert same(weights(first), weights(again))


def test_checkpoints_of_other_runs_are_refused(blobs: tuple, tmp_path: Path) -> None:
    X, y = blobs
    path = tmp_path / "run.pt"
    mo.deep.DeepNPSVC(**CHEAP, checkpoint=path).fit(X, y)
    for change, name in (
        ({"gamma": 3.0}, "checkpoint"),
        ({"epochs": 9}, "checkpoint"),
        ({"random_state": 5}, "checkpoint"),
    ):
        with pytest.raises(InputError, check=about(name)):
            mo.deep.DeepNPSVC(**{**CHEAP, **change}, checkpoint=path, resume=True).fit(X, y)
    with pytest.raises(InputError, check=about("checkpoint")):
        mo.deep.DeepNPSVC(**CHEAP, checkpoint=path, resume=True).fit(X + 1.0 * (X > 0), y)
    with pytest.raises(InputError, check=about("checkpoint")):
        mo.deep.DeepNPSVC(**{**CHEAP, "hidden": (9, 8)}, checkpoint=path, resume=True).fit(X, y)
    path.write_bytes(b"nothing")
    with pytest.raises(InputError, check=about("checkpoint")):
        mo.deep.DeepNPSVC(**CHEAP, checkpoint=path, resume=True).fit(X, y)
    with pytest.raises(InputError, check=about("checkpoint")):
        mo.deep.DeepNPSVC(**CHEAP, checkpoint=tmp_path / "no" / "run.pt").fit(X, y)
    with pytest.raises(InputError, check=about("checkpoint")):
        mo.deep.DeepNPSVC(**CHEAP, resume=True).fit(X, y)


def test_the_callback_stops_and_progress_shows(blobs: tuple, capsys: pytest.CaptureFixture[str]) -> None:
    model = mo.deep.DeepNPSVC(**CHEAP, progress=True, callback=lambda row: row["epoch"] == 2).fit(*blobs, validation=blobs)
    assert model.n_iter_ == 2
    assert model.predict(blobs[0]).shape == (150,)
    shown = capsys.readouterr()
    assert "epoch 2/3" in shown.err
    assert "validation" in shown.err
    assert shown.out == ""


def test_images_in_both_shapes(tmp_path: Path) -> None:
    """Rows of pixels with ``image_shape``, and an array of images, are one and the same problem; pickles predict alike."""
    X, y = load_digits(n_class=3, return_X_y=True)
    X, y = X[:120], y[:120]
    flat = mo.deep.DeepNPSVC("conv", image_shape=(8, 8), **{**CHEAP, "epochs": 2}).fit(X, y)
    images = mo.deep.DeepNPSVC("conv", **{**CHEAP, "epochs": 2}).fit(X.reshape(-1, 1, 8, 8), y)
    assert same(weights(flat), weights(images))
    assert (flat.predict(X) == images.predict(X.reshape(-1, 1, 8, 8))).all()
    loaded = pickle.loads(pickle.dumps(flat))
    assert (loaded.decision_function(X) == flat.decision_function(X)).all()
    with pytest.raises(InputError, check=about("X")):
        images.predict(X.reshape(-1, 1, 4, 16))


class Wrong(torch.nn.Module):
    """An encoder that forgets to flatten, or gives something else."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def forward(self, rows: Any) -> Any:
        """φ, of a wrong kind."""
        return {
            "images": rows[:, None, :],
            "one row": rows[:1],
            "tuple": (rows, rows),
            "nan": rows * float("nan"),
            "integers": rows.round().to(torch.int64),
        }[self.kind]


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"encoder": "resnet"}, "encoder"),
        ({"encoder": 3}, "encoder"),
        ({"encoder": lambda shape: shape}, "encoder"),
        ({"encoder": torch.nn.Linear(7, 3)}, "encoder"),
        ({"encoder": Wrong("images")}, "encoder"),
        ({"encoder": Wrong("one row")}, "encoder"),
        ({"encoder": Wrong("tuple")}, "encoder"),
        ({"encoder": Wrong("nan")}, "encoder"),
        ({"encoder": Wrong("integers")}, "encoder"),
        ({"encoder": "conv"}, "encoder"),
        ({"image_shape": (2, 3)}, "image_shape"),
        ({"image_shape": "square"}, "image_shape"),
        ({"objective": "max"}, "objective"),
        ({"device": "tpu"}, "device"),
        ({"device": "cpu:1"}, "device"),
        ({"device": "cuda:99"}, "device"),
        ({"dtype": "float16"}, "dtype"),
        ({"epochs": 0}, "epochs"),
        ({"batch_size": 1}, "batch_size"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"final_learning_rate": 1.0}, "final_learning_rate"),
        ({"optimizer": "lbfgs"}, "optimizer"),
        ({"gamma": -1.0}, "gamma"),
        ({"gamma": "auto"}, "gamma"),
        ({"hidden": 16}, "hidden"),
        ({"hidden": (16, 0)}, "hidden"),
        ({"dropout": "half"}, "dropout"),
        ({"encoder_epochs": 1.5}, "encoder_epochs"),
        ({"weights": [1.0, 1.0]}, "weights"),
        ({"simplex": "nobody"}, "nobody"),
        ({"callback": "stop"}, "callback"),
        ({"learning_rate": 1e30, "optimizer": "sgd", "final_learning_rate": 0.0}, "learning_rate"),
    ],
)
def test_bad_parameters_are_our_errors(blobs: tuple, settings: dict[str, Any], name: str) -> None:
    with pytest.raises(InputError, check=about(name)):
        mo.deep.DeepNPSVC(**{**CHEAP, **settings}).fit(*blobs)


def test_bad_data_are_our_errors(blobs: tuple) -> None:
    X, y = blobs
    hole = X.copy()
    hole[7, 2] = np.nan
    model = mo.deep.DeepNPSVC(**CHEAP)
    with pytest.raises(InputError, check=about("X")):
        model.fit(hole, y)
    with pytest.raises(InputError, check=about("y")):
        model.fit(X, np.zeros(len(X), dtype=int))
    with pytest.raises(InputError, check=about("y")):
        model.fit(X, np.where(np.arange(len(X)) == 4, "z", y))
    with pytest.raises(InputError, check=about("validation")):
        model.fit(X, y, validation=(X, np.full(len(X), "q")))
    model.fit(X, y)
    with pytest.raises(InputError, check=about("X")):
        model.predict(hole)


def test_nan_from_the_encoder_in_a_later_batch_is_our_error(blobs: tuple) -> None:
    """Not at the two samples that are tried first, but at one of a batch."""

    class Sometimes(torch.nn.Module):
        def forward(self, rows: Any) -> Any:
            return torch.log(rows - rows.min()) if len(rows) > 2 else rows

    with pytest.raises(InputError, check=about("batch")):
        mo.deep.DeepNPSVC(Sometimes(), **CHEAP).fit(*blobs)


def test_auto_takes_a_gpu_where_pytorch_sees_one(blobs: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    from marginopt.deep.estimator import resolve_device

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert resolve_device("auto").type == "cuda"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert resolve_device("auto").type == "cpu"
    assert mo.deep.DeepNPSVC(**{**CHEAP, "epochs": 1}).fit(*blobs).device_ == "cpu"


@pytest.mark.gpu
def test_a_gpu_trains_the_same_model(blobs: tuple) -> None:
    if not torch.cuda.is_available():
        pytest.skip("PyTorch sees no GPU here")
    X, y = blobs
    gpu = mo.deep.DeepNPSVC(**{**CHEAP, "epochs": 8}, device="cuda").fit(X, y)
    assert gpu.device_.startswith("cuda")
    assert gpu.score(X, y) > 0.9
    cpu = pickle.loads(pickle.dumps(gpu)).set_params(device="cpu")
    assert (cpu.predict(X) == gpu.predict(X)).mean() > 0.99


def test_scikit_learn_s_own_checks() -> None:
    from sklearn.utils.estimator_checks import check_estimator

    check_estimator(mo.deep.DeepNPSVC(**{**CHEAP, "hidden": (32, 16), "dtype": "float64"}), on_skip=None)


def test_the_published_training_is_that_of_the_paper(blobs: tuple) -> None:
    published = mo.deep.PUBLISHED_TRAINING
    model = mo.deep.DeepNPSVC(**{**CHEAP, **published, "batch_size": 32}).fit(*blobs)
    parameters = model.get_params()
    assert (parameters["optimizer"], parameters["momentum"], parameters["encoder_epochs"]) == ("sgd", 0.85, 10)
    assert parameters["weight_decay"] == published["weight_decay"] == 1e-4
    assert model.history_[-1]["accuracy"] > 1 / 3
    with pytest.raises(TypeError):
        published["momentum"] = 0.02
