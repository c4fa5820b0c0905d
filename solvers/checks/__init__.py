"""Checks that a user asks for: results recomputed, multipliers against differences, infeasibility reduced to its reason."""
