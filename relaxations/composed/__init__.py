"""Relaxations of problems from parts, by the type of their parts."""
