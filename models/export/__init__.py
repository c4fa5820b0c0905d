# exempt (text): files, and other packages' objects
"""Translators from the standard form to other modelling layers and files; they solve nothing."""
