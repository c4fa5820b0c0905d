# exempt (text): other packages' objects
"""Programs stated in other packages, taken into the standard form with their names, and the way back."""
