"""Results that were pickled before answers were typed, as results of now."""

from __future__ import annotations

from typing import Any

from ..records.answer import Answer

__all__ = ["with_answer"]

#: Fields that were the result's own and are the answer's.
_OF_ANSWER = ("version", "multipliers", "nodes", "iterations", "trace", "build_seconds", "solve_seconds", "details")


def with_answer(state: dict[str, Any]) -> dict[str, Any]:
    """The state of a pickled result, its answer made of what was said in other fields; that of now as it is.

    The claim held status, native status, objective, bound and whether this is proved. The point is the judged one.
    """
    if "answer" in state:
        return state
    state = dict(state)
    said = vars(state.pop("claim")) | {name: state.pop(name) for name in _OF_ANSWER}
    answer = Answer(values=state["values"] or None, **said)
    return {**state, "answer": answer, "unverified": "claims as pickled by an earlier version"}
