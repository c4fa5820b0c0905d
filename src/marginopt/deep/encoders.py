"""Encoders φ: two small ones, and whatever module the user brings."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TypeAlias, final

import torch
from torch import Tensor, nn

from ..errors import InputError

__all__ = ["ConvEncoder", "Encoder", "MLPEncoder", "check_output", "make_encoder"]

#: A name, a module (copied), or a function from a sample's shape to a module.
Encoder: TypeAlias = str | nn.Module | Callable[[tuple[int, ...]], nn.Module]


@final
class MLPEncoder(nn.Module):
    """Fully connected layers with ReLU between and after them.

    Parameters
    ----------
    features : int
        Numbers in a sample; samples of any shape are flattened.
    widths : sequence of int
        Of the layers; the last is φ's size.
    """

    def __init__(self, features: int, widths: Sequence[int] = (128, 64)) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Flatten()]
        for before, after in zip((features, *widths[:-1]), widths, strict=True):
            layers += [nn.Linear(before, after), nn.ReLU()]
        self.layers = nn.Sequential(*layers)

    def forward(self, rows: Tensor) -> Tensor:
        """φ of a batch, (batch, widths[-1])."""
        out: Tensor = self.layers(rows)
        return out


@final
class ConvEncoder(nn.Module):
    """A small convolutional network: 3 × 3 convolutions with batch norm and ReLU, a 2 × 2 maximum after each, one dense layer.

    Parameters
    ----------
    shape : (channels, height, width) or (height, width)
        Of a sample.
    channels : sequence of int
        Of the convolutions; a maximum is taken as long as both sides have at least two pixels.
    features : int
        φ's size.
    """

    def __init__(self, shape: Sequence[int], channels: Sequence[int] = (16, 32), features: int = 64) -> None:
        super().__init__()
        if len(shape) not in (2, 3):
            raise InputError(
                f"the encoder 'conv' needs images, (height, width) or (channels, height, width); a sample's shape is "
                f"{tuple(shape)}: give image_shape, or encoder='mlp'"
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
        """φ of a batch, (batch, features)."""
        out: Tensor = self.layers(rows.reshape(rows.shape[0], *self.shape))
        return out


def make_encoder(encoder: Encoder, shape: tuple[int, ...]) -> nn.Module:
    """The module for samples of this shape; a module that is given is copied, so that fitting leaves it as it is.

    Raises
    ------
    InputError
        An unknown name, or something that is neither a module nor a function that returns one.
    """
    if isinstance(encoder, str):
        if encoder == "mlp":
            return MLPEncoder(int(torch.Size(shape).numel()))
        if encoder == "conv":
            return ConvEncoder(shape)
        raise InputError(
            f"encoder must be 'mlp', 'conv', a torch.nn.Module, or a function of a sample's shape; it is {encoder!r}"
        )
    if isinstance(encoder, nn.Module):
        return copy.deepcopy(encoder)
    if not callable(encoder):
        raise InputError(
            "encoder must be 'mlp', 'conv', a torch.nn.Module, or a function of a sample's shape; "
            f"it is a {type(encoder).__name__}"
        )
    module = encoder(shape)
    if not isinstance(module, nn.Module):
        raise InputError(f"the function given as encoder must return a torch.nn.Module; it returned a {type(module).__name__}")
    return module


def check_output(encoder: nn.Module, rows: Tensor) -> int:
    """φ's size, from two samples.

    Raises
    ------
    InputError
        The encoder cannot take such samples, or gives anything but a finite matrix with one row for each.
    """
    encoder.eval()
    try:
        with torch.no_grad():
            phi = encoder(rows)
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        raise InputError(f"the encoder cannot take a batch of shape {tuple(rows.shape)}: {error}") from error
    if not isinstance(phi, Tensor) or phi.ndim != 2 or phi.shape[0] != rows.shape[0] or phi.shape[1] < 1:
        description = f"shape {tuple(phi.shape)}" if isinstance(phi, Tensor) else f"a {type(phi).__name__}"
        raise InputError(
            f"the encoder must give a matrix (batch, features); for a batch of shape {tuple(rows.shape)} it gave {description}: "
            "end it with torch.nn.Flatten()"
        )
    if not phi.is_floating_point() or not bool(torch.isfinite(phi).all()):
        raise InputError("the encoder must give finite floating-point numbers; for the first samples it did not")
    return int(phi.shape[1])
