"""Limit of BLAS to one thread in each process, set before NumPy is imported; no limit with ``MARGINOPT_TEST_EFFORT=full``.

The suite has a worker for each processor: threads that wait for each other on small matrices would slow the other workers down.
"""

import os

from effort import FULL

if not FULL:
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
        os.environ.setdefault(name, "1")
