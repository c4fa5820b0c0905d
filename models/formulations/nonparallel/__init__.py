"""Nonparallel classifiers and the Chebyshev multi-objective model over them."""
