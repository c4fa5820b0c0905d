"""`DeepNPSVC`: the deep nonparallel classifier D-NPSVC++ as a scikit-learn estimator, with checkpoints of its training.

*NPSVC++* is Zhang, Lai, Zhou and Liang (2024), *NPSVC++: Nonparallel classifiers encounter representation learning*; numbers in
parentheses are its equations. (25) is the step min ½τ'Qτ - γ Σ τ_l J_l over weights τ of the unit simplex, with the inner
products Q of the gradients of the classes' objectives J_l; (26) is the average τ ← βτ* + (1 - β)τ with its solution τ*.
"""

from __future__ import annotations

import copy
import hashlib
import math
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Self, final

import numpy as np
import torch
from sklearn.base import ClassifierMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor

from ..errors import InputError, WriteError, short_text
from ..estimators.base import Estimator
from ..files import atomic_file
from ..models.arrays import FloatArray, as_classes
from ..models.model import decided_codes
from .head import Encoder, Hypothesis, Network, NPSVCHead, encoder_output_size, make_encoder
from .losses import AngularObjectives, ChebyshevLoss, NearObjectives, Objectives, SoftmaxObjectives
from .training import Batches, Callback, Settings, Training, seeded_generators

#: Version of the layout of checkpoints.
_FORMAT = 1


def fingerprint(data: Batches) -> str:
    """Return the SHA-256 of the samples and their classes as tensors, by which a checkpoint identifies its data."""
    digest = hashlib.sha256(repr((tuple(data.rows.shape), str(data.rows.dtype))).encode())
    for tensor in (data.rows, data.y):
        digest.update(tensor.contiguous().numpy().tobytes())
    return digest.hexdigest()


@final
class Checkpoint:
    """The file that stores the state of a training after every epoch: weights, optimiser, τ, random generators, history.

    Parameters
    ----------
    path : str or Path
        The file, which is replaced at each save.
    identity : dict
        The parameters, by name, that a run must share with the file to continue from it.
    """

    def __init__(self, path: str | Path, identity: dict[str, Any]) -> None:
        self.path = Path(path)
        if not self.path.parent.is_dir():
            raise InputError(
                f"checkpoint: the folder {short_text(str(self.path.parent))} does not exist; make it first", name="checkpoint"
            )
        self.identity = identity

    def save(self, training: Training, device: torch.device) -> None:
        """Write the state of a training; a kill at any moment leaves the old file or the new one."""
        state = {
            "format": _FORMAT,
            "identity": self._identity(training),
            "epoch": training.epoch,
            "history": training.history,
            "network": training.network.state_dict(),
            "loss": training.loss.state_dict(),
            "optimizer": training.optimizer.state_dict(),
            "order": training.order.get_state(),
            "random": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state(device) if device.type == "cuda" else None,
        }
        try:
            with atomic_file(self.path) as file:
                torch.save(state, file)
        except (WriteError, RuntimeError) as error:
            raise InputError(f"checkpoint {short_text(str(self.path))} cannot be written: {error}", name="checkpoint") from error

    def load(self, training: Training, device: torch.device) -> bool:
        """Set the state of a training to that of the file; return False if there is no file."""
        if not self.path.exists():
            return False
        try:
            state = torch.load(self.path, map_location="cpu", weights_only=True)
        except (OSError, RuntimeError, EOFError, pickle.UnpicklingError, KeyError) as error:
            raise InputError(
                f"{short_text(str(self.path))} cannot be read as a checkpoint: {error}", name="checkpoint"
            ) from error
        if not isinstance(state, dict) or state.get("format") != _FORMAT:
            raise InputError(f"{short_text(str(self.path))} is no checkpoint of this version of DeepNPSVC", name="checkpoint")
        self._compare(state["identity"], self._identity(training))
        try:
            training.network.load_state_dict(state["network"])
        except RuntimeError as error:
            raise InputError(
                f"the checkpoint {short_text(str(self.path))} belongs to another network: {error}", name="checkpoint"
            ) from error
        training.loss.load_state_dict(state["loss"])
        training.optimizer.load_state_dict(state["optimizer"])
        training.epoch, training.history = state["epoch"], list(state["history"])
        training.order.set_state(state["order"])
        torch.set_rng_state(state["random"])
        if device.type == "cuda" and state["cuda"] is not None:
            torch.cuda.set_rng_state(state["cuda"], device)
        return True

    def _identity(self, training: Training) -> dict[str, Any]:
        return {**self.identity, **asdict(training.settings)}

    def _compare(self, stored: dict[str, Any], expected: dict[str, Any]) -> None:
        for name in sorted({*stored, *expected}):
            if stored.get(name) != expected.get(name):
                difference = (
                    f"{short_text(stored.get(name))} there, {short_text(expected.get(name))} here"
                    if name != "data"
                    else "the samples or labels are others"
                )
                raise InputError(
                    f"the checkpoint {short_text(str(self.path))} is of another run: {name} differs ({difference}). "
                    "Give the same parameters and data, another checkpoint, or resume=False",
                    name="checkpoint",
                )


def _plain_value(value: Any) -> float | str:
    """Return a text as it is and a number as Python's float, which a checkpoint may hold."""
    return value if isinstance(value, str) else float(value)


@dataclass(frozen=True, eq=False)
class SampleConversion:
    """The conversion of samples from arrays to tensors: (x - shift)·factor, reshaped for the encoder.

    Parameters
    ----------
    sample_shape : tuple of int
        Shape of a sample in X.
    shape : tuple of int
        Shape of a sample as the encoder's input.
    shift, factor : ndarray
        Mean, and one over the standard deviation, of each feature; for images of all pixels together.
    dtype : torch.dtype
        Type of the tensors.
    """

    sample_shape: tuple[int, ...]
    shape: tuple[int, ...]
    shift: FloatArray
    factor: FloatArray
    dtype: torch.dtype

    @classmethod
    def of(cls, X: Any, image_shape: Sequence[int] | None, standardise: bool, dtype: str) -> SampleConversion:
        """Return the conversion that fits the training samples X: standardised with ``standardise``, reshaped to images."""
        if dtype not in ("float32", "float64"):
            raise InputError(f"dtype must be 'float32' or 'float64'; it is {short_text(dtype)}", name="dtype")
        input_shape = tuple(X.shape[1:])
        shape = input_shape if image_shape is None else _fitting(image_shape, input_shape)
        shift, deviation = np.zeros(()), np.ones(())
        if standardise:
            axis = 0 if len(shape) == 1 else None
            shift, deviation = X.mean(axis=axis, dtype=np.float64), X.std(axis=axis, dtype=np.float64)
        # a feature whose spread is rounding is constant: it becomes 0, not noise
        constant = deviation <= 10 * np.finfo(np.float64).eps * np.abs(shift)
        factor = np.where(constant, 1.0, 1.0 / np.where(constant, 1.0, deviation))
        return cls(input_shape, shape, np.asarray(shift), factor, torch.float32 if dtype == "float32" else torch.float64)

    def tensor(self, X: Any) -> Tensor:
        """Return the samples as a tensor on the CPU."""
        if tuple(X.shape[1:]) != self.sample_shape:
            raise InputError(f"samples must have shape {self.sample_shape}, as in fit; they have {tuple(X.shape[1:])}", name="X")
        scaled = (X - self.shift) * self.factor
        return torch.as_tensor(np.ascontiguousarray(scaled), dtype=self.dtype).reshape(len(X), *self.shape)


def _fitting(image_shape: Sequence[int], sample_shape: tuple[int, ...]) -> tuple[int, ...]:
    try:
        shape = tuple(int(side) for side in image_shape)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"image_shape must be (height, width) or (channels, height, width); it is {short_text(image_shape)}",
            name="image_shape",
        ) from error
    if len(shape) < 2 or min(shape) < 1 or math.prod(shape) != math.prod(sample_shape):
        raise InputError(
            f"image_shape = {shape} does not hold the {math.prod(sample_shape)} numbers of a sample", name="image_shape"
        )
    return shape


def resolve_device(name: str) -> torch.device:
    """Return the PyTorch device of a name; "auto" is a GPU if there is one, else the CPU."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    # exempt (text): a user's 'name:part' of a data set
    kind, _, number = name.partition(":") if isinstance(name, str) else ("", "", "")
    if kind not in ("cpu", "cuda") or (number and (kind == "cpu" or not number.isdigit())):
        raise InputError(f"device must be 'auto', 'cpu', 'cuda' or 'cuda:<number>'; it is {short_text(name)}", name="device")
    if kind == "cpu":
        return torch.device("cpu")
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if int(number or 0) >= count:
        raise InputError(
            f"device = {short_text(name)}: PyTorch {torch.__version__} sees {count} GPUs here; give device='auto' or 'cpu'",
            name="device",
        )
    return torch.device(name)


def check_finite(X: Any) -> None:
    """Raise `InputError` at the first sample with NaN or infinity."""
    bad = ~np.isfinite(X).reshape(len(X), -1).all(axis=1)
    if bad.any():
        raise InputError(
            f"X must be finite: sample {int(np.argmax(bad))} (of {int(bad.sum())}) holds NaN or infinity; drop or fill it",
            name="X",
        )


#: Training of D-NPSVC++ as NPSVC++ §C.2.2 says: SGD with momentum 0.9 and weight decay, the encoder frozen after ten epochs, and
#: a share β = 0.85 of the new weights τ in (26). The paper's learning rate of Flowers-102 is 1e-2.
PUBLISHED_TRAINING: Mapping[str, Any] = MappingProxyType({
    "optimizer": "sgd", "learning_rate": 1e-3, "final_learning_rate": 1e-5, "weight_decay": 1e-4, "batch_size": 64,
    "encoder_epochs": 10, "momentum": 0.85,
})  # fmt: skip
_OBJECTIVES = ("chebyshev", "sum", "softmax", "margin-softmax", "arcface")


@dataclass(eq=False, repr=False)
class DeepNPSVC(ClassifierMixin, TransformerMixin, Estimator):  # type: ignore[misc]
    """D-NPSVC++: a hyperplane for each class over the features of a network trained together with them, NPSVC++ (22)-(26).

    Class l of K has the hyperplane f_l(x) = w̃_l'·LN[φ(x); z(x)] = 0 with an encoder φ, z = MLP(φ) and a layer norm LN. Its
    objective J_l is the mean over all samples of ½f_l² for those of class l, c/(K - 1)·½(s - f_l)_+² for the others. The loss is
    Σ τ_l ϖ_l J_l with given weights ϖ and weights τ of the unit simplex, dual to max_l ϖ_l J_l. Algorithm 2: for every batch an
    update of everything at the current τ, then τ by (25), (26), and an update of the shared parameters (of encoder and MLP) with
    the hyperplanes frozen. Prediction (21): the nearest hyperplane, |f_l(x)|/||w̃_l||; with ``orientation="rest"`` the farthest.
    The training of the paper's §C.2.2 is ``DeepNPSVC(**PUBLISHED_TRAINING)``.

    Parameters
    ----------
    encoder : {"mlp", "conv"}, torch.nn.Module or callable
        φ: a small fully connected network, a small convolutional one for images, a module (copied, weights and all), or a
        function of a sample's shape that returns a module. φ of a batch is a matrix (batch, features).
    objective : {"chebyshev", "sum", "softmax", "margin-softmax", "arcface"}
        The training loss: the largest of the classes' objectives, by its dual weights τ; their sum (deep TWSVM, A.15);
        cross-entropy; cross-entropy with the own class's logit reduced by ``margin``; ArcFace, whose ``margin`` is an angle
        (`AngularObjectives`; 0.5 as published). All of them train the same network by the same updates.
    hypothesis : {"skip", "learned", "encoder"}
        The features of the hyperplanes: φ and z as in (22), z alone, or φ alone; see `NPSVCHead`.
    hidden : sequence of int
        Widths of the MLP's layers.
    dropout : float
        Dropout rate in the MLP.
    c, margin : float
        c > 0 and s > 0 of J_l: the weight of the hinge terms, and the value of f_l from which they are zero. ``margin`` is also
        that of "margin-softmax" and "arcface".
    orientation : {"one", "rest"}
        The points near hyperplane l: those of class l, or those of all other classes.
    weights : float or sequence of float
        ϖ_l of max_l ϖ_l J_l, in the order of the sorted labels.
    gamma, final_gamma : float
        γ of (25), cosine-annealed over the epochs from ``gamma`` to ``final_gamma``; a larger γ puts more weight τ on the largest
        objective.
    momentum : float
        Share of the new τ in (26): 0.85 in the paper. A small share averages the weights over batches.
    simplex : str
        Name of the solver of (25), any that reads its quadratic program, `marginopt.ParetoQP`; "smo" is marginopt's own.
    epochs, batch_size, optimizer, learning_rate, final_learning_rate, weight_decay
        Passes over the data, samples of a batch, PyTorch's optimiser, its cosine-annealed rate and its weight decay.
    shared_step, encoder_epochs
        Whether batches have the second update, with frozen hyperplanes; epochs after which the encoder is frozen (None: never).
    image_shape : sequence of int, optional
        Shape of a sample, (height, width) or (channels, height, width), where X has one row of pixels for each.
    standardise : bool
        Whether to scale features to mean 0 and deviation 1; images by one mean and deviation for all pixels.
    dtype : {"float32", "float64"}
        Type of the network's weights and inputs.
    device : str
        "auto" (a GPU where there is one), "cpu", "cuda", "cuda:1", ..
    random_state : int, RandomState or None
        Seed of weights, batches and dropout: on the CPU the same seed gives the same weights. PyTorch's global random state is
        restored after the fit.
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
        The sorted labels, and the number of features, as in scikit-learn.
    network_ : Network
        ``encoder`` and ``head``; a torch.nn.Module in evaluation mode.
    history_ : list of dict
        For every epoch, on all training samples with dropout off: ``objectives`` J_l, ``largest`` max ϖ_l J_l, ``dual``
        Σ τ_l ϖ_l J_l, ``tau``, ``gamma``, ``learning_rate``, ``pareto`` (min over τ of ||Σ τ_l grad_l|| / max ||grad_l|| at the
        representations), ``accuracy``, and ``validation_accuracy``.
    objectives_, tau_ : ndarray (K,)
        Objectives J_l and weights τ after the last epoch.
    pareto_ : float
        Pareto stationarity after the last epoch, as ``pareto`` in ``history_``.
    n_iter_ : int
        Number of epochs.
    device_ : str
        Name of the device that trained the network.

    Raises
    ------
    InputError
        From `fit`: a parameter, the data, the encoder's output, or a loss that is not finite; says what is needed.
    """

    encoder: Encoder = "mlp"
    _: KW_ONLY
    objective: Literal["chebyshev", "sum", "softmax", "margin-softmax", "arcface"] = "chebyshev"
    hypothesis: Hypothesis = "skip"
    hidden: Sequence[int] = (512, 128)
    dropout: float = 0.25
    c: float = 1.0
    margin: float = 1.0
    orientation: Literal["one", "rest"] = "one"
    weights: float | Sequence[float] = 1.0
    gamma: float = 0.1
    final_gamma: float = 1e-3
    momentum: float = 0.02
    simplex: str = "smo"
    epochs: int = 50
    batch_size: int = 64
    optimizer: Literal["adam", "adamw", "sgd"] = "adamw"
    learning_rate: float = 3e-3
    final_learning_rate: float = 1e-5
    weight_decay: float = 1e-2
    shared_step: bool = True
    encoder_epochs: int | None = None
    image_shape: Sequence[int] | None = None
    standardise: bool = True
    dtype: Literal["float32", "float64"] = "float32"
    device: str = "auto"
    random_state: Any = 0
    checkpoint: str | Path | None = None
    resume: bool = False
    progress: bool = False
    callback: Callback | None = None

    def fit(self, X: Any, y: Any, *, validation: tuple[Any, Any] | None = None) -> Self:
        """Fit to n samples, X (n, p) or (n, ...) as the encoder takes them, and their labels.

        The accuracy on ``validation`` (samples, labels) is recorded in ``history_`` after every epoch, and not used by the fit.
        """
        X, y = self._checked(X, y)
        settings, device = self._settings(), resolve_device(self.device)
        labels = as_classes(np.asarray(y), len(X))
        self.classes_, numbers = np.unique(labels, return_inverse=True)
        self._samples = SampleConversion.of(X, self.image_shape, self.standardise, self.dtype)
        data = Batches(self._samples.tensor(X), torch.as_tensor(numbers, dtype=torch.int64), device)
        held_out = None if validation is None else self._validation_batches(validation, device)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        with seeded_generators(seed, device):
            training = self._training(data, settings, seed)
            checkpoint = self._checkpoint(data, seed)
            if checkpoint is not None and self.resume:
                checkpoint.load(training, device)
            after = (lambda: None) if checkpoint is None else (lambda: checkpoint.save(training, device))
            training.run(data, held_out, progress=self.progress, after=after, callback=self.callback)
        self._set_fitted(training, device)
        return self

    def _checked(self, X: Any, y: Any) -> tuple[Any, Any]:
        X, y = validate_data(
            self, X, y, dtype=[np.float64, np.float32], allow_nd=True, ensure_all_finite=False, ensure_min_samples=2
        )
        check_finite(X)
        check_classification_targets(y)
        if self.objective not in _OBJECTIVES:
            raise InputError(
                f"objective must be one of {', '.join(_OBJECTIVES)}; it is {short_text(self.objective)}", name="objective"
            )
        if self.callback is not None and not callable(self.callback):
            raise InputError(
                f"callback must be a function of one row of the trace; it is a {type(self.callback).__name__}", name="callback"
            )
        if self.resume and self.checkpoint is None:
            raise InputError("resume=True needs the file to continue from: give checkpoint", name="checkpoint")
        return X, y

    def _settings(self) -> Settings:
        return Settings(
            epochs=self.epochs, batch_size=self.batch_size, optimizer=self.optimizer, learning_rate=self.learning_rate,
            final_learning_rate=self.final_learning_rate, weight_decay=self.weight_decay, gamma=self.gamma,
            final_gamma=self.final_gamma, shared_step=self.shared_step, encoder_epochs=self.encoder_epochs,
        )  # fmt: skip

    def _validation_batches(self, validation: tuple[Any, Any], device: torch.device) -> Batches:
        """Return the validation samples; a label that is not among those of training is an error."""
        rows = self._rows(validation[0])
        labels = np.asarray(validation[1])
        if labels.shape != (rows.shape[0],) or not np.isin(labels, self.classes_).all():
            raise InputError(
                f"validation must be (X, y) with a label of training for each of its {rows.shape[0]} samples", name="validation"
            )
        return Batches(rows, torch.as_tensor(np.searchsorted(self.classes_, labels), dtype=torch.int64), device)

    def _objectives(self, K: int) -> Objectives:
        if self.objective in ("softmax", "margin-softmax"):
            return SoftmaxObjectives(K, self.margin if self.objective == "margin-softmax" else 0.0)
        if self.objective == "arcface":
            return AngularObjectives(K, self.margin)
        return NearObjectives(K, c=self.c, margin=self.margin, orientation=self.orientation)

    def _training(self, data: Batches, settings: Settings, seed: int) -> Training:
        """Return network, loss and optimiser on the device."""
        K = self.classes_.size
        encoder = make_encoder(self.encoder, tuple(data.rows.shape[1:])).to(data.rows.dtype)
        size = encoder_output_size(encoder, data.rows[:2])
        head = NPSVCHead(
            size, K, hidden=self.hidden, dropout=self.dropout, hypothesis=self.hypothesis, angular=self.objective == "arcface"
        )
        loss = ChebyshevLoss(
            self._objectives(K), K, combination="chebyshev" if self.objective == "chebyshev" else "sum",
            weights=self.weights, momentum=self.momentum, simplex=self.simplex,
        )  # fmt: skip
        network = Network(encoder, head.to(data.rows.dtype)).to(data.device)
        return Training(network, loss.to(data.device), settings, torch.Generator().manual_seed(seed))

    def _checkpoint(self, data: Batches, seed: int) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        own_parameters = ("objective", "hypothesis", "dropout", "c", "margin", "orientation", "momentum", "simplex", "dtype")
        identity = {name: _plain_value(getattr(self, name)) for name in own_parameters}
        weights = np.asarray(self.weights, dtype=np.float64).tolist()
        return Checkpoint(self.checkpoint, {**identity, "weights": weights, "random_state": seed, "data": fingerprint(data)})

    def _set_fitted(self, training: Training, device: torch.device) -> None:
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

    def _evaluate(self, X: Any, output: Literal["scores", "features"]) -> FloatArray:
        check_is_fitted(self)
        rows, device = self._rows(X), resolve_device(self.device)
        network = self.network_.to(device).eval()
        parts = []
        with torch.no_grad():
            for part in torch.split(rows, 512):
                phi, z = network.representations(part.to(device))
                if output == "scores":
                    z = self._scores.scores(network.head.decision_values(phi, z), network.head.norms)
                parts.append(z.cpu())
        return np.asarray(torch.cat(parts).numpy())

    def decision_function(self, X: Any) -> FloatArray:
        """Return the classes' scores (n × K), the largest wins; for two classes the second's minus the first's (n,).

        They are minus the distances of (21), the distances with ``orientation="rest"``, the logits of a softmax, or cosines.
        """
        scores = self._evaluate(X, "scores")
        return scores[:, 1] - scores[:, 0] if self.classes_.size == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of the largest score: by default that of the nearest hyperplane, with "rest" that of the farthest."""
        codes = decided_codes(self.decision_function(X))
        return np.asarray(self.classes_[codes])

    def transform(self, X: Any) -> FloatArray:
        """Return the learned features z(x), n × hidden[-1]; φ(x) under the hypothesis "encoder"."""
        return self._evaluate(X, "features")

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes with the network on the CPU, so that a machine without a GPU can unpickle them."""
        state: dict[str, Any] = super().__getstate__()
        if "network_" in state:
            state = {**state, "network_": copy.deepcopy(state["network_"]).cpu()}
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = [self.dtype]
        return tags
