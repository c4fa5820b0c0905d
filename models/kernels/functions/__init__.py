"""Kinds of kernel functions, kernels of a user, distances, and rules for γ. `kernels` and `families` name them."""
