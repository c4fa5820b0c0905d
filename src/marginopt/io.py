"""The group ``mo.io``: read programs, data sets, results, solutions and fitted estimators; write results and solutions.

Programs come from files (`read`) or from objects of modelling layers (``from_cvxpy``, ``from_qp`` for arrays, ...). `load_result`
and `save_result` are for marginopt's own results, `read_solution` and `write_solution` for solution files of solvers.
"""

from .models import from_cvxpy, from_gurobi, from_highs, from_pyomo, from_qp, from_scipy
from .reading import read
from .solvers import load_result, read_solution, save_result, write_solution
from .unpickling import load_estimator

__all__ = [
    "from_cvxpy",
    "from_gurobi",
    "from_highs",
    "from_pyomo",
    "from_qp",
    "from_scipy",
    "load_estimator",
    "load_result",
    "read",
    "read_solution",
    "save_result",
    "write_solution",
]
