"""Exact halfspace (Tukey) depth: the fewest points of a closed half-space that holds a given point."""
