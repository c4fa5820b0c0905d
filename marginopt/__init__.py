"""marginopt: mathematical programs for maximum-margin learning.

State a formulation as an object, look at it, hand it to any solver, and trust the answer because its certificate is
recomputed outside the solver::

    import marginopt as mo

    data = mo.load("wdbc").prepared()
    model = mo.ZeroOneSVM(data.X, data.y, lam=1.0)
    result = mo.solve(model, "scip", time_limit=60)

Everything public is here; the subpackages ``models``, ``solvers``, ``relaxations`` and ``instances`` hold the rest.
``marginopt.solvers()`` is the table of solvers. The scikit-learn estimators (``marginopt.L2SVC`` and the others of
``marginopt.estimators``) are imported when they are first asked for, since scikit-learn is slow to import.
"""

from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any

from . import errors, instances, models, relaxations, selection, solvers
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
from .extensions import register
from .instances import Instance, catalogue, load
from .models import (
    RBF,
    ChebyshevNPSVC,
    ConicSVM,
    ConvexHullsDual,
    HingeSVM,
    L1SVMDual,
    L2SVMDual,
    Laplacian,
    Linear,
    MaxMinSVM,
    MEBDual,
    Mixture,
    Model,
    NonparallelSVM,
    ParetoQP,
    Polynomial,
    Precomputed,
    RampSVM,
    RationalQuadratic,
    StandardForm,
    StiefelQP,
    ZeroOneSVM,
    from_cvxpy,
    from_gurobi,
    from_highs,
    from_pyomo,
    from_scipy,
)
from .performance import performance_profile
from .reading import read
from .relaxations import GapReport, gap_report
from .selection import Selection, select
from .solvers import Certificate, Comparison, Options, Result, Status, certify, compare, load_result, path, read_solution, solve

if TYPE_CHECKING:
    from . import deep as deep, estimators
    from .deep import DeepNPSVC as DeepNPSVC
    from .estimators import (
        L2SVC,
        NCHSVC,
        ConicSVC,
        ConicSVCCV,
        HingeSVC,
        HingeSVCCV,
        KernelNPSVC,
        MaxMinSVC,
        MEBOneClass,
        ZeroOneSVC,
    )

__version__ = metadata.version("marginopt")

__all__ = [
    "L2SVC",
    "NCHSVC",
    "RBF",
    "Certificate",
    "ChebyshevNPSVC",
    "Comparison",
    "ConicSVC",
    "ConicSVCCV",
    "ConicSVM",
    "ConvexHullsDual",
    "DataError",
    "GapReport",
    "HingeSVC",
    "HingeSVCCV",
    "HingeSVM",
    "InputError",
    "Instance",
    "KernelNPSVC",
    "L1SVMDual",
    "L2SVMDual",
    "Laplacian",
    "LicenceError",
    "Linear",
    "MEBDual",
    "MEBOneClass",
    "MarginoptError",
    "MarginoptWarning",
    "MaxMinSVC",
    "MaxMinSVM",
    "MissingPackageError",
    "Mixture",
    "Model",
    "NonparallelSVM",
    "Options",
    "ParetoQP",
    "Polynomial",
    "Precomputed",
    "RampSVM",
    "RationalQuadratic",
    "Result",
    "Selection",
    "StandardForm",
    "Status",
    "StiefelQP",
    "TooLargeError",
    "UnsupportedModelError",
    "ZeroOneSVC",
    "ZeroOneSVM",
    "__version__",
    "catalogue",
    "certify",
    "compare",
    "errors",
    "estimators",
    "from_cvxpy",
    "from_gurobi",
    "from_highs",
    "from_pyomo",
    "from_scipy",
    "gap_report",
    "instances",
    "load",
    "load_result",
    "models",
    "path",
    "performance_profile",
    "read",
    "read_solution",
    "register",
    "relaxations",
    "select",
    "selection",
    "solve",
    "solvers",
]

_ESTIMATORS = frozenset(
    {
        "L2SVC",
        "NCHSVC",
        "ConicSVC",
        "ConicSVCCV",
        "HingeSVC",
        "HingeSVCCV",
        "KernelNPSVC",
        "MEBOneClass",
        "MaxMinSVC",
        "ZeroOneSVC",
    }
)


def __getattr__(name: str) -> Any:
    """The estimators, imported on first use; those of ``deep`` need PyTorch."""
    if name in ("deep", "DeepNPSVC"):
        package = import_module(".deep", __name__)
        return package if name == "deep" else package.DeepNPSVC
    if name == "estimators" or name in _ESTIMATORS:
        package = import_module(".estimators", __name__)
        return package if name == "estimators" else getattr(package, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "DeepNPSVC", "deep"})
