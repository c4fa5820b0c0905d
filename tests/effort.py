"""Numbers of random trials: few of them by default, and many with ``MARGINOPT_TEST_EFFORT=full`` (`make test-full`)."""

from __future__ import annotations

import os

FULL = os.environ.get("MARGINOPT_TEST_EFFORT", "") == "full"


def trials(few: int, full: int) -> int:
    """Return the number of trials of a law: ``full`` where the environment asks for it, ``few`` otherwise."""
    return full if FULL else few
