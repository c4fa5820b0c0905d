"""One BLAS thread a process, set before NumPy is imported; with ``MARGINOPT_TEST_EFFORT=full`` as many as the machine has.

Every worker of the suite has a processor: threads that wait for each other on small matrices would take it from the others.
"""

import os

from effort import FULL

if not FULL:
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
        os.environ.setdefault(name, "1")
