"""``python -m marginopt.conformance NAME``: test a solver, formulation or relaxation against the laws of its kind."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Sequence

from ..cli.parsing import comma_separated
from ..errors import MarginoptError, MarginoptWarning
from .examine import LawCell, examine, report, tally
from .laws import State

#: Exit codes: every law holds or does not apply; a law does not hold; an argument cannot be used.
HOLDS, VIOLATED, WRONG_USE = 0, 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Print the verdicts, and return 0 where all laws hold or do not apply, 1 where one does not hold, 2 for wrong use."""
    parser = argparse.ArgumentParser(
        prog="python -m marginopt.conformance",
        description="Try the laws of marginopt on a solver, a formulation or a relaxation.",
        epilog="exit codes: 0 every law holds or does not apply, 1 one does not hold, 2 wrong use",
    )
    parser.add_argument("name", help="as in marginopt.solvers.table(), formulations.table() or relaxations.table()")
    parser.add_argument("--on", metavar="NAMES", help="only on these formulations (for a solver) or by these solvers, by commas")
    parser.add_argument("--all", action="store_true", help="also every cell that holds, with its figures")
    parser.add_argument("--json", action="store_true", help="print JSON for machines")
    args = parser.parse_args(argv)
    warnings.simplefilter("ignore", MarginoptWarning)  # tiny instances warn of matters that no law is about
    try:
        companions = None if args.on is None else comma_separated(args.on)
        cells = list(examine(args.name, companions))
    except MarginoptError as error:
        sys.stderr.write(f"marginopt.conformance: {error}\n")
        return WRONG_USE
    sys.stdout.write((_json(cells) if args.json else report(cells, args.all)) + "\n")
    return VIOLATED if tally(cells)[State.VIOLATED] else HOLDS


def _json(cells: list[LawCell]) -> str:
    records = [{"law": c.law.name, "subject": c.subject, "state": c.verdict.state.value, "words": c.verdict.words} for c in cells]
    return json.dumps(records, indent=2)


if __name__ == "__main__":
    sys.exit(main())
