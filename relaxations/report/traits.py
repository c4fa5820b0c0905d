"""What an instance's name says: ``gaussian-clustered[n=50, p=3, sigma=0.2]`` is of a family and has parameters."""

from __future__ import annotations

import re

from .cells.heuristic import InstanceCell

__all__ = ["SWEPT", "family", "trait", "without"]

#: Parameters that a report sweeps over, as names say them, and how they are shown.
SWEPT = {"n": "n", "p": "p", "sigma": "σ", "tau": "τ", "lam": "λ"}
_BRACKET = re.compile(r"\[([^][]*)\]")


def family(name: str) -> str:
    """The name without what stands in brackets: instances of one family differ in parameters alone."""
    return _BRACKET.sub("", name).strip() or name


def trait(instance: InstanceCell, parameter: str) -> float | None:
    """Value of a parameter of `SWEPT`: n, p and λ of the cell, the others as the name says; None where it says nothing."""
    if parameter in ("n", "p", "lam"):
        return float(getattr(instance, parameter))
    found = re.search(rf"(?:^|[\[,\s]){parameter}=([0-9.eE+-]+)", instance.instance)
    try:
        return None if found is None else float(found[1])
    except ValueError:
        return None


def without(instance: InstanceCell, parameter: str) -> str:
    """Instance and λ in words without one parameter: those that agree in it are one curve's points."""
    name = re.sub(rf"\b{parameter}=[^,\]]*(, ?)?", "", instance.instance).replace(", ]", "]").replace("[]", "")
    if parameter == "p":  # reduced data say it in words
        name = re.sub(r"\[\d+ features\]", "", name)
    return name if parameter == "lam" else f"{name}, λ = {instance.lam:g}"
