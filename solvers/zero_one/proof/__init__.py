"""Proof logs: what writes them."""
