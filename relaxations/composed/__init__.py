"""Relaxations of composed problems (`Margin`): by their standard form, by hulls of their loss, and ramps by 0-1 losses."""
