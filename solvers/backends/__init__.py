"""Backends: one file for each third-party solver, or package of solvers, which lists them in ``SOLVERS`` or ``DISCOVER``."""
