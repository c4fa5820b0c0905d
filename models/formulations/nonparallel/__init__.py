"""Nonparallel classifiers, which place one hyperplane near each class: NPSVC++ (Zhang et al., 2024) and twin SVMs."""
