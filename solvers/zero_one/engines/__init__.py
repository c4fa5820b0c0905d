"""The search engines: over boxes, over conflicts, both with remote workers, and the portfolio of both."""
