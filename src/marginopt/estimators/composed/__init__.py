"""Estimators of composed problems, and of several classes in one."""
