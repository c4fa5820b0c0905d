"""The training loop of `DeepNPSVC`, NPSVC++ Algorithm 2: for each batch two updates of the network, and one of τ between them.

*NPSVC++* is Zhang, Lai, Zhou and Liang (2024); numbers in parentheses are its equations. W̃ are the hyperplanes of all classes,
θ_sh the shared parameters of encoder and MLP, and the loss is Σ τ_l ϖ_l J_l of the classes' objectives J_l (`losses`), with given
weights ϖ_l. τ is the running average (26) of solutions of (25), min ½τ'Qτ - γ Σ τ_l ϖ_l J_l over the unit simplex, where Q is the
Gram matrix of the gradients of ϖ_l J_l.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor

from ..errors import InputError, short_text
from ..models.arrays import as_integer, as_positive, plain_fields
from .head import Network
from .losses import ChebyshevLoss, gradient_gram, stationarity

#: The measurements of one epoch by name, as `Training.measure` returns them, with the epoch's number, γ and learning rate.
EpochRecord: TypeAlias = dict[str, Any]
#: A function called with the record of every epoch; if it returns True the training stops.
Callback: TypeAlias = Callable[[EpochRecord], "bool | None"]
#: Samples that an evaluation takes at once, and numbers that their gradients for all classes may fill.
_EVALUATED, _NUMBERS = 512, 2**24


def _cosine_annealed_rate(maximum: float, minimum: float, epoch: int, epochs: int) -> float:
    """Return the cosine-annealed rate ½(maximum - minimum)(1 + cos(πp/T)) + minimum of epoch p = 0 .. T - 1 of T."""
    return minimum + 0.5 * (maximum - minimum) * (1.0 + math.cos(math.pi * epoch / epochs))


@dataclass(frozen=True)
class Settings:
    """The settings of a `Training`; a checkpoint of a run with other settings is refused.

    Parameters
    ----------
    epochs : int
        Passes over the training samples.
    batch_size : int
        Samples in a batch. A last batch of one sample joins the one before it, since batch norm needs two.
    optimizer : {"adam", "adamw", "sgd"}
        The optimiser: PyTorch's Adam, AdamW, or SGD with momentum 0.9.
    learning_rate, final_learning_rate : float
        Learning rates of the first epoch and at the end, cosine-annealed between.
    weight_decay : float
        Weight decay of the optimiser, ≥ 0.
    gamma, final_gamma : float
        γ of (25) in the first epoch and at the end, cosine-annealed between; a ``final_gamma`` above ``gamma`` counts as
        ``gamma``.
    shared_step : bool
        Whether each batch has a second update, of encoder and MLP alone with the hyperplanes frozen.
    encoder_epochs : int, optional
        The encoder is frozen after this many epochs (10 of 50 in the paper); never where it is not given.
    """

    epochs: int = 50
    batch_size: int = 64
    optimizer: Literal["adam", "adamw", "sgd"] = "adamw"
    learning_rate: float = 3e-3
    final_learning_rate: float = 1e-5
    weight_decay: float = 1e-2
    gamma: float = 0.1
    final_gamma: float = 1e-3
    shared_step: bool = True
    encoder_epochs: int | None = None

    def __post_init__(self) -> None:
        plain_fields(self)
        for name, minimum in (("epochs", 1), ("batch_size", 2), ("encoder_epochs", 0)):
            value = getattr(self, name)
            if value is None and name == "encoder_epochs":
                continue
            object.__setattr__(self, name, as_integer(value, name, minimum))
        for name in ("learning_rate", "final_learning_rate", "weight_decay", "gamma", "final_gamma"):
            object.__setattr__(self, name, as_positive(getattr(self, name), name, zero=name != "learning_rate"))
        if self.final_learning_rate > self.learning_rate:
            raise InputError(
                f"final_learning_rate = {self.final_learning_rate:g} is above learning_rate = {self.learning_rate:g}: lower it",
                name="final_learning_rate",
            )
        if self.optimizer not in ("adam", "adamw", "sgd"):
            raise InputError(f"optimizer must be 'adam', 'adamw' or 'sgd'; it is {short_text(self.optimizer)}", name="optimizer")


@dataclass(frozen=True, eq=False)
class Batches:
    """The samples and class numbers of a data set; batches of them are copied to a device.

    Parameters
    ----------
    rows : torch.Tensor (n, ...)
        The samples.
    y : torch.Tensor (n,)
        The number of each sample's class.
    device : torch.device
        The device that batches are copied to; ``rows`` and ``y`` stay where they are.
    """

    rows: Tensor
    y: Tensor
    device: torch.device

    def __len__(self) -> int:
        return int(self.y.numel())

    def shuffled(self, size: int, generator: torch.Generator) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield batches of ``size`` in a random order, all samples once."""
        order = torch.randperm(len(self), generator=generator)
        parts = list(torch.split(order, size))
        if len(parts) > 1 and parts[-1].numel() == 1:
            parts[-2:] = [torch.cat(parts[-2:])]
        for part in parts:
            yield self.rows[part].to(self.device), self.y[part].to(self.device)

    def in_order(self, size: int = _EVALUATED) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield all samples in their order, ``size`` at a time."""
        for start in range(0, len(self), size):
            part = slice(start, start + size)
            yield self.rows[part].to(self.device), self.y[part].to(self.device)


@dataclass(eq=False)
class Training:
    """The training of a network, which `run` continues epoch by epoch; its fields are the state that a checkpoint stores.

    Parameters
    ----------
    network : Network
        The network, updated in place.
    loss : ChebyshevLoss
        The loss, with its weights τ.
    settings : Settings
        The settings.
    order : torch.Generator
        The random generator that shuffles the samples in each epoch.
    epoch : int
        The number of finished epochs.
    history : list of EpochRecord
        The measurements after each finished epoch.
    """

    network: Network
    loss: ChebyshevLoss
    settings: Settings
    order: torch.Generator
    epoch: int = 0
    history: list[EpochRecord] = field(default_factory=list)

    def __post_init__(self) -> None:
        parameters, s = self.network.parameters(), self.settings
        self.optimizer: torch.optim.Optimizer
        if s.optimizer == "sgd":
            self.optimizer = torch.optim.SGD(parameters, lr=s.learning_rate, momentum=0.9, weight_decay=s.weight_decay)
        else:
            kind = torch.optim.Adam if s.optimizer == "adam" else torch.optim.AdamW
            self.optimizer = kind(parameters, lr=s.learning_rate, weight_decay=s.weight_decay)

    @property
    def gamma(self) -> float:
        """γ of (25) in the current epoch, cosine-annealed."""
        return _cosine_annealed_rate(
            self.settings.gamma, min(self.settings.final_gamma, self.settings.gamma), self.epoch, self.settings.epochs
        )

    @property
    def learning_rate(self) -> float:
        """The learning rate of the current epoch, cosine-annealed."""
        return _cosine_annealed_rate(
            self.settings.learning_rate, self.settings.final_learning_rate, self.epoch, self.settings.epochs
        )

    def run(
        self,
        train: Batches,
        validation: Batches | None = None,
        *,
        progress: bool = False,
        after: Callable[[], None] = lambda: None,
        callback: Callback | None = None,
    ) -> None:
        """Run the remaining epochs; call ``after`` and then ``callback`` at the end of each.

        Parameters
        ----------
        train : Batches
            Training data.
        validation : Batches, optional
            Data whose accuracy is recorded after each epoch.
        progress : bool
            Whether to print a progress line.
        after : callable
            A function without arguments, such as one that saves a checkpoint.
        callback : Callback, optional
            Called with each epoch's record; the training stops if it returns True.
        """
        start = time.perf_counter()
        while self.epoch < self.settings.epochs:
            row = self.one_epoch(train, validation)
            after()
            if progress:
                _show(row, self.settings.epochs, time.perf_counter() - start)
            if callback is not None and callback(row):
                break
        if progress:
            sys.stderr.write("\n")

    def one_epoch(self, train: Batches, validation: Batches | None = None) -> EpochRecord:
        """Train on every batch once; append the epoch's measurements to ``history`` and return them."""
        limit = self.settings.encoder_epochs
        if limit is not None and self.epoch >= limit and not self.network.frozen:
            self.network.freeze_encoder()
        rate, gamma = self.learning_rate, self.gamma
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.network.train()
        for rows, y in train.shuffled(self.settings.batch_size, self.order):
            self._update_all(rows, y)
            if self.settings.shared_step or self.loss.combination == "chebyshev":
                self._update_shared(rows, y, gamma)
        self.epoch += 1
        row = {"epoch": self.epoch, "gamma": gamma, "learning_rate": rate, **self.measure(train)}
        if validation is not None:
            row["validation_accuracy"] = self.accuracy(validation)
        self.history.append(row)
        return row

    def _update_all(self, rows: Tensor, y: Tensor) -> None:
        """Update W̃ and θ_sh at the current τ, lines 3 to 9."""
        self.optimizer.zero_grad(set_to_none=True)
        self.loss(self.network(rows), y).backward()
        self.optimizer.step()

    def _update_shared(self, rows: Tensor, y: Tensor, gamma: float) -> None:
        """Update τ, then θ_sh with W̃ frozen, lines 11 to 15."""
        network, head = self.network, self.network.head
        phi, z = network.representations(rows)
        if self.loss.combination == "chebyshev":
            gram, J = self._gram(phi, z, y)
            self.loss.step_tau(gram / y.numel(), J, gamma)
        if not self.settings.shared_step:
            return
        head.freeze_planes(True)
        value = self.loss(head.decision_values(phi, z), y)
        if value.requires_grad:  # a frozen encoder with nothing learned on it shares no parameter
            self.optimizer.zero_grad(set_to_none=True)
            value.backward()
            self.optimizer.step()
        head.freeze_planes(False)

    def _gram(self, phi: Tensor, z: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        network = self.network
        J, gram = gradient_gram(network.head, self.loss.objectives, phi, z, y, moves_phi=not network.frozen)
        return gram, J

    def measure(self, data: Batches) -> EpochRecord:
        """Measure the network on all samples, without dropout, and return the values by name.

        They are ``objectives`` J_l, ``largest`` max ϖ_l J_l, ``dual`` Σ τ_l ϖ_l J_l, ``tau``, ``pareto`` (`losses.stationarity`,
        0 at Pareto stationary points) and ``accuracy``.
        """
        network, loss = self.network.eval(), self.loss
        K, n = loss.tau.numel(), len(data)
        J = torch.zeros(K, dtype=torch.float64, device=data.device)
        gram = torch.zeros(K, K, dtype=torch.float64, device=data.device)
        right = 0
        size = max(1, min(_EVALUATED, _NUMBERS // (K * network.head.planes.in_features)))
        for rows, y in data.in_order(size):
            with torch.no_grad():
                phi, z = network.representations(rows)
                scores = loss.objectives.scores(network.head.decision_values(phi, z), network.head.norms)
                right += int((scores.argmax(dim=1) == y).sum())
            part, batch_objectives = self._gram(phi, z, y)
            gram += part
            J += batch_objectives.double() * y.numel()
        J = (J / n * loss.weights).cpu()
        share = loss.weights.cpu()
        Q = (gram.cpu() / n * share[:, None] * share[None, :]).numpy()
        return {
            "objectives": (J / share).tolist(),
            "largest": float(J.max()),
            "dual": float(loss.tau.cpu() @ J),
            "tau": loss.tau.tolist(),
            "pareto": stationarity(Q, loss.simplex),
            "accuracy": right / n,
        }

    def accuracy(self, data: Batches) -> float:
        """Return the share of the samples that are classified correctly."""
        network = self.network.eval()
        right = 0
        with torch.no_grad():
            for rows, y in data.in_order():
                right += int((self.loss.objectives.scores(network(rows), network.head.norms).argmax(dim=1) == y).sum())
        return right / len(data)


def _show(row: EpochRecord, epochs: int, seconds: float) -> None:
    line = (
        f"deep-npsvcpp: {seconds:7.1f} s  epoch {row['epoch']}/{epochs}  largest objective {row['largest']:.4g}  "
        f"accuracy {row['accuracy']:.4f}"
    )
    if "validation_accuracy" in row:
        line += f"  validation {row['validation_accuracy']:.4f}"
    sys.stderr.write(f"\r{line:<110}")
    sys.stderr.flush()


@contextmanager
def seeded_generators(seed: int, device: torch.device) -> Iterator[None]:
    """Seed PyTorch's global generators within the block, and restore their states after it."""
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield
