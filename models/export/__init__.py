# exempt (text): files, and other packages' objects
"""Export of standard forms to files and to models of other packages (CVXPY, gurobipy, HiGHS, MOSEK, Pyomo, SCIP); nothing is
solved.
"""
