"""`DeepNPSVC`: D-NPSVC++ as a scikit-learn classifier over any encoder."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch
from sklearn.base import ClassifierMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..errors import InputError
from ..estimators.base import Estimator
from ..models.arrays import FloatArray
from ..models.formulations.nonparallel.class_labels import as_classes
from .checkpoint import Checkpoint, fingerprint, plain
from .encoders import Encoder, check_output, make_encoder
from .head import Hypothesis, Network, NPSVCHead
from .losses import ChebyshevLoss, NearObjectives, Objectives, SoftmaxObjectives
from .samples import Samples, check_finite, resolve_device
from .training import Batches, Callback, Settings, Training, seeded

__all__ = ["DeepNPSVC"]

_OBJECTIVES = ("chebyshev", "sum", "softmax", "margin-softmax")


class DeepNPSVC(ClassifierMixin, TransformerMixin, Estimator):  # type: ignore[misc]
    """D-NPSVC++: a hyperplane for each class over the features of a network that is trained with them, NPSVC++ (22)-(26).

    f_l(x) = w̃_l'·LN[φ(x); z(x)] with an encoder φ and z = MLP(φ). Algorithm 2: for every batch an update of everything at the
    current τ, then τ by (25), (26) with the hyperplanes frozen, and an update of the shared parameters. Prediction (21): the
    nearest hyperplane, |f_l(x)|/||w̃_l||; with ``orientation="rest"`` the farthest.

    Parameters
    ----------
    encoder : {"mlp", "conv"}, torch.nn.Module or callable
        φ: a small fully connected network, a small convolutional one for images, a module (copied, weights and all), or a
        function of a sample's shape that returns a module. φ of a batch is a matrix (batch, features).
    objective : {"chebyshev", "sum", "softmax", "margin-softmax"}
        The largest of the classes' objectives through its dual weights τ; their plain sum (deep TWSVM, A.15); cross-entropy, and
        the same with the own class's logit less ``margin``. All of them train the same network by the same updates.
    hypothesis : {"skip", "learned", "encoder"}
        (22), or one of its two parts: see `NPSVCHead`.
    hidden : sequence of int
        Widths of the MLP.
    dropout : float
        In the MLP.
    c, margin, orientation
        Of the classes' objectives: `NearObjectives`.
    weights : float or sequence of float
        ϖ_l of max_l ϖ_l J_l, in the order of the sorted labels.
    gamma, final_gamma : float
        γ of (25), cosine-annealed over the epochs: how much τ leans to the largest objective.
    momentum : float
        Share of the new τ in (26): 0.85 in the paper. A small share averages the weights over batches.
    simplex : str
        Solver of (25), any that reads `marginopt.ParetoQP`.
    epochs, batch_size, optimizer, learning_rate, final_learning_rate, weight_decay, shared_step, encoder_epochs
        See `marginopt.deep.Settings`.
    image_shape : sequence of int, optional
        Shape of a sample, (height, width) or (channels, height, width), where X has one row of pixels for each.
    standardise : bool
        Features to mean 0 and deviation 1; images by one mean and deviation for all pixels.
    dtype : {"float32", "float64"}
    device : str
        "auto" (a GPU where there is one), "cpu", "cuda", "cuda:1", ..
    random_state : int, RandomState or None
        On the CPU the same number gives the same weights; the caller's own random state is left as it is.
    checkpoint : str or Path, optional
        File that is replaced after every epoch.
    resume : bool
        Continue from ``checkpoint`` where that file exists: on the CPU the weights are those of an unbroken run.
        Parameters and data must be the same.
    progress : bool
        One line on standard error, rewritten in place.
    callback : callable, optional
        Called with every epoch's row of ``history_``; returning True stops.

    Attributes
    ----------
    classes_, n_features_in_
    network_ : Network
        ``encoder`` and ``head``; a torch.nn.Module in evaluation mode.
    history_ : list of dict
        For every epoch, on all training samples with dropout off: ``objectives`` J_l, ``largest`` max ϖ_l J_l, ``dual``
        Σ τ_l ϖ_l J_l, ``tau``, ``gamma``, ``learning_rate``, ``pareto`` (min over τ of ||Σ τ_l grad_l|| / max ||grad_l|| at the
        representations), ``accuracy``, and ``validation_accuracy``.
    objectives_, tau_ : ndarray (K,)
        At the end.
    pareto_ : float
    n_iter_ : int
        Epochs.
    device_ : str

    Raises
    ------
    InputError
        From `fit`: a parameter, the data, the encoder's output, or a loss that is not finite; says what is needed.
    """

    def __init__(
        self,
        encoder: Encoder = "mlp",
        *,
        objective: Literal["chebyshev", "sum", "softmax", "margin-softmax"] = "chebyshev",
        hypothesis: Hypothesis = "skip",
        hidden: Sequence[int] = (512, 128),
        dropout: float = 0.25,
        c: float = 1.0,
        margin: float = 1.0,
        orientation: Literal["one", "rest"] = "one",
        weights: float | Sequence[float] = 1.0,
        gamma: float = 0.1,
        final_gamma: float = 1e-3,
        momentum: float = 0.02,
        simplex: str = "smo",
        epochs: int = 50,
        batch_size: int = 64,
        optimizer: Literal["adam", "adamw", "sgd"] = "adamw",
        learning_rate: float = 3e-3,
        final_learning_rate: float = 1e-5,
        weight_decay: float = 1e-2,
        shared_step: bool = True,
        encoder_epochs: int | None = None,
        image_shape: Sequence[int] | None = None,
        standardise: bool = True,
        dtype: Literal["float32", "float64"] = "float32",
        device: str = "auto",
        random_state: Any = 0,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        progress: bool = False,
        callback: Callback | None = None,
    ) -> None:
        self.encoder = encoder
        self.objective = objective
        self.hypothesis = hypothesis
        self.hidden = hidden
        self.dropout = dropout
        self.c = c
        self.margin = margin
        self.orientation = orientation
        self.weights = weights
        self.gamma = gamma
        self.final_gamma = final_gamma
        self.momentum = momentum
        self.simplex = simplex
        self.epochs = epochs
        self.batch_size = batch_size
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.final_learning_rate = final_learning_rate
        self.weight_decay = weight_decay
        self.shared_step = shared_step
        self.encoder_epochs = encoder_epochs
        self.image_shape = image_shape
        self.standardise = standardise
        self.dtype = dtype
        self.device = device
        self.random_state = random_state
        self.checkpoint = checkpoint
        self.resume = resume
        self.progress = progress
        self.callback = callback

    def fit(self, X: Any, y: Any, *, validation: tuple[Any, Any] | None = None) -> Self:
        """Fit to n samples, X (n, p) or (n, ...) as the encoder takes them, and their labels.

        ``validation``: samples and labels whose accuracy the trace follows; they decide nothing.
        """
        X, y = self._checked(X, y)
        settings, device = self._settings(), resolve_device(self.device)
        labels = as_classes(np.asarray(y), len(X))
        self.classes_, numbers = np.unique(labels, return_inverse=True)
        self._samples = Samples.of(X, self.image_shape, self.standardise, self.dtype)
        data = Batches(self._samples.tensor(X), torch.as_tensor(numbers, dtype=torch.int64), device)
        held = None if validation is None else self._held(validation, device)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        with seeded(seed, device):
            training = self._training(data, settings, seed)
            keep = self._checkpoint(data, seed)
            if keep is not None and self.resume:
                keep.load(training, device)
            after = (lambda: None) if keep is None else (lambda: keep.save(training, device))
            training.run(data, held, progress=self.progress, after=after, callback=self.callback)
        self._finish(training, device)
        return self

    def _checked(self, X: Any, y: Any) -> tuple[Any, Any]:
        X, y = validate_data(
            self, X, y, dtype=[np.float64, np.float32], allow_nd=True, ensure_all_finite=False, ensure_min_samples=2
        )
        check_finite(X)
        check_classification_targets(y)
        if self.objective not in _OBJECTIVES:
            raise InputError(f"objective must be one of {', '.join(_OBJECTIVES)}; it is {self.objective!r}")
        if self.callback is not None and not callable(self.callback):
            raise InputError(f"callback must be a function of one row of the trace; it is a {type(self.callback).__name__}")
        if self.resume and self.checkpoint is None:
            raise InputError("resume=True needs the file to continue from: give checkpoint")
        return X, y

    def _settings(self) -> Settings:
        return Settings(
            epochs=self.epochs, batch_size=self.batch_size, optimizer=self.optimizer, learning_rate=self.learning_rate,
            final_learning_rate=self.final_learning_rate, weight_decay=self.weight_decay, gamma=self.gamma,
            final_gamma=self.final_gamma, shared_step=self.shared_step, encoder_epochs=self.encoder_epochs,
        )  # fmt: skip

    def _held(self, validation: tuple[Any, Any], device: torch.device) -> Batches:
        """The validation samples; a label that training never saw counts as a miss, so it is refused."""
        rows = self._rows(validation[0])
        labels = np.asarray(validation[1])
        if labels.shape != (rows.shape[0],) or not np.isin(labels, self.classes_).all():
            raise InputError(f"validation must be (X, y) with a label of training for each of its {rows.shape[0]} samples")
        return Batches(rows, torch.as_tensor(np.searchsorted(self.classes_, labels), dtype=torch.int64), device)

    def _objectives(self, K: int) -> Objectives:
        if self.objective in ("softmax", "margin-softmax"):
            return SoftmaxObjectives(K, self.margin if self.objective == "margin-softmax" else 0.0)
        return NearObjectives(K, c=self.c, margin=self.margin, orientation=self.orientation)

    def _training(self, data: Batches, settings: Settings, seed: int) -> Training:
        """Network, loss and optimiser on the device."""
        K = self.classes_.size
        encoder = make_encoder(self.encoder, tuple(data.rows.shape[1:])).to(data.rows.dtype)
        size = check_output(encoder, data.rows[:2])
        head = NPSVCHead(size, K, hidden=self.hidden, dropout=self.dropout, hypothesis=self.hypothesis)
        loss = ChebyshevLoss(
            self._objectives(K), K, combination="chebyshev" if self.objective == "chebyshev" else "sum",
            weights=self.weights, momentum=self.momentum, simplex=self.simplex,
        )  # fmt: skip
        network = Network(encoder, head.to(data.rows.dtype)).to(data.device)
        return Training(network, loss.to(data.device), settings, torch.Generator().manual_seed(seed))

    def _checkpoint(self, data: Batches, seed: int) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        own = ("objective", "hypothesis", "dropout", "c", "margin", "orientation", "momentum", "simplex", "dtype")
        identity = {name: plain(getattr(self, name)) for name in own}
        weights = np.asarray(self.weights, dtype=np.float64).tolist()
        return Checkpoint(self.checkpoint, {**identity, "weights": weights, "random_state": seed, "data": fingerprint(data)})

    def _finish(self, training: Training, device: torch.device) -> None:
        last = training.history[-1]
        self.network_ = training.network.eval()
        self._scores = training.loss.objectives
        self.history_, self.n_iter_ = training.history, training.epoch
        self.objectives_, self.tau_, self.pareto_ = np.array(last["objectives"]), np.array(last["tau"]), last["pareto"]
        self.device_ = str(device)

    def _rows(self, X: Any) -> torch.Tensor:
        X = validate_data(self, X, dtype=[np.float64, np.float32], allow_nd=True, ensure_all_finite=False, reset=False)
        check_finite(X)
        return self._samples.tensor(X)

    def _evaluate(self, X: Any, what: Literal["scores", "features"]) -> FloatArray:
        check_is_fitted(self)
        rows, device = self._rows(X), resolve_device(self.device)
        network = self.network_.to(device).eval()
        parts = []
        with torch.no_grad():
            for part in torch.split(rows, 512):
                phi, z = network.represent(part.to(device))
                if what == "scores":
                    z = self._scores.scores(network.head.values(phi, z), network.head.norms)
                parts.append(z.cpu())
        return np.asarray(torch.cat(parts).numpy())

    def decision_function(self, X: Any) -> FloatArray:
        """Scores (n × K), the largest wins: minus the distances of (21); for two classes the second's minus the first's (n,)."""
        scores = self._evaluate(X, "scores")
        return scores[:, 1] - scores[:, 0] if self.classes_.size == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The class of the nearest hyperplane (``orientation="rest"``: the farthest; softmax: the largest logit)."""
        decision = self.decision_function(X)
        return self.classes_[(decision > 0).astype(np.int64) if self.classes_.size == 2 else decision.argmax(axis=1)]

    def transform(self, X: Any) -> FloatArray:
        """The learned features z(x), n × hidden[-1]; φ(x) under the hypothesis "encoder"."""
        return self._evaluate(X, "features")

    def __getstate__(self) -> dict[str, Any]:
        """For pickling: the network on the CPU, so that a machine without a GPU can read it."""
        state: dict[str, Any] = super().__getstate__()
        if "network_" in state:
            state = {**state, "network_": copy.deepcopy(state["network_"]).cpu()}
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = [self.dtype]
        return tags
