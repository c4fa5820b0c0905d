"""Reading of programs (files and modelling layers), data sets, results, solutions and fitted estimators; writing of results and
solutions.
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
