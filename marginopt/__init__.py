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

from __future__ import annotations

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
    Laplacian,
    Linear,
    Mixture,
    Model,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    StandardForm,
    from_cvxpy,
    from_gurobi,
    from_highs,
    from_pyomo,
    from_scipy,
)
from .models.formulations import find_formulation, public_formulations
from .performance import performance_profile
from .reading import read
from .relaxations import GapReport, gap_report
from .selection import Selection, select
from .solvers import (
    Certificate,
    Comparison,
    Options,
    Result,
    Status,
    certify,
    compare,
    conflict,
    load_result,
    path,
    read_solution,
    solve,
)

if TYPE_CHECKING:  # for type checkers; what has no line here works all the same
    from collections.abc import Mapping

    from . import deep as deep, estimators, margin
    from .deep import DeepNPSVC as DeepNPSVC
    from .estimators import (
        L2SVC as L2SVC,
        NCHSVC as NCHSVC,
        ConicSVC as ConicSVC,
        ConicSVCCV as ConicSVCCV,
        HingeSVC as HingeSVC,
        HingeSVCCV as HingeSVCCV,
        KernelNPSVC as KernelNPSVC,
        MarginClassifier as MarginClassifier,
        MaxMinSVC as MaxMinSVC,
        MEBOneClass as MEBOneClass,
        ZeroOneSVC as ZeroOneSVC,
    )
    from .estimators.record import EstimatorInfo
    from .margin import at_most, error_budget, fixed, keep, parity
    from .models import (
        BoxProgram as BoxProgram,
        ChebyshevNPSVC as ChebyshevNPSVC,
        ConicSVM as ConicSVM,
        ConvexHullsDual as ConvexHullsDual,
        HingeQuadratic as HingeQuadratic,
        HingeSVM as HingeSVM,
        L1SVMDual as L1SVMDual,
        L2SVMDual as L2SVMDual,
        Margin as Margin,
        MaxMinSVM as MaxMinSVM,
        MEBDual as MEBDual,
        NonparallelSVM as NonparallelSVM,
        ParetoQP as ParetoQP,
        RampSVM as RampSVM,
        StiefelQP as StiefelQP,
        ZeroOneSVM as ZeroOneSVM,
    )

__version__ = metadata.version("marginopt")

__all__ = [
    "RBF",
    "Certificate",
    "Comparison",
    "DataError",
    "GapReport",
    "InputError",
    "Instance",
    "Laplacian",
    "LicenceError",
    "Linear",
    "MarginoptError",
    "MarginoptWarning",
    "MissingPackageError",
    "Mixture",
    "Model",
    "Options",
    "Polynomial",
    "Precomputed",
    "RationalQuadratic",
    "Result",
    "Selection",
    "StandardForm",
    "Status",
    "TooLargeError",
    "UnsupportedModelError",
    "__version__",
    "at_most",
    "catalogue",
    "certify",
    "compare",
    "conflict",
    "error_budget",
    "errors",
    "estimators",
    "fixed",
    "from_cvxpy",
    "from_gurobi",
    "from_highs",
    "from_pyomo",
    "from_scipy",
    "gap_report",
    "instances",
    "keep",
    "load",
    "load_result",
    "margin",
    "models",
    "parity",
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

#: What stands here in words; the whole list has the formulations and estimators as well, and is made when it is asked for.
_OWN = tuple(__all__)
del __all__
#: Short words for restrictions of `Margin`.
_WORDS = frozenset({"at_most", "error_budget", "fixed", "keep", "parity"})


def __getattr__(name: str) -> Any:
    """Formulations and estimators by their records, imported on first use; what ``deep`` holds needs PyTorch."""
    if name in ("deep", "DeepNPSVC"):
        package = import_module(".deep", __name__)
        return package if name == "deep" else package.DeepNPSVC
    if name == "estimators":
        return import_module(".estimators", __name__)
    if name == "margin" or name in _WORDS:
        package = import_module(".margin", __name__)
        return package if name == "margin" else getattr(package, name)
    if name == "__all__":
        return sorted([*_OWN, *(info.key for info in public_formulations()), *_estimators()])
    if not name.startswith("_"):
        found = find_formulation(name)
        if found is not None:
            return found.model
        if name in _estimators():
            return _estimators()[name].estimator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _estimators() -> Mapping[str, EstimatorInfo]:
    """Their records; scikit-learn is imported."""
    return import_module(".estimators", __name__).all_estimators()


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__"), "DeepNPSVC", "deep"})
