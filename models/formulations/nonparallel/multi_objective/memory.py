"""A check that the matrices of the alternating steps fit into memory."""

from __future__ import annotations

from .....errors import TooLargeError
from ....memory import materialise_limit
from .problem import ChebyshevProblem

__all__ = ["check_memory"]


def check_memory(model: ChebyshevProblem) -> None:
    """Refuse where they would not: O(n²) for all classes, and |B|² for each.

    With features Ψ of p columns the p × p matrices are the same in number, and each class has two of them.

    Raises
    ------
    TooLargeError
        Says how many bytes they would need, and what to do.
    """
    n, p = model.X.shape[0], model.features.features
    outside = [int((~model.near(k)).sum()) for k in range(model.K)]
    if model.features.linear:
        numbers = n * p + (3 + 2 * model.K) * p * p + 2 * p * sum(outside)
    else:
        shared = 1 if min(outside) * 2 < n else 0
        numbers = (6 + shared) * n * n + sum(m * m for m in outside) + 2 * max(outside) ** 2
    limit = materialise_limit()
    if 8 * numbers > limit:
        need = f"{8 * numbers:,} bytes ({8 * numbers / 2**30:.1f} GiB)"
        raise TooLargeError(
            f"{model.name} with n = {n} points and {p} features would need {need} for its matrices; the limit is {limit:,} "
            "(half of this machine's memory, or MARGINOPT_MAX_BYTES). Give fewer points, or features in place of the kernel: "
            "KernelNPSVC(approximation='nystroem' or 'fourier')"
        )
