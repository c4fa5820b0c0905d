"""Kernel functions, explicit features, Gram operators of kernel matrices, and the compiled loops that evaluate them."""
