"""The traits of an instance of a report: its family, the parameters that it was drawn with, and their words."""

from __future__ import annotations

from ...instances.naming import SIZES, Naming
from .cells.heuristic import InstanceCell
from .cells.record import where

__all__ = ["SWEPT", "family", "label", "titled", "trait", "without"]

#: Parameters that a report sweeps over, and how they are shown.
SWEPT = {"n": "n", "p": "p", "sigma": "σ", "tau": "τ", "lam": "λ"}


def _naming(instance: InstanceCell) -> Naming:
    counted = {size: value for size, value in zip(SIZES, (instance.n, instance.p), strict=True) if value is not None}
    return Naming(instance.instance, instance.family, instance.parameters, counted)


def family(instance: InstanceCell) -> str:
    """Return the family of instances that differ in sizes and parameters alone; its name where it is of no family."""
    return _naming(instance).of


def label(instance: InstanceCell) -> str:
    """The name for a row that has n and p in columns of their own: without them, the other parameters by their symbols."""
    return _words(instance, *SIZES)


def titled(instance: InstanceCell) -> str:
    """``set[n=50, sigma=0.2]`` as ``set, n = 50, σ = 0.2``; a name of its own as it is."""
    return _words(instance)


def _words(instance: InstanceCell, *left_out: str) -> str:
    naming = _naming(instance)
    facts = naming.said
    if facts is None:
        return instance.instance
    equals = "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"
    shown = [f"{SWEPT.get(name, name)}{equals}{value:.12g}" for name, value in facts.items() if name not in left_out]
    return ", ".join([naming.of, *shown])


def trait(instance: InstanceCell, parameter: str) -> float | None:
    """Value of a parameter of `SWEPT`; None where the instance has none of that name."""
    known = {"n": instance.n, "p": instance.p, "lam": instance.lam}.get(parameter)
    return instance.parameters.get(parameter) if known is None else float(known)


def without(instance: InstanceCell, parameter: str) -> str:
    """Instance and λ in words without one parameter: those that agree in it are one curve's points."""
    return where(_words(instance, parameter), None if parameter == "lam" else instance.lam)
