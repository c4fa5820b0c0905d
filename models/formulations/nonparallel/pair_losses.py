"""The pairs of losses of NPSVC++, Table 1, in words and LaTeX."""

from typing import Literal, TypeAlias

__all__ = ["DISSIMILARITY", "HINGE", "NONCONVEX", "SIMILARITY", "PairLoss"]

#: Table 1 by the methods' names: similarity loss and dissimilarity loss.
PairLoss: TypeAlias = Literal["twsvm", "lstsvm", "npsvm", "pinball", "correntropy", "capped"]
SIMILARITY = {
    "twsvm": ("a^2/2", r"\tfrac12 a^2"),
    "lstsvm": ("a^2/2", r"\tfrac12 a^2"),
    "npsvm": ("(|a| - epsilon)_+", r"[|a| - \epsilon]_+"),
    "pinball": ("a^2/2", r"\tfrac12 a^2"),
    "correntropy": ("1 - exp(-gamma |a|)", r"1 - e^{-\gamma |a|}"),
    "capped": ("min(|a|, epsilon)", r"\min(|a|, \epsilon)"),
}
DISSIMILARITY = {
    "lstsvm": ("(s - a)^2/2", r"\tfrac12 (s - a)^2"),
    "pinball": ("max(s - a, -tau (s - a))", r"\max(s - a, -\tau(s - a))"),
}
HINGE = ("(s - a)_+", "[s - a]_+")
NONCONVEX = ("correntropy", "capped")
