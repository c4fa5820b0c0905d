"""The verdict of a law on one case: it holds, it is violated (with the numbers), or it does not apply (with the reason)."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["State", "Verdict", "all_of", "at_most", "holds", "not_applicable", "violated"]


class State(enum.Enum):
    """The state of a law."""

    HOLDS = "holds"
    VIOLATED = "does not hold"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True)
class Verdict:
    """A state and what supports it: figures where the law holds or does not, the reason where it does not apply."""

    state: State
    words: str

    def __post_init__(self) -> None:
        if not self.words.strip():
            raise ValueError(f"a verdict '{self.state.value}' without figures or a reason says nothing")

    def __str__(self) -> str:
        return f"{self.state.value}: {self.words}"


def holds(words: str) -> Verdict:
    """The law holds; the figures."""
    return Verdict(State.HOLDS, words)


def violated(words: str) -> Verdict:
    """The law does not hold; what was found and what was to be."""
    return Verdict(State.VIOLATED, words)


def not_applicable(reason: str) -> Verdict:
    """The law says nothing here, and why."""
    return Verdict(State.NOT_APPLICABLE, reason)


def at_most(what: str, value: float, limit: float) -> Verdict:
    """Return whether a figure is within its limit; NaN is not."""
    return holds(f"{what} {value:.1e}") if value <= limit else violated(f"{what} {value:.3e}, allowed {limit:.1e}")


def all_of(verdicts: Iterable[Verdict]) -> Verdict:
    """One verdict from several: violated if one is, not applicable if all are, else that of the first that holds."""
    verdict_list = list(verdicts)
    wrong = [v.words for v in verdict_list if v.state is State.VIOLATED]
    if wrong:
        return violated("; ".join(wrong))
    good = [v for v in verdict_list if v.state is State.HOLDS]
    return holds("; ".join(v.words for v in good)) if good else verdict_list[0]
