"""The limit of a form's size when it is materialised."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ..errors import InputError, TooLargeError

__all__ = ["check_bytes", "materialise_limit", "most_held"]


def materialise_limit() -> int:
    """Bytes that a form may take: half of the machine's memory, or the environment variable MARGINOPT_MAX_BYTES.

    Raises
    ------
    InputError
        The variable does not hold a number.
    """
    value = os.environ.get("MARGINOPT_MAX_BYTES")
    if value is None:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    try:
        return int(float(value))
    except ValueError as error:
        raise InputError(f"MARGINOPT_MAX_BYTES must be a number of bytes; it is {value!r}") from error


def check_bytes(need: int, what: str) -> None:
    """Raise where ``what`` would need more bytes than the limit.

    Raises
    ------
    TooLargeError
        Says how many bytes it would need, and what to do.
    """
    limit = materialise_limit()
    if need > limit:
        raise TooLargeError(
            f"{what} would need {need:,} bytes ({need / 2**30:.1f} GiB); the limit is {limit:,} (half of this machine's memory, "
            "or MARGINOPT_MAX_BYTES). Hand-written algorithms that read the model's structure need no matrix: "
            "marginopt.solvers() lists them"
        )


def most_held() -> int:
    """Bytes of memory that this process has held at most, its interpreter included.

    Linux counts in ``ru_maxrss`` of a process what the one that started it held before, so it is asked otherwise there.

    Raises
    ------
    ImportError
        The system (Windows) does not say.
    """
    import resource

    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
