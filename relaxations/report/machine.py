"""The machine that a report was made on, in words without its name."""

from __future__ import annotations

import os
import platform

from ...models.kernels.threads import blas_controller

__all__ = ["blas", "machine"]


def machine() -> str:
    """System, architecture, cores, memory."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GiB"


def blas() -> list[str]:
    """The BLAS libraries that are loaded, with their threads."""
    libraries = blas_controller().info()
    return [f"{b['internal_api']} {b['version']}, {b.get('architecture', '?')}, {b['num_threads']} threads" for b in libraries]
