"""Kernels, Gram operators, and the compiled loops that evaluate them."""
