"""What an instance's name says: ``gaussian-clustered[n=50, p=3, sigma=0.2]`` is of a family and has parameters."""

from __future__ import annotations

import re

from .cells.heuristic import InstanceCell
from .cells.record import where

__all__ = ["SWEPT", "family", "label", "titled", "trait", "without"]

#: Parameters that a report sweeps over, as names say them, and how they are shown.
SWEPT = {"n": "n", "p": "p", "sigma": "σ", "tau": "τ", "lam": "λ"}
_BRACKET = re.compile(r"\[([^][]*)\]")
_FEATURES = re.compile(r"\[(\d+) features\]")
_PARAMETER = re.compile(r"\b(\w+)=")


def family(name: str) -> str:
    """The name without what stands in brackets: instances of one family differ in parameters alone."""
    return _BRACKET.sub("", name).strip() or name


def label(instance: InstanceCell) -> str:
    """The name for a row that has n and p in columns of their own: without them, the other parameters by their symbols."""
    name = _FEATURES.sub(lambda at: "" if at[1] == str(instance.p) else at[0], instance.instance)
    own = {f"n={instance.n}", f"p={instance.p}"}
    kept = _BRACKET.sub(lambda at: "[" + ", ".join(part for part in at[1].split(", ") if part not in own) + "]", name)
    return titled(kept) or instance.instance


def titled(name: str) -> str:
    """``set[n=50, sigma=0.2]`` as ``set, n = 50, σ = 0.2``."""
    return _BRACKET.sub(lambda at: ", " + _PARAMETER.sub(_symbol, at[1]) if at[1] else "", name).strip(", ")


def _symbol(at: re.Match[str]) -> str:
    return f"{SWEPT.get(at[1], at[1])}\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"


def trait(instance: InstanceCell, parameter: str) -> float | None:
    """Value of a parameter of `SWEPT`: n, p and λ of the cell, the others as the name says; None where it says nothing."""
    if parameter in ("n", "p", "lam"):
        value = getattr(instance, parameter)
        return None if value is None else float(value)
    found = re.search(rf"(?:^|[\[,\s]){parameter}=([0-9.eE+-]+)", instance.instance)
    try:
        return None if found is None else float(found[1])
    except ValueError:
        return None


def without(instance: InstanceCell, parameter: str) -> str:
    """Instance and λ in words without one parameter: those that agree in it are one curve's points."""
    name = re.sub(rf"\b{parameter}=[^,\]]*(, ?)?", "", instance.instance).replace(", ]", "]").replace("[]", "")
    if parameter == "p":  # reduced data say it in words
        name = _FEATURES.sub("", name)
    return where(titled(name), None if parameter == "lam" else instance.lam)
