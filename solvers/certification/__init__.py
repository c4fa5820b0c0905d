"""Certification: recompute objective, residuals and bounds from the data, and judge what a solver claims."""
