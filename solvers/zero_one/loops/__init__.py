"""Compiled kernels of the engines; functions that call each other share a folder."""
