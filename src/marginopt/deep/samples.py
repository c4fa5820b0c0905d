"""Samples as tensors: shape, scale, precision and device."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import InputError
from ..models.arrays import FloatArray

__all__ = ["Samples", "check_finite", "resolve_device"]


@dataclass(frozen=True, eq=False)
class Samples:
    """The conversion of arrays to tensors: (x - shift)·factor, reshaped.

    Parameters
    ----------
    given, shape : tuple of int
        Of a sample in X, and as the encoder takes it.
    shift, factor : ndarray
        One for each feature; for images one for all pixels.
    dtype : torch.dtype
    """

    given: tuple[int, ...]
    shape: tuple[int, ...]
    shift: FloatArray
    factor: FloatArray
    dtype: torch.dtype

    @classmethod
    def of(cls, X: Any, image_shape: Sequence[int] | None, standardise: bool, dtype: str) -> Samples:
        """From the training samples.

        Raises
        ------
        InputError
            ``image_shape`` does not fit, or an unknown dtype.
        """
        if dtype not in ("float32", "float64"):
            raise InputError(f"dtype must be 'float32' or 'float64'; it is {dtype!r}")
        given = tuple(X.shape[1:])
        shape = given if image_shape is None else _fitting(image_shape, given)
        shift, deviation = np.zeros(()), np.ones(())
        if standardise:
            axis = 0 if len(shape) == 1 else None
            shift, deviation = X.mean(axis=axis, dtype=np.float64), X.std(axis=axis, dtype=np.float64)
        # a feature whose spread is rounding is constant: it becomes 0, not noise
        constant = deviation <= 10 * np.finfo(np.float64).eps * np.abs(shift)
        factor = np.where(constant, 1.0, 1.0 / np.where(constant, 1.0, deviation))
        return cls(given, shape, np.asarray(shift), factor, torch.float32 if dtype == "float32" else torch.float64)

    def tensor(self, X: Any) -> Tensor:
        """A batch on the CPU.

        Raises
        ------
        InputError
            Samples of another shape than in training.
        """
        if tuple(X.shape[1:]) != self.given:
            raise InputError(f"samples must have shape {self.given}, as in fit; they have {tuple(X.shape[1:])}")
        scaled = (X - self.shift) * self.factor
        return torch.as_tensor(np.ascontiguousarray(scaled), dtype=self.dtype).reshape(len(X), *self.shape)


def _fitting(image_shape: Sequence[int], given: tuple[int, ...]) -> tuple[int, ...]:
    try:
        shape = tuple(int(side) for side in image_shape)
    except (TypeError, ValueError) as error:
        raise InputError(f"image_shape must be (height, width) or (channels, height, width); it is {image_shape!r}") from error
    if len(shape) < 2 or min(shape) < 1 or math.prod(shape) != math.prod(given):
        raise InputError(f"image_shape = {shape} does not hold the {math.prod(given)} numbers of a sample")
    return shape


def resolve_device(name: str) -> torch.device:
    """The device of this name.

    Raises
    ------
    InputError
        An unknown name, or a GPU that this machine, or this build of PyTorch, does not have.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    kind, _, number = name.partition(":") if isinstance(name, str) else ("", "", "")
    if kind not in ("cpu", "cuda") or (number and (kind == "cpu" or not number.isdigit())):
        raise InputError(f"device must be 'auto', 'cpu', 'cuda' or 'cuda:<number>'; it is {name!r}")
    if kind == "cpu":
        return torch.device("cpu")
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if int(number or 0) >= count:
        raise InputError(f"device = {name!r}: PyTorch {torch.__version__} sees {count} GPUs here; give device='auto' or 'cpu'")
    return torch.device(name)


def check_finite(X: Any) -> None:
    """Raise `InputError` at the first sample with NaN or infinity."""
    bad = ~np.isfinite(X).reshape(len(X), -1).all(axis=1)
    if bad.any():
        raise InputError(
            f"X must be finite: sample {int(np.argmax(bad))} (of {int(bad.sum())}) holds NaN or infinity; drop or fill it"
        )
