"""Inspection, explanation and pictures of forms and results."""
