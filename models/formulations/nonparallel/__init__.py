"""Nonparallel classifiers, which place one hyperplane near each class: NPSVC++ one class at a time or jointly, and twin SVMs."""
