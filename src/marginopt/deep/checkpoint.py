"""Training that continues after a kill: one file, replaced after every epoch."""

from __future__ import annotations

import hashlib
import pickle
from dataclasses import asdict
from pathlib import Path
from typing import Any, final

import torch

from ..errors import InputError, WriteError
from ..files import whole_file
from .training import Batches, Training

__all__ = ["Checkpoint", "fingerprint", "plain"]

_FORMAT = 1


def fingerprint(data: Batches) -> str:
    """SHA-256 of the samples and their classes, as they enter the network."""
    digest = hashlib.sha256(repr((tuple(data.rows.shape), str(data.rows.dtype))).encode())
    for tensor in (data.rows, data.y):
        digest.update(tensor.contiguous().numpy().tobytes())
    return digest.hexdigest()


@final
class Checkpoint:
    """A file with everything that the next epoch depends on: weights, optimiser, τ, random generators, trace.

    Parameters
    ----------
    path : str or Path
    identity : dict
        What must be equal for a run to continue: names and plain values.
    """

    def __init__(self, path: str | Path, identity: dict[str, Any]) -> None:
        self.path = Path(path)
        if not self.path.parent.is_dir():
            raise InputError(f"checkpoint: the folder {str(self.path.parent)!r} does not exist; make it first")
        self.identity = identity

    def save(self, training: Training, device: torch.device) -> None:
        """Write after an epoch; a kill at any moment leaves the old file or the new one."""
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
            with whole_file(self.path) as file:
                torch.save(state, file)
        except (WriteError, RuntimeError) as error:
            raise InputError(f"checkpoint {str(self.path)!r} cannot be written: {error}") from error

    def load(self, training: Training, device: torch.device) -> bool:
        """Continue where the file stands; False where there is no file.

        Raises
        ------
        InputError
            The file is no checkpoint, or one of another run (says what differs).
        """
        if not self.path.exists():
            return False
        try:
            state = torch.load(self.path, map_location="cpu", weights_only=True)
        except (OSError, RuntimeError, EOFError, pickle.UnpicklingError, KeyError) as error:
            raise InputError(f"{str(self.path)!r} cannot be read as a checkpoint: {error}") from error
        if not isinstance(state, dict) or state.get("format") != _FORMAT:
            raise InputError(f"{str(self.path)!r} is no checkpoint of this version of DeepNPSVC")
        self._compare(state["identity"], self._identity(training))
        try:
            training.network.load_state_dict(state["network"])
        except RuntimeError as error:
            raise InputError(f"the checkpoint {str(self.path)!r} belongs to another network: {error}") from error
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

    def _compare(self, found: dict[str, Any], wanted: dict[str, Any]) -> None:
        for name in sorted({*found, *wanted}):
            if found.get(name) != wanted.get(name):
                what = (
                    f"{found.get(name)!r} there, {wanted.get(name)!r} here"
                    if name != "data"
                    else "the samples or labels are others"
                )
                raise InputError(
                    f"the checkpoint {str(self.path)!r} is of another run: {name} differs ({what}). "
                    "Give the same parameters and data, another checkpoint, or resume=False"
                )


def plain(value: Any) -> float | str:
    """A number or a name as a checkpoint may hold it: no NumPy scalar."""
    return value if isinstance(value, str) else float(value)
