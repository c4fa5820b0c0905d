# exempt (text): files, and other packages' objects
"""Files of standard forms and of solutions, and export of forms to CVXPY, gurobipy, HiGHS, MOSEK, Pyomo and SCIP."""
