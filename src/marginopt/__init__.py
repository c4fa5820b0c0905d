"""marginopt: mathematical programs for maximum-margin learning.

State a formulation as an object, look at it, hand it to any solver, and trust the answer because its certificate is
recomputed outside the solver::

    import marginopt as mo

    data = mo.load("wdbc").prepared()
    model = mo.ZeroOneSVM(data.X, data.y, lam=1.0)
    result = mo.solve(model, "scip", time_limit=60)

This module has the names that most programs need. The groups ``estimators``, ``proofs``, ``io``, ``margin``, ``models``,
``solvers``, ``relaxations``, ``instances``, ``questions``, ``selection`` and ``errors`` hold the rest; the error for a name that
is in a group alone says which group. The group ``deep`` needs PyTorch. ``marginopt.solvers.table()`` lists all solvers, and
``table()`` of ``formulations``, ``relaxations`` and ``estimators`` theirs; at a prompt ``marginopt.solvers()`` does the same.
Every name is imported at its first use, with the packages that it needs, so that ``import marginopt`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from .late_method import LateMethod

if TYPE_CHECKING:  # for type checkers; public names without a line here work too
    from . import (
        deep as deep,
        errors as errors,
        estimators as estimators,
        instances as instances,
        io as io,
        margin as margin,
        models as models,
        proofs as proofs,
        questions as questions,
        relaxations as relaxations,
        selection as selection,
        solvers as solvers,
    )
    from .auditing import audit as audit
    from .compilation import warm_up as warm_up
    from .errors import MarginoptError as MarginoptError
    from .extensions import register as register
    from .instances import load as load
    from .margin import at_most as at_most, error_budget as error_budget, fixed as fixed, keep as keep, parity as parity
    from .models import (
        RBF as RBF,
        SVDD as SVDD,
        BoxProgram as BoxProgram,
        ChebyshevNPSVC as ChebyshevNPSVC,
        ConicSVM as ConicSVM,
        ConvexHullsDual as ConvexHullsDual,
        EpsilonSVR as EpsilonSVR,
        HardMarginSVM as HardMarginSVM,
        HingeQuadratic as HingeQuadratic,
        HingeSVM as HingeSVM,
        JointHyperplanesSVM as JointHyperplanesSVM,
        L1SVMDual as L1SVMDual,
        L2SVMDual as L2SVMDual,
        Laplacian as Laplacian,
        Linear as Linear,
        Margin as Margin,
        MaxMinSVM as MaxMinSVM,
        MEBDual as MEBDual,
        Mixture as Mixture,
        Model as Model,
        MulticlassSVM as MulticlassSVM,
        NonparallelSVM as NonparallelSVM,
        NuSVM as NuSVM,
        ParetoQP as ParetoQP,
        PinballTwinSVM as PinballTwinSVM,
        Polynomial as Polynomial,
        Precomputed as Precomputed,
        RampSVM as RampSVM,
        RationalQuadratic as RationalQuadratic,
        ScoringSystem as ScoringSystem,
        StandardForm as StandardForm,
        StiefelQP as StiefelQP,
        ZeroOneSVM as ZeroOneSVM,
        formulations as formulations,
        from_cvxpy as from_cvxpy,
        from_gurobi as from_gurobi,
        from_highs as from_highs,
        from_pyomo as from_pyomo,
        from_qp as from_qp,
        from_scipy as from_scipy,
    )
    from .performance import performance_profile as performance_profile
    from .reading import read as read
    from .relaxations import gap_report as gap_report, relax as relax
    from .selection import select as select
    from .solvers import Result as Result, Status as Status, certify as certify
    from .solvers.compare import compare as compare
    from .solvers.depth import halfspace_depth as halfspace_depth
    from .solvers.path import path as path
    from .solvers.proofs import check_proof as check_proof
    from .solvers.solve import solve as solve

#: The module of each name. A module is imported when one of its names is first used: SciPy alone takes a third of a second.
_HOMES = {
    ".auditing": ("audit",),
    ".compilation": ("warm_up",),
    ".errors": ("MarginoptError",),
    ".extensions": ("register",),
    ".instances": ("load",),
    ".margin": ("at_most", "error_budget", "fixed", "keep", "parity"),
    ".models": (
        "RBF", "Laplacian", "Linear", "Mixture", "Model", "Polynomial", "Precomputed", "RationalQuadratic", "StandardForm",
        "formulations", "from_cvxpy", "from_gurobi", "from_highs", "from_pyomo", "from_qp", "from_scipy",
    ),
    ".performance": ("performance_profile",),
    ".reading": ("read",),
    ".relaxations": ("gap_report", "relax"),
    ".selection": ("select",),
    ".solvers": ("Result", "Status", "certify", "compare", "path", "solve"),
    ".solvers.depth": ("halfspace_depth",),
    ".solvers.proofs": ("check_proof",),
}  # fmt: skip
#: Packages and modules that hold all other public names.
_GROUPS = (
    "errors",
    "estimators",
    "instances",
    "io",
    "margin",
    "models",
    "proofs",
    "questions",
    "relaxations",
    "selection",
    "solvers",
)
#: Names that this module had before version 0.2 and groups have now; version 0.4 drops them (docs/reference/stability.md).
_MOVED = {
    "deep": ("DeepNPSVC",),
    "errors": (
        "DataError", "InputError", "LicenceError", "MarginoptWarning", "MissingPackageError", "TooLargeError",
        "UnsupportedModelError",
    ),
    "estimators": (
        "L2SVC", "NCHSVC", "ConicSVC", "ConicSVCCV", "EstimatorInfo", "HingeSVC", "HingeSVCCV", "KernelNPSVC",
        "LogisticRegression", "MarginClassifier", "MaxMinSVC", "MEBOneClass", "MulticlassSVC", "NonparallelSVC", "RampSVC",
        "ScoringSystemClassifier", "ZeroOneSVC",
    ),
    "instances": ("Instance", "catalogue", "open_rows"),
    "io": ("load_estimator", "load_result", "read_solution"),
    "proofs": ("Audit", "HalfspaceDepth", "PointCheck", "ViprCertificate", "check_point", "write_proof_page", "write_vipr"),
    "relaxations": ("GapReport",),
    "selection": ("Selection",),
    "solvers": ("Certificate", "Comparison", "Options", "conflict"),
}  # fmt: skip
_HOME = {name: module for module, names in _HOMES.items() for name in names}

#: The modules that implement methods which a formulation, a form or a result offers and its own module cannot.
LateMethod.modules |= {
    "conflict": "marginopt.solvers.conflict",
    "verify": "marginopt.solvers.result_checks",
    "check_duals": "marginopt.solvers.result_checks",
    "save": "marginopt.solvers.result_file",
}

#: The names listed here; ``__all__``, which is computed on access, has the formulations as well.
_OWN = ("__version__", *_GROUPS, *_HOME)


def __getattr__(name: str) -> Any:
    """Return a public name, a group of names, or a formulation, imported on first use."""
    if name in _HOME:
        globals()[name] = value = getattr(import_module(_HOME[name], __name__), name)
        return value
    if name == "__version__":
        return import_module("importlib.metadata").version("marginopt")
    if not name.startswith("_") and find_spec(f"{__name__}.{name}") is not None:
        return import_module(f".{name}", __name__)
    if name == "__all__":
        return sorted([*_OWN, *(info.key for info in _formulations().public_formulations())])
    if not name.startswith("_"):
        formulation = _formulations().find_formulation(name)
        if formulation is not None:
            value = formulation.public[name]
            if formulation in _formulations().built_in():  # not looked up again; one of the session may be replaced
                globals()[name] = value
            return value
        new_group = next((group for group, names in _MOVED.items() if name in names), None)
        if new_group is not None:
            import_module(".errors", __name__).warn_renamed(f"mo.{name}", f"mo.{new_group}.{name}", since="0.2", until="0.4")
            return getattr(import_module(f".{new_group}", __name__), name)
        group = next((group for group in _GROUPS if name in import_module(f".{group}", __name__).__all__), None)
        hint = "" if group is None else f"; it is mo.{group}.{name} (import marginopt as mo)"
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}", name=name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)


def _formulations() -> Any:
    return import_module(".models.formulations", __name__)


def __dir__() -> list[str]:
    """Return the names for users, with those that need PyTorch; completion shows no import of this file."""
    return sorted({*__getattr__("__all__"), "deep", "__name__", "__doc__", "__file__", "__path__", "__version__"})
