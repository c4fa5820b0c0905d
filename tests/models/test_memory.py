"""The memory that a process has held is its own, and views take none for what they do not hold."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from marginopt.models import Margin
from marginopt.models.views import ConicProblem, ZeroOneProblem

CHILD = "from marginopt.models.arrays import peak_memory; print(peak_memory())"
PARENT = f"""
import subprocess, sys
from marginopt.models.arrays import peak_memory
held = b"1" * (1 << 29)
print(subprocess.run([sys.executable, "-c", {CHILD!r}], capture_output=True, text=True, check=True).stdout, peak_memory())
"""


def test_what_another_process_held_does_not_count() -> None:
    """A process that holds 512 MiB starts one that holds little."""
    process = subprocess.run([sys.executable, "-c", PARENT], capture_output=True, text=True, check=True).stdout
    child, parent = map(int, process.split())
    assert 1 << 20 < child < 1 << 28 < parent


@pytest.mark.parametrize("loss", ["logistic", "squared-hinge", "hinge", "exponential", "ramp"])
@pytest.mark.parametrize("kind", [ZeroOneProblem, ConicProblem])
def test_a_view_that_a_loss_lacks_makes_no_dense_rows(loss: str, kind: type) -> None:
    """`auto` asks for every view; the dense rows of sparse data may not fit in memory."""
    rng, n, p = np.random.default_rng(0), 200, 20_000
    columns = np.column_stack([np.zeros(n, dtype=int), rng.integers(1, p, (n, 2))]).ravel()
    X = sp.csr_array((np.ones(3 * n), (np.repeat(np.arange(n), 3), columns)), shape=(n, p))
    X.sum_duplicates()
    model = Margin(X, np.where(rng.random(n) < 0.5, -1.0, 1.0), loss, "half-l2")
    tracemalloc.start()
    assert model.view(kind) is None
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < n * p  # bytes; the dense rows have eight for each entry
