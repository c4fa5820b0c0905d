"""marginopt: mathematical programs for maximum-margin learning.

State a formulation as an object, look at it, hand it to any solver, and trust the answer because its certificate is
recomputed outside the solver::

    import marginopt as mo

    data = mo.load("wdbc").prepared()
    model = mo.ZeroOneSVM(data.X, data.y, lam=1.0)
    result = mo.solve(model, "scip", time_limit=60)

Everything public is here; the subpackages ``models``, ``solvers``, ``relaxations`` and ``instances`` hold the rest.
``marginopt.solvers()`` is the table of solvers.
"""

from importlib import metadata

from . import errors, instances, models, relaxations, solvers
from .errors import (
    DataError,
    InputError,
    LicenceError,
    MarginoptError,
    MarginoptWarning,
    MissingPackageError,
    TooLargeError,
    UnsupportedModelError,
)
from .instances import Instance, catalogue, load
from .models import (
    RBF,
    ConicSVM,
    ConvexHullsDual,
    HingeSVM,
    L1SVMDual,
    L2SVMDual,
    Linear,
    MaxMinSVM,
    MEBDual,
    Model,
    Polynomial,
    Precomputed,
    StandardForm,
    ZeroOneSVM,
)
from .reading import read
from .relaxations import GapReport, gap_report
from .solvers import Certificate, Comparison, Options, Result, Status, certify, compare, load_result, read_solution, solve

__version__ = metadata.version("marginopt")

__all__ = [
    "RBF",
    "Certificate",
    "Comparison",
    "ConicSVM",
    "ConvexHullsDual",
    "DataError",
    "GapReport",
    "HingeSVM",
    "InputError",
    "Instance",
    "L1SVMDual",
    "L2SVMDual",
    "LicenceError",
    "Linear",
    "MEBDual",
    "MarginoptError",
    "MarginoptWarning",
    "MaxMinSVM",
    "MissingPackageError",
    "Model",
    "Options",
    "Polynomial",
    "Precomputed",
    "Result",
    "StandardForm",
    "Status",
    "TooLargeError",
    "UnsupportedModelError",
    "ZeroOneSVM",
    "__version__",
    "catalogue",
    "certify",
    "compare",
    "errors",
    "gap_report",
    "instances",
    "load",
    "load_result",
    "models",
    "read",
    "read_solution",
    "relaxations",
    "solve",
    "solvers",
]
