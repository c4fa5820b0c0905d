"""Restrictions on the coefficients and on the points."""
