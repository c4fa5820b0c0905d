"""The shifted geometric mean, in which benchmarks of solvers report seconds and nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..errors import InputError

#: Shifts of geometric means of seconds and of nodes, as is usual in benchmarks of mixed-integer solvers.
SECONDS_SHIFT, NODES_SHIFT = 1.0, 10.0


def shifted_geometric_mean(values: Sequence[float] | npt.NDArray[np.float64], shift: float) -> float:
    """Return exp(mean(log(v + s))) - s: a mean in which neither the largest nor the smallest values decide.

    Parameters
    ----------
    values : sequence of float
        Numbers above -s, such as seconds or nodes.
    shift : float
        s > 0.

    Returns
    -------
    float

    Raises
    ------
    InputError
        No values, or one with v + s ≤ 0.
    """
    shifted = np.asarray(values, dtype=np.float64) + shift
    if shifted.size == 0 or not (shifted > 0.0).all():
        raise InputError(
            f"a shifted geometric mean needs values above {-shift:g}, one at least; they are {list(values)}", name="values"
        )
    return float(np.exp(np.log(shifted).mean()) - shift)
