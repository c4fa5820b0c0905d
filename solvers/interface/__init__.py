"""Interfaces of solvers: backends, algorithms, and the driver that runs them."""
