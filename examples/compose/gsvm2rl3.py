"""MIPLIB's gsvm2rl3 in one expression: the ramp loss with the L1 norm of the kernel weights (Hess and Brooks, 2015).

MARGINOPT_DATA=... python examples/compose/gsvm2rl3.py [solver]

The points are in miplib/gsvm2rl3.csv.bz2 of that directory (y, x1, ..., x10). MIPLIB's rows have all kernel weights; this program
has w and the weights that make it. Its ramp costs again below a margin of -99, as the row's constant of 100 has it.
"""

from __future__ import annotations

import bz2
import os
import sys
from pathlib import Path

import numpy as np

import marginopt as mo
from marginopt import margin

#: The optimum in MIPLIB 2017's table.
OPTIMUM = 0.33652753


def gsvm2rl3(Z: np.ndarray, y: np.ndarray, C: float = 0.3) -> mo.Model:
    """Return the model on points Z with labels y; the points of each class share C."""
    X = np.column_stack([np.ones(len(y)), Z])
    size = np.where(y > 0, (y > 0).sum(), (y < 0).sum())
    return mo.Margin(
        X, y, margin.Ramp(2, 2, second_width=100), margin.KernelWeightsL1(Z), intercept="free", sample_weight=C / size
    )


def read_points(directory: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and labels of the file."""
    with bz2.open(directory / "miplib" / "gsvm2rl3.csv.bz2", "rt", encoding="ascii") as file:
        table = np.loadtxt(file, delimiter=",", skiprows=1)
    return table[:, 1:], table[:, 0]


if __name__ == "__main__":
    model = gsvm2rl3(*read_points(Path(os.environ["MARGINOPT_DATA"])))
    print(f"{model}\n{mo.solve(model, *sys.argv[1:2] or ['highs'])}\nMIPLIB: {OPTIMUM}")
