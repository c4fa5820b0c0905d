"""Pictures of classifiers, of a κ path, and of nonparallel training."""

from .classifiers import draw_classifiers, draw_hulls

__all__ = ["draw_classifiers", "draw_hulls"]
