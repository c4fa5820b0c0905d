"""A checker of VIPR files, version 1.1, written from the format's description: it shares no code with the package."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

__all__ = ["Checked", "WrongCertificateError", "check"]

#: Coefficients of a linear expression by variable, or multipliers by line.
Terms = dict[int, Fraction]


class WrongCertificateError(Exception):
    """A step of the file does not hold."""


@dataclass(frozen=True)
class Checked:
    """The claim that a file proves."""

    lower: Fraction | None  #: lower bound of the optimum; None without one
    upper: Fraction | None  #: upper bound of the optimum; None without one
    infeasible: bool  #: whether there is no feasible point


@dataclass(frozen=True)
class _Constraint:
    terms: Terms
    sense: str
    side: Fraction
    assumed: frozenset[int] = frozenset()

    @property
    def absurd(self) -> bool:
        if self.terms:
            return False
        return {"G": self.side > 0, "L": self.side < 0, "E": self.side != 0}[self.sense]

    def dominates(self, other: _Constraint) -> bool:
        if self.absurd:
            return True
        if self.terms != other.terms:
            return False
        if other.sense == "G":
            return self.sense in "GE" and self.side >= other.side
        if other.sense == "L":
            return self.sense in "LE" and self.side <= other.side
        return self.sense == "E" and self.side == other.side


class _Words:
    def __init__(self, text: str) -> None:
        lines = [line for line in text.splitlines() if not line.startswith("%")]
        self._words = " ".join(lines).split()
        self._at = 0

    def next(self) -> str:
        self._at += 1
        return self._words[self._at - 1]

    def expect(self, word: str) -> None:
        result = self.next()
        if result != word:
            raise WrongCertificateError(f"{word} expected, {result} found")

    def whole(self) -> int:
        return int(self.next())

    def terms(self, count: int | None = None) -> Terms:
        return {self.whole(): Fraction(self.next()) for _ in range(self.whole() if count is None else count)}

    def constraint(self, objective: Terms) -> _Constraint:
        self.next()
        sense, side, head = self.next(), Fraction(self.next()), self.next()
        return _Constraint(objective if head == "OBJ" else self.terms(int(head)), sense, side)


def _combined(prices: Terms, known: list[_Constraint]) -> _Constraint:
    terms: Terms = {}
    side, signs = Fraction(0), set()
    for i, price in prices.items():
        signs.add(
            {"G": 1, "E": 0, "L": -1}[known[i].sense] * (price > 0) - {"G": 1, "E": 0, "L": -1}[known[i].sense] * (price < 0)
        )
        for j, a in known[i].terms.items():
            terms[j] = terms.get(j, Fraction(0)) + price * a
        side += price * known[i].side
    if {1, -1} <= signs:
        raise WrongCertificateError("a combination of both senses")
    sense = "G" if 1 in signs else "L" if -1 in signs else "E"
    assumed = frozenset().union(*(known[i].assumed for i in prices))
    return _Constraint({j: a for j, a in terms.items() if a}, sense, side, assumed)


def _split(a: _Constraint, b: _Constraint, integers: set[int]) -> None:
    low, high = (a, b) if a.sense == "L" else (b, a)
    whole = all(j in integers and v.denominator == 1 for j, v in low.terms.items()) and low.side.denominator == 1
    if (low.sense, high.sense) != ("L", "G") or low.terms != high.terms or not whole or high.side != low.side + 1:
        raise WrongCertificateError("the two assumptions leave integers out")


def check(path: Path) -> Checked:
    """Verify every line of the file and return the proved claim.

    Raises
    ------
    WrongCertificateError
        A line does not hold, or the last line is not the claim.
    """
    words = _Words(path.read_text())
    words.expect("VER")
    words.next()
    words.expect("VAR")
    n = words.whole()
    for _ in range(n):
        words.next()
    words.expect("INT")
    integers = {words.whole() for _ in range(words.whole())}
    words.expect("OBJ")
    words.expect("min")
    objective = words.terms()
    words.expect("CON")
    count = words.whole()
    words.whole()
    known = [words.constraint(objective) for _ in range(count)]
    words.expect("RTP")
    infeasible = words.next() == "infeas"
    lower, upper = (None, None) if infeasible else (_end(words.next()), _end(words.next()))
    words.expect("SOL")
    _points(words, n, known[:count], objective, integers, upper)
    words.expect("DER")
    for _ in range(words.whole()):
        known.append(_derived(words, words.constraint(objective), known, integers))
        words.next()
    goal = _Constraint({}, "G", Fraction(1)) if infeasible else _Constraint(objective, "G", lower or Fraction(0))
    if (infeasible or lower is not None) and (known[-1].assumed or not known[-1].dominates(goal)):
        raise WrongCertificateError("the last line is not what was to be proved")
    return Checked(lower, upper, infeasible)


def _end(word: str) -> Fraction | None:
    return None if word.endswith("inf") else Fraction(word)


def _points(words: _Words, n: int, rows: list[_Constraint], objective: Terms, integers: set[int], upper: Fraction | None) -> None:
    values = []
    for _ in range(words.whole()):
        words.next()
        terms = words.terms()
        x = [terms.get(j, Fraction(0)) for j in range(n)]
        if any(x[j].denominator != 1 for j in integers):
            raise WrongCertificateError("a point is not integer")
        for row in rows:
            left = sum((a * x[j] for j, a in row.terms.items()), Fraction(0))
            if not {"G": left >= row.side, "L": left <= row.side, "E": left == row.side}[row.sense]:
                raise WrongCertificateError("a point violates a constraint")
        values.append(sum((c * x[j] for j, c in objective.items()), Fraction(0)))
    if upper is not None and not any(value <= upper for value in values):
        raise WrongCertificateError("no point has the value that was to be shown")


def _derived(words: _Words, constraint: _Constraint, known: list[_Constraint], integers: set[int]) -> _Constraint:
    words.expect("{")
    reason = words.next()
    if reason == "asm":
        assumed = frozenset({len(known)})
    elif reason == "lin":
        combined = _combined(words.terms(), known)
        if not combined.dominates(constraint):
            raise WrongCertificateError("a sum is not what the line says")
        assumed = combined.assumed
    else:
        i, a, j, b = (words.whole() for _ in range(4))
        _split(known[a], known[b], integers)
        if not (known[i].dominates(constraint) and known[j].dominates(constraint)):
            raise WrongCertificateError("a case does not give what the line says")
        assumed = (known[i].assumed - {a}) | (known[j].assumed - {b})
    words.expect("}")
    return _Constraint(constraint.terms, constraint.sense, constraint.side, assumed)
