"""The search engines: over boxes, over conflicts, and the portfolio of both."""
