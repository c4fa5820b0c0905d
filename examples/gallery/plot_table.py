"""
How do I classify the rows of a file?
=====================================

A CSV file with a column of names, two of its classes, and the hinge classifier between them. Each feature is standardised.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import marginopt as mo

rng = np.random.default_rng(0)
kind = rng.choice(["oak", "elm", "ash"], 60)
size = rng.normal(size=(60, 2)) + np.array([[{"oak": 2.0, "elm": 0.0, "ash": -2.0}[k], 0.0] for k in kind])
lines = ["height,girth,kind", *(f"{a:.3f},{b:.3f},{k}" for (a, b), k in zip(size, kind, strict=True))]
with TemporaryDirectory() as folder:
    path = Path(folder) / "trees.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    two = mo.read(path, label="kind").pair("elm", "oak").prepared()
model = mo.HingeSVM(two, lam=1.0)
result = mo.solve(model)

# %%
picture = model.explain(result).picture()
