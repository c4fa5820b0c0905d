"""Cutting planes for the branch and bound of other solvers, from the kernels of the exact 0-1 solver, added by callbacks."""
