"""The network of `DeepNPSVC`: an encoder φ, and a head that computes the decision values f_l from its output, NPSVC++ (22).

*NPSVC++* is Zhang, Lai, Zhou and Liang (2024), *NPSVC++: Nonparallel classifiers encounter representation learning*. Row l of the
matrix W̃ of hyperplanes is w̃_l = [w_l; v_l], with w_l for φ and v_l for the learned features z.
"""

from __future__ import annotations

import copy
import numbers
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias, final

import torch
from torch import Tensor, nn

from ..errors import InputError, short_text
from ..models.arrays import as_positive

#: f_l = w_l'φ + v_l'z as in (22), or its two ablations: v_l'z alone, w_l'φ alone.
Hypothesis: TypeAlias = Literal["skip", "learned", "encoder"]


@final
class NPSVCHead(nn.Module):
    """The head f_l(x) = w̃_l'·LN[φ(x); z(x)], z = MLP(φ), for classes l = 1 .. K, NPSVC++ (22) and figure A.1.

    The MLP's layers are dense, batch norm, ReLU, dropout (512 → 128 in the paper). LN is a layer norm of the concatenation. The
    hyperplanes have no intercept, since the layer norm has a shift.

    Parameters
    ----------
    features : int
        Size of φ.
    classes : int
        K ≥ 2.
    hidden : sequence of int
        Widths of the MLP's layers; the last is the size of z.
    dropout : float
        Dropout rate in the MLP, in [0, 1).
    hypothesis : {"skip", "learned", "encoder"}
        The input of the hyperplanes: [φ; z] as printed; or the ablations of figure 4, z alone (f_l = v_l'z) and φ alone
        (f_l = w_l'φ).
    angular : bool
        Whether the values f_l are the cosines of the angle between the representation and w̃_l, as `AngularObjectives` needs
        them.

    Attributes
    ----------
    mlp : torch.nn.Sequential
        The MLP from φ to z; empty under the hypothesis "encoder".
    norm : torch.nn.LayerNorm
        LN.
    planes : torch.nn.Linear
        The hyperplanes: row l of its weight is w̃_l.

    Raises
    ------
    InputError
        ``hypothesis``, ``hidden`` or ``dropout`` out of range.
    """

    def __init__(
        self,
        features: int,
        classes: int,
        *,
        hidden: Sequence[int] = (512, 128),
        dropout: float = 0.25,
        hypothesis: Hypothesis = "skip",
        angular: bool = False,
    ) -> None:
        super().__init__()
        if hypothesis not in ("skip", "learned", "encoder"):
            raise InputError(
                f"hypothesis must be 'skip', 'learned' or 'encoder'; it is {short_text(hypothesis)}", name="hypothesis"
            )
        hidden_sizes: object = hidden
        is_valid = isinstance(hidden_sizes, (tuple, list)) and all(isinstance(width, numbers.Integral) for width in hidden_sizes)
        if not is_valid or not hidden or min(hidden) < 1:
            raise InputError(
                f"hidden must be a tuple or list with the widths of one or more layers, integers ≥ 1; it is {short_text(hidden)}",
                name="hidden",
            )
        if as_positive(dropout, "dropout", zero=True) >= 1.0:
            raise InputError(f"dropout must be in [0, 1); it is {short_text(dropout)}", name="dropout")
        self.hypothesis: Hypothesis = hypothesis
        self.angular = angular
        layers: list[nn.Module] = []
        if hypothesis != "encoder":
            for before, after in zip((features, *hidden[:-1]), hidden, strict=True):
                layers += [nn.Linear(before, after), nn.BatchNorm1d(after), nn.ReLU(), nn.Dropout(dropout)]
        self.mlp = nn.Sequential(*layers)
        size = {"skip": features + hidden[-1], "learned": hidden[-1], "encoder": features}[hypothesis]
        self.norm = nn.LayerNorm(size)
        self.planes = nn.Linear(size, classes, bias=False)

    def learned_features(self, phi: Tensor) -> Tensor:
        """Return z, (batch, hidden[-1]), from φ; φ itself under the hypothesis "encoder"."""
        z: Tensor = self.mlp(phi)
        return z

    def decision_values(self, phi: Tensor, z: Tensor) -> Tensor:
        """Return F, (batch, K), the values f_l of every sample, from φ and z."""
        joined = self.norm(torch.cat([phi, z], dim=1) if self.hypothesis == "skip" else z)
        if self.angular:
            unit = torch.nn.functional.normalize
            return unit(joined, dim=1) @ unit(self.planes.weight, dim=1).T
        F: Tensor = self.planes(joined)
        return F

    def forward(self, phi: Tensor) -> Tensor:
        """Return F, (batch, K), from φ alone."""
        return self.decision_values(phi, self.learned_features(phi))

    @property
    def norms(self) -> Tensor:
        """Return the norms ||w̃_l||, (K,)."""
        return torch.linalg.vector_norm(self.planes.weight, dim=1)

    def freeze_planes(self, frozen: bool) -> None:
        """Exclude W̃, and the layer norm before it, from updates if ``frozen``; else include both again."""
        for part in (self.norm, self.planes):
            part.requires_grad_(not frozen)


@final
class Network(nn.Module):
    """An encoder followed by a head. A frozen encoder stays in evaluation mode and records no gradients.

    Parameters
    ----------
    encoder : torch.nn.Module
        The map φ from samples to features (batch, features).
    head : NPSVCHead
        The classifier of the features.

    Attributes
    ----------
    frozen : bool
        Whether `freeze_encoder` was called.
    """

    def __init__(self, encoder: nn.Module, head: NPSVCHead) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head
        self.frozen = False

    def freeze_encoder(self) -> None:
        """Exclude the encoder from all further updates."""
        self.frozen = True
        self.encoder.requires_grad_(False)
        self.encoder.eval()

    def train(self, mode: bool = True) -> Network:
        """Set training or evaluation mode; a frozen encoder stays in evaluation mode."""
        super().train(mode)
        if self.frozen:
            self.encoder.eval()
        return self

    def representations(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return the encoder's features φ and the learned features z of a batch."""
        if self.frozen:
            with torch.no_grad():
                phi = self.encoder(rows)
        else:
            phi = self.encoder(rows)
        return phi, self.head.learned_features(phi)

    def forward(self, rows: Tensor) -> Tensor:
        """Return F, (batch, K), the values f_l of every sample."""
        return self.head.decision_values(*self.representations(rows))


#: An encoder as a user gives it: a name, a module (which is copied), or a function that returns a module for a sample's shape.
Encoder: TypeAlias = str | nn.Module | Callable[[tuple[int, ...]], nn.Module]


@final
class MLPEncoder(nn.Module):
    """Fully connected layers with ReLU between and after them.

    Parameters
    ----------
    features : int
        Number of entries of a sample; samples of any shape are flattened.
    widths : sequence of int
        Widths of the layers; the last is the size of φ.
    """

    def __init__(self, features: int, widths: Sequence[int] = (128, 64)) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Flatten()]
        for before, after in zip((features, *widths[:-1]), widths, strict=True):
            layers += [nn.Linear(before, after), nn.ReLU()]
        self.layers = nn.Sequential(*layers)

    def forward(self, rows: Tensor) -> Tensor:
        """Return φ of a batch, (batch, widths[-1])."""
        out: Tensor = self.layers(rows)
        return out


@final
class ConvEncoder(nn.Module):
    """A small convolutional network: 3 × 3 convolutions with batch norm, ReLU and 2 × 2 max pooling, then one dense layer.

    Parameters
    ----------
    shape : (channels, height, width) or (height, width)
        Shape of a sample.
    channels : sequence of int
        Output channels of the convolutions; max pooling follows each while both sides have at least two pixels.
    features : int
        Size of φ.
    """

    def __init__(self, shape: Sequence[int], channels: Sequence[int] = (16, 32), features: int = 64) -> None:
        super().__init__()
        if len(shape) not in (2, 3):
            raise InputError(
                f"the encoder 'conv' needs images, (height, width) or (channels, height, width); a sample's shape is "
                f"{tuple(shape)}: give image_shape, or encoder='mlp'",
                name="encoder",
            )
        self.shape = (1, *shape) if len(shape) == 2 else tuple(shape)
        before, height, width = self.shape
        layers: list[nn.Module] = []
        for after in channels:
            layers += [nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU()]
            if min(height, width) >= 2:
                layers.append(nn.MaxPool2d(2))
                height, width = height // 2, width // 2
            before = after
        layers += [nn.Flatten(), nn.Linear(before * height * width, features), nn.ReLU()]
        self.layers = nn.Sequential(*layers)

    def forward(self, rows: Tensor) -> Tensor:
        """Return φ of a batch, (batch, features)."""
        out: Tensor = self.layers(rows.reshape(rows.shape[0], *self.shape))
        return out


def make_encoder(encoder: Encoder, shape: tuple[int, ...]) -> nn.Module:
    """Return the encoder for samples of this shape; a given module is copied, so that fitting leaves it unchanged."""
    if isinstance(encoder, str):
        if encoder == "mlp":
            return MLPEncoder(int(torch.Size(shape).numel()))
        if encoder == "conv":
            return ConvEncoder(shape)
        raise InputError(
            f"encoder must be 'mlp', 'conv', a torch.nn.Module, or a function of a sample's shape; it is {short_text(encoder)}",
            name="encoder",
        )
    if isinstance(encoder, nn.Module):
        return copy.deepcopy(encoder)
    if not callable(encoder):
        raise InputError(
            "encoder must be 'mlp', 'conv', a torch.nn.Module, or a function of a sample's shape; "
            f"it is a {type(encoder).__name__}",
            name="encoder",
        )
    module = encoder(shape)
    if not isinstance(module, nn.Module):
        raise InputError(
            f"the function given as encoder must return a torch.nn.Module; it returned a {type(module).__name__}", name="encoder"
        )
    return module


def encoder_output_size(encoder: nn.Module, rows: Tensor) -> int:
    """Return the size of φ, from two samples; raise InputError unless the encoder maps them to a finite matrix."""
    encoder.eval()
    try:
        with torch.no_grad():
            phi = encoder(rows)
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        raise InputError(f"the encoder cannot take a batch of shape {tuple(rows.shape)}: {error}", name="encoder") from error
    if not isinstance(phi, Tensor) or phi.ndim != 2 or phi.shape[0] != rows.shape[0] or phi.shape[1] < 1:
        description = f"shape {tuple(phi.shape)}" if isinstance(phi, Tensor) else f"a {type(phi).__name__}"
        raise InputError(
            f"the encoder must give a matrix (batch, features); for a batch of shape {tuple(rows.shape)} it gave {description}: "
            "end it with torch.nn.Flatten()",
            name="encoder",
        )
    if not phi.is_floating_point() or not bool(torch.isfinite(phi).all()):
        raise InputError("the encoder must give finite floating-point numbers; for the first samples it did not", name="encoder")
    return int(phi.shape[1])
