"""Halfspace (Tukey) depth, exactly: the fewest points of a closed half-space that holds a given one."""
