"""A proof log as a page that verifies itself: the log, a checker in JavaScript and what a reader needs to try it, in one file."""

from .writing import write_proof_page

__all__ = ["write_proof_page"]
