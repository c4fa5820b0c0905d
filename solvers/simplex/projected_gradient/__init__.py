"""Projected gradients on simplices: the MaxMin paper's PGA, and accelerated."""
