"""``python -m marginopt.conformance NAME``: the laws, tried on somebody's solver, formulation or relaxation."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Sequence

from ..errors import MarginoptError, MarginoptWarning
from .examine import Cell, examine, tally
from .laws import State

HOLDS, VIOLATED, WRONG_USE = 0, 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Print every law with what it says, and return 0 where all hold or do not apply, 1 where one does not, 2 for wrong use."""
    parser = argparse.ArgumentParser(
        prog="python -m marginopt.conformance",
        description="Try the laws of marginopt on a solver, a formulation or a relaxation.",
        epilog="exit codes: 0 every law holds or does not apply, 1 one does not hold, 2 wrong use",
    )
    parser.add_argument("name", help="as in marginopt.solvers(), models.formulations(), relaxations.relaxations()")
    parser.add_argument("--on", metavar="NAMES", help="only on these formulations (for a solver) or by these solvers, by commas")
    parser.add_argument("--all", action="store_true", help="also every cell that holds, with its figures")
    parser.add_argument("--json", action="store_true", help="print JSON for machines")
    a = parser.parse_args(argv)
    warnings.simplefilter("ignore", MarginoptWarning)  # what a tiny instance warns of is not what is examined
    try:
        others = None if a.on is None else [name.strip() for name in a.on.split(",") if name.strip()]
        cells = list(examine(a.name, others))
    except MarginoptError as error:
        sys.stderr.write(f"marginopt.conformance: {error}\n")
        return WRONG_USE
    sys.stdout.write((_json(cells) if a.json else _text(cells, a.all)) + "\n")
    return VIOLATED if tally(cells)[State.VIOLATED] else HOLDS


def _json(cells: list[Cell]) -> str:
    records = [{"law": c.law.name, "subject": c.subject, "state": c.verdict.state.value, "words": c.verdict.words} for c in cells]
    return json.dumps(records, indent=2)


def _text(cells: list[Cell], every: bool) -> str:
    """A paragraph for each law; why several of them do not apply is said once, at the end."""
    lines = []
    idle = [c for c in cells if c.verdict.state is State.NOT_APPLICABLE]
    several = {words for words in {c.verdict.words for c in idle} if len({c.law for c in idle if c.verdict.words == words}) > 1}
    for law in dict.fromkeys(c.law for c in cells):
        mine = [c for c in cells if c.law is law]
        count = tally(mine)
        counts_text = ", ".join(f"{state.value} {n}" for state, n in count.items() if n)
        lines += ["", f"{law.name}: {counts_text}", f"  {law.statement}"]
        lines += [f"  ✗ {c.subject}: {c.verdict.words}" for c in mine if c.verdict.state is State.VIOLATED]
        if every:
            lines += [f"  ✓ {c.subject}: {c.verdict.words}" for c in mine if c.verdict.state is State.HOLDS]
        lines += _reasons([c for c in idle if c.law is law and c.verdict.words not in several])
    if several:
        lines += ["", "not applicable, by several laws:", *_reasons([c for c in idle if c.verdict.words in several])]
    count = tally(cells)
    total = ", ".join(f"{n} {state.value}" for state, n in count.items())
    return "\n".join([*lines, "", f"{len(cells)} cells: {total}"]).strip()


def _reasons(cells: list[Cell]) -> list[str]:
    """A line for each reason, with the first of its subjects."""
    reasons: dict[str, list[str]] = {}
    for c in cells:
        if c.subject not in reasons.setdefault(c.verdict.words, []):
            reasons[c.verdict.words].append(c.subject)
    more = {reason: f" and {len(subjects) - 1} more" if len(subjects) > 1 else "" for reason, subjects in reasons.items()}
    return [f"  - {subjects[0]}{more[reason]}: {reason}" for reason, subjects in reasons.items()]


if __name__ == "__main__":
    sys.exit(main())
