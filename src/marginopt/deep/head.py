"""The hypothesis (22): hyperplanes over an encoder's features and learned ones beside them."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Literal, TypeAlias, final

import torch
from torch import Tensor, nn

from ..errors import InputError
from ..models.arrays import as_positive

__all__ = ["Hypothesis", "NPSVCHead", "Network"]

#: f_l = w_l'φ + v_l'z as in (22), or its two ablations: v_l'z alone, w_l'φ alone.
Hypothesis: TypeAlias = Literal["skip", "learned", "encoder"]


@final
class NPSVCHead(nn.Module):
    """f_l(x) = w̃_l'·LN[φ(x); z(x)], z = MLP(φ), NPSVC++ (22) and figure A.1.

    The MLP's layers are dense, batch norm, ReLU, dropout (512 → 128 in the paper); LN is a layer norm of the concatenation; the
    hyperplanes have no intercept of their own (the layer norm's shift serves).

    Parameters
    ----------
    features : int
        φ's size.
    classes : int
        K ≥ 2.
    hidden : sequence of int
        Widths of the MLP; the last is z's size.
    dropout : float
        In [0, 1).
    hypothesis : {"skip", "learned", "encoder"}
        Both parts as printed; or the ablations of figure 4, f_l = v_l'z and f_l = w_l'φ.

    Raises
    ------
    InputError
        A parameter out of range.
    """

    def __init__(
        self,
        features: int,
        classes: int,
        *,
        hidden: Sequence[int] = (512, 128),
        dropout: float = 0.25,
        hypothesis: Hypothesis = "skip",
    ) -> None:
        super().__init__()
        if hypothesis not in ("skip", "learned", "encoder"):
            raise InputError(f"hypothesis must be 'skip', 'learned' or 'encoder'; it is {hypothesis!r}")
        hidden_sizes: object = hidden
        whole = isinstance(hidden_sizes, (tuple, list)) and all(isinstance(width, numbers.Integral) for width in hidden_sizes)
        if not whole or not hidden or min(hidden) < 1:
            raise InputError(
                f"hidden must be a tuple or list with the widths of one or more layers, integers ≥ 1; it is {hidden!r}"
            )
        if as_positive(dropout, "dropout", zero=True) >= 1.0:
            raise InputError(f"dropout must be in [0, 1); it is {dropout!r}")
        self.hypothesis: Hypothesis = hypothesis
        layers: list[nn.Module] = []
        if hypothesis != "encoder":
            for before, after in zip((features, *hidden[:-1]), hidden, strict=True):
                layers += [nn.Linear(before, after), nn.BatchNorm1d(after), nn.ReLU(), nn.Dropout(dropout)]
        self.mlp = nn.Sequential(*layers)
        size = {"skip": features + hidden[-1], "learned": hidden[-1], "encoder": features}[hypothesis]
        self.norm = nn.LayerNorm(size)
        self.planes = nn.Linear(size, classes, bias=False)

    def learned(self, phi: Tensor) -> Tensor:
        """z(x), (batch, hidden[-1]); φ itself under the hypothesis "encoder"."""
        z: Tensor = self.mlp(phi)
        return z

    def values(self, phi: Tensor, z: Tensor) -> Tensor:
        """F, (batch, K), from φ and z."""
        joined = torch.cat([phi, z], dim=1) if self.hypothesis == "skip" else z
        F: Tensor = self.planes(self.norm(joined))
        return F

    def forward(self, phi: Tensor) -> Tensor:
        """F, (batch, K): f_l of every sample."""
        return self.values(phi, self.learned(phi))

    @property
    def norms(self) -> Tensor:
        """||w̃_l||, (K,)."""
        return torch.linalg.vector_norm(self.planes.weight, dim=1)

    def freeze_planes(self, frozen: bool) -> None:
        """Return whether W̃ (with the layer norm that reads the representation) takes part in the next update."""
        for part in (self.norm, self.planes):
            part.requires_grad_(not frozen)


@final
class Network(nn.Module):
    """An encoder with a head on it. While the encoder is frozen it stays in evaluation mode and keeps no graph."""

    def __init__(self, encoder: nn.Module, head: NPSVCHead) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head
        self.frozen = False

    def freeze_encoder(self) -> None:
        """Leave φ as it is from here on."""
        self.frozen = True
        self.encoder.requires_grad_(False)
        self.encoder.eval()

    def train(self, mode: bool = True) -> Network:
        """Training or evaluation mode."""
        super().train(mode)
        if self.frozen:
            self.encoder.eval()
        return self

    def represent(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """φ and z of a batch."""
        if self.frozen:
            with torch.no_grad():
                phi = self.encoder(rows)
        else:
            phi = self.encoder(rows)
        return phi, self.head.learned(phi)

    def forward(self, rows: Tensor) -> Tensor:
        """F, (batch, K)."""
        return self.head.values(*self.represent(rows))
