# exempt (text): files, and other packages' objects
"""Readers and writers of files of standard forms and solutions, and export to models of other packages (CVXPY, gurobipy, HiGHS,
MOSEK, Pyomo, SCIP); no solver runs.
"""
