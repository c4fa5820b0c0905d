"""Tighter big-M problems: γ*, fixed variables, incumbents."""
