"""The searches: over boxes, over conflicts, and the two in turn."""
