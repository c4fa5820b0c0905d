"""scikit-learn estimators: each solves a model of `marginopt.models` in ``fit`` and keeps the certificate of the solution.

``marginopt.estimators.table()`` lists them. A scan of this package's modules finds an estimator by its record in the module's
``ESTIMATORS``, so that a new one needs one file.
"""

import functools
import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

from ..display import Display, Displayable, Tabular, column_lines
from ..extensions import make_package_callable
from .base import EstimatorInfo

if TYPE_CHECKING:  # for type checkers; an estimator that has no line here works all the same
    from .ball import MEBOneClass as MEBOneClass
    from .exact import (
        RampSVC as RampSVC,
        ScoringSystemClassifier as ScoringSystemClassifier,
        SparseSVC as SparseSVC,
        ZeroOneSVC as ZeroOneSVC,
    )
    from .hinge_and_conic import (
        ConicSVC as ConicSVC,
        ConicSVCCV as ConicSVCCV,
        HingeSVC as HingeSVC,
        HingeSVCCV as HingeSVCCV,
    )
    from .kernel_svc import L2SVC as L2SVC, NCHSVC as NCHSVC, MaxMinSVC as MaxMinSVC, NuSVC as NuSVC
    from .margin import (
        LogisticRegression as LogisticRegression,
        MarginClassifier as MarginClassifier,
        MulticlassSVC as MulticlassSVC,
    )
    from .nonparallel import NonparallelSVC as NonparallelSVC
    from .npsvc import KernelNPSVC as KernelNPSVC
    from .regression import EpsilonSVR as EpsilonSVR, MarginRegressor as MarginRegressor


__all__ = ["EstimatorInfo", "EstimatorTable", "all_estimators", "table"]


class EstimatorTable(Displayable, Tabular, dict[str, EstimatorInfo]):
    """The records of the estimators by class name, printed as a table."""

    def records(self) -> list[dict[str, str]]:
        """Return one dictionary for each estimator: names of its class and its model, and a summary."""
        return [{"class": i.name, "model": i.model.__name__, "summary": i.summary} for i in self.values()]

    def display(self) -> Display:
        """Return the notebook view."""
        head = ("class", "model", "summary")
        return Display(head=head, words=head, rows=tuple(tuple(row.values()) for row in self.records()))

    def __str__(self) -> str:
        return "\n".join(column_lines([("class", "model", "summary"), *(tuple(row.values()) for row in self.records())]))

    __repr__ = __str__


@functools.cache
def all_estimators() -> EstimatorTable:
    """Return the records of all estimators, by class name.

    Returns
    -------
    EstimatorTable
        A mapping of class name to `EstimatorInfo`, which prints as a table.
    """
    modules = [importlib.import_module(m.name) for m in pkgutil.walk_packages(__path__, f"{__name__}.")]
    records = [info for module in modules for info in getattr(module, "ESTIMATORS", ())]
    return EstimatorTable({info.name: info for info in sorted(records, key=lambda info: info.name)})


#: The names listed here; ``__all__``, which is computed on access, has the estimators as well.
_OWN = tuple(__all__)
del __all__


def __getattr__(name: str) -> Any:
    """Import an estimator's class at its first use."""
    if name == "__all__":
        return sorted([*_OWN, *all_estimators()])
    if not name.startswith("_") and name in all_estimators():
        globals()[name] = estimator = all_estimators()[name].estimator
        return estimator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})


#: The table of estimators, as type checkers read the call of this package.
table = all_estimators
make_package_callable(__name__, table)
