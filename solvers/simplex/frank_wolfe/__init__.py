"""The Frank-Wolfe family and the core vector machine."""
