"""marginopt: mathematical programs for maximum-margin learning.

State a formulation as an object, look at it, hand it to any solver, and trust the answer because its certificate is
recomputed outside the solver::

    import marginopt as mo

    data = mo.load("wdbc").prepared()
    model = mo.ZeroOneSVM(data.X, data.y, lam=1.0)
    result = mo.solve(model, "scip", time_limit=60)

Everything public is here; the subpackages ``models``, ``solvers``, ``relaxations`` and ``instances`` hold the rest.
``marginopt.formulations()`` and ``marginopt.solvers()`` are the tables of formulations and solvers. Every name is
imported when it is first asked for, with the packages that it needs, so that ``import marginopt`` itself costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from .late_method import LateMethod

if TYPE_CHECKING:  # for type checkers; what has no line here works all the same
    from collections.abc import Mapping

    from . import deep as deep, errors, estimators, instances, margin, models, questions, relaxations, selection, solvers
    from .auditing import Audit, audit
    from .compilation import warm_up
    from .deep import DeepNPSVC as DeepNPSVC
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
    from .estimators import (
        L2SVC as L2SVC,
        NCHSVC as NCHSVC,
        ConicSVC as ConicSVC,
        ConicSVCCV as ConicSVCCV,
        HingeSVC as HingeSVC,
        HingeSVCCV as HingeSVCCV,
        KernelNPSVC as KernelNPSVC,
        LogisticRegression as LogisticRegression,
        MarginClassifier as MarginClassifier,
        MaxMinSVC as MaxMinSVC,
        MEBOneClass as MEBOneClass,
        MulticlassSVC as MulticlassSVC,
        NonparallelSVC as NonparallelSVC,
        RampSVC as RampSVC,
        ScoringSystemClassifier as ScoringSystemClassifier,
        ZeroOneSVC as ZeroOneSVC,
    )
    from .estimators.record import EstimatorInfo
    from .extensions import register
    from .instances import Instance, load, open_rows
    from .instances.catalogue import catalogue
    from .margin import at_most, error_budget, fixed, keep, parity
    from .models import (
        RBF,
        BoxProgram as BoxProgram,
        ChebyshevNPSVC as ChebyshevNPSVC,
        ConicSVM as ConicSVM,
        ConvexHullsDual as ConvexHullsDual,
        HingeQuadratic as HingeQuadratic,
        HingeSVM as HingeSVM,
        L1SVMDual as L1SVMDual,
        L2SVMDual as L2SVMDual,
        Laplacian,
        Linear,
        Margin as Margin,
        MaxMinSVM as MaxMinSVM,
        MEBDual as MEBDual,
        Mixture,
        Model,
        MulticlassSVM as MulticlassSVM,
        NonparallelSVM as NonparallelSVM,
        ParetoQP as ParetoQP,
        Polynomial,
        Precomputed,
        RampSVM as RampSVM,
        RationalQuadratic,
        ScoringSystem as ScoringSystem,
        StandardForm,
        StiefelQP as StiefelQP,
        ZeroOneSVM as ZeroOneSVM,
        formulations,
        from_cvxpy,
        from_gurobi,
        from_highs,
        from_pyomo,
        from_qp,
        from_scipy,
    )
    from .performance import performance_profile
    from .proof_page import write_proof_page
    from .reading import read
    from .relaxations import GapReport, gap_report
    from .selection import Selection, select
    from .solvers import Certificate, Comparison, Options, Result, Status, certify, conflict, load_result
    from .solvers.checks.feasibility import PointCheck, check_point
    from .solvers.compare import compare
    from .solvers.depth.depth import HalfspaceDepth, halfspace_depth
    from .solvers.path import path
    from .solvers.proofs import check_proof
    from .solvers.read_solution import read_solution
    from .solvers.solve import solve
    from .solvers.vipr.certificate import ViprCertificate, write_vipr
    from .unpickling import load_estimator

#: Where the names of this page come from. Each is imported when it is first asked for: SciPy alone takes a third of a second.
_HOMES = {
    ".auditing": ("Audit", "audit"),
    ".errors": (
        "DataError", "InputError", "LicenceError", "MarginoptError", "MarginoptWarning", "MissingPackageError", "TooLargeError",
        "UnsupportedModelError",
    ),
    ".extensions": ("register",),
    ".instances": ("Instance", "catalogue", "load", "open_rows"),
    ".margin": ("at_most", "error_budget", "fixed", "keep", "parity"),
    ".models": (
        "RBF", "Laplacian", "Linear", "Mixture", "Model", "Polynomial", "Precomputed", "RationalQuadratic", "StandardForm",
        "formulations", "from_cvxpy", "from_gurobi", "from_highs", "from_pyomo", "from_qp", "from_scipy",
    ),
    ".performance": ("performance_profile",),
    ".proof_page": ("write_proof_page",),
    ".reading": ("read",),
    ".relaxations": ("GapReport", "gap_report"),
    ".selection": ("Selection", "select"),
    ".unpickling": ("load_estimator",),
    ".compilation": ("warm_up",),
    ".solvers": (
        "Certificate", "Comparison", "Options", "Result", "Status", "certify", "compare", "conflict", "load_result", "path",
        "read_solution", "solve",
    ),
    ".solvers.checks.feasibility": ("PointCheck", "check_point"),
    ".solvers.depth.depth": ("HalfspaceDepth", "halfspace_depth"),
    ".solvers.proofs": ("check_proof",),
    ".solvers.vipr.certificate": ("ViprCertificate", "write_vipr"),
    ".deep": ("DeepNPSVC",),
}  # fmt: skip
_HOME = {name: module for module, names in _HOMES.items() for name in names}

#: The modules that implement methods which a formulation, a form or a result offers and its own module cannot.
LateMethod.homes |= {
    "conflict": "marginopt.solvers.checks.conflict",
    "verify": "marginopt.solvers.checks.verify",
    "check_duals": "marginopt.solvers.checks.verify",
    "save": "marginopt.solvers.result_file",
}

__all__ = [
    "RBF",
    "Audit",
    "Certificate",
    "Comparison",
    "DataError",
    "GapReport",
    "HalfspaceDepth",
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
    "PointCheck",
    "Polynomial",
    "Precomputed",
    "RationalQuadratic",
    "Result",
    "Selection",
    "StandardForm",
    "Status",
    "TooLargeError",
    "UnsupportedModelError",
    "ViprCertificate",
    "__version__",
    "at_most",
    "audit",
    "catalogue",
    "certify",
    "check_point",
    "check_proof",
    "compare",
    "conflict",
    "error_budget",
    "errors",
    "estimators",
    "fixed",
    "formulations",
    "from_cvxpy",
    "from_gurobi",
    "from_highs",
    "from_pyomo",
    "from_qp",
    "from_scipy",
    "gap_report",
    "halfspace_depth",
    "instances",
    "keep",
    "load",
    "load_estimator",
    "load_result",
    "margin",
    "models",
    "open_rows",
    "parity",
    "path",
    "performance_profile",
    "questions",
    "read",
    "read_solution",
    "register",
    "relaxations",
    "select",
    "selection",
    "solve",
    "solvers",
    "warm_up",
    "write_proof_page",
    "write_vipr",
]

#: What stands here in words; the whole list has the formulations and estimators as well, and is made when it is asked for.
_OWN = tuple(__all__)
del __all__


def __getattr__(name: str) -> Any:
    """Names by their homes, subpackages, and formulations and estimators by their records; all imported on first use."""
    if name in _HOME:
        globals()[name] = value = getattr(import_module(_HOME[name], __name__), name)
        return value
    if name == "__version__":
        return import_module("importlib.metadata").version("marginopt")
    if not name.startswith("_") and find_spec(f"{__name__}.{name}") is not None:
        return import_module(f".{name}", __name__)
    if name == "__all__":
        return sorted([*_OWN, *(info.key for info in _formulations().public_formulations()), *_estimators()])
    if not name.startswith("_"):
        stated = _formulations().find_formulation(name)
        if stated is not None:
            value = stated.public[name]
            if stated in _formulations().built_in():  # looking takes a twentieth of a small solve; the session's may change
                globals()[name] = value
            return value
        if name in _estimators():
            return _estimators()[name].estimator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _formulations() -> Any:
    """Import the records of the formulations."""
    return import_module(".models.formulations", __name__)


def _estimators() -> Mapping[str, EstimatorInfo]:
    """Their records; scikit-learn is imported."""
    return import_module(".estimators", __name__).all_estimators()


def __dir__() -> list[str]:
    """Return the names for users, with those that need PyTorch; completion shows no import of this file."""
    return sorted({*__getattr__("__all__"), "DeepNPSVC", "deep", "__name__", "__doc__", "__file__", "__path__", "__version__"})
