"""A model with something added, fixed or relaxed: still a model, with its labels and its meaning."""
