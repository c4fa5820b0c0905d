"""Translators from the standard form to other modelling layers and files; they solve nothing."""
