"""Regularisers: what a coefficient vector costs."""
