"""VIPR certificates of mixed-integer linear programs: `write_vipr` proves an optimum and writes the proof for other checkers.

VIPR ("verifying integer programming results", Cheung, Gleixner and Steffy, 2017) is a text format of derivations from rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np

from ...errors import SolverError, count_text
from ...files import atomic_file, check_target
from ...models.arrays import FloatArray
from ...models.model import Model, as_model
from ...models.program.form import StandardForm
from .vipr_tree import Branch, LinearProgram, ProofNode, RationalSum, Tree, branch_and_bound


def _least_leaf_bound(root: ProofNode) -> Fraction | None:
    """Return the least bound of the leaves below a root, which the tree proves; None if every leaf is infeasible."""
    sides = [node.proof.side for node in _leaves(root) if not node.infeasible]
    return min(sides) if sides else None


def _certificate_lines(program: LinearProgram, tree: Tree) -> Iterator[str]:
    """Yield the lines of the VIPR file (version 1.1): the program, its best point, and a derivation for each node and branch."""
    form = program.form
    bound = _least_leaf_bound(tree.root)
    yield "VER 1.1"
    yield f"VAR {form.n}"
    yield from ("_".join(name.split()) for name in form.names())
    integers = [j for j, is_integer in enumerate(form.integer.tolist()) if is_integer]
    yield f"INT {len(integers)}"
    yield " ".join(map(str, integers))
    yield "OBJ min"
    yield _terms({j: c for j, c in enumerate(program.cost) if c})
    bound_lines = _BoundLines.of(program)
    yield f"CON {len(bound_lines.lines) + len(program.rows)} {len(bound_lines.lines)}"
    yield from bound_lines.lines
    for i, row in enumerate(program.rows):
        yield f"C{i} {'E' if row.equal else 'G'} {row.side} {_terms(dict(row.terms))}"
    value = None if tree.best is None else program.value(tree.best)
    yield "RTP infeas" if bound is None else f"RTP range {bound} {'inf' if value is None else value}"
    yield "SOL 0" if tree.best is None else "SOL 1"
    if tree.best is not None:
        yield f"best {_terms({j: v for j, v in enumerate(tree.best) if v})}"
    steps = _Derivations(len(bound_lines.lines) + len(program.rows), bound, bound_lines)
    steps.add(tree.root)
    yield f"DER {len(steps.lines)}"
    yield from steps.lines


def _leaves(root: ProofNode) -> Iterator[ProofNode]:
    stack = [root]
    while stack:
        node = stack.pop()
        if not node.children:
            yield node
        stack.extend(node.children)


def _terms(multipliers: Mapping[int, Fraction]) -> str:
    return f"{len(multipliers)} " + " ".join(f"{j} {v}" for j, v in multipliers.items())


@dataclass
class _BoundLines:
    """Lines of the bounds, and the line number of each variable's bound."""

    lines: list[str] = field(default_factory=list)  #: one line for each finite bound
    lower: dict[int, int] = field(default_factory=dict)  #: line of the lower bound by variable
    upper: dict[int, int] = field(default_factory=dict)  #: line of the upper bound by variable

    @classmethod
    def of(cls, program: LinearProgram) -> _BoundLines:
        bound_lines = cls()
        for sense, ends, places in (("G", program.lower, bound_lines.lower), ("L", program.upper, bound_lines.upper)):
            for j, end in enumerate(ends):
                if end is not None:
                    places[j] = len(bound_lines.lines)
                    bound_lines.lines.append(f"B{len(bound_lines.lines)} {sense} {end} 1 {j} 1")
        return bound_lines


class _Derivations:
    """Derived lines, numbered from ``first`` on, children before their parents.

    A branch has a line that assumes it. The line of a node states that the objective is at least ``bound`` or, for an infeasible
    node, that 0 is at least a positive number. The bound is None if every leaf is infeasible.
    """

    def __init__(self, first: int, bound: Fraction | None, ends: _BoundLines) -> None:
        self.lines: list[str] = []
        self._first, self._bound, self._ends = first, bound, ends

    def add(self, root: ProofNode) -> None:
        """Add the lines of a tree; a node's own line follows those of its children and of the branches that lead to them."""
        assumed: dict[tuple[Branch, ...], int] = {}
        shown: dict[tuple[Branch, ...], tuple[int, bool]] = {}
        stack = [(root, False)]
        while stack:
            node, opened = stack.pop()
            if not node.children:
                shown[node.path] = self._leaf(node, assumed), node.infeasible
            elif not opened:
                for child in node.children:
                    assumed[child.path] = self._assumption(child.path[-1])
                stack.append((node, True))
                stack.extend((child, False) for child in reversed(node.children))
            else:
                shown[node.path] = self._union(node, assumed, shown)

    def _line(self, text: str) -> int:
        number = self._first + len(self.lines)
        self.lines.append(f"D{number} {text} -1")
        return number

    def _assumption(self, branch: Branch) -> int:
        return self._line(f"{'G' if branch.above else 'L'} {branch.value} 1 {branch.variable} 1 {{ asm }}")

    def _leaf(self, node: ProofNode, assumed: Mapping[tuple[Branch, ...], int]) -> int:
        lower, upper = dict(self._ends.lower), dict(self._ends.upper)
        for depth, branch in enumerate(node.path, 1):
            (lower if branch.above else upper)[branch.variable] = assumed[node.path[:depth]]
        if node.infeasible:
            return self._line(f"G {node.proof.side} 0 {self._sum(node.proof, lower, upper)}")
        return self._line(f"G {self._bound} OBJ {self._sum(node.proof, lower, upper)}")

    def _sum(self, proof: RationalSum, lower: Mapping[int, int], upper: Mapping[int, int]) -> str:
        used: dict[int, Fraction] = {len(self._ends.lines) + i: price for i, price in proof.rows.items()}
        used |= {(lower if r > 0 else upper)[j]: r for j, r in proof.reduced.items()}
        return f"{{ lin {_terms(used)} }}"

    def _union(
        self, node: ProofNode, assumed: Mapping[tuple[Branch, ...], int], shown: Mapping[tuple[Branch, ...], tuple[int, bool]]
    ) -> tuple[int, bool]:
        below, above = (child.path for child in node.children)
        empty = shown[below][1] and shown[above][1]
        claim = "G 1 0" if empty else f"G {self._bound} OBJ"
        reason = f"{{ uns {shown[below][0]} {assumed[below]} {shown[above][0]} {assumed[above]} }}"
        return self._line(f"{claim} {reason}"), empty


@dataclass(frozen=True)
class ViprCertificate:
    """The content of a VIPR file, in the sense of the model: the bound of a model that maximises is an upper bound.

    Parameters
    ----------
    path : Path
        Path of the file.
    bound : Fraction, optional
        The proved bound of the optimum; None if the file proves that there is no point.
    value : Fraction, optional
        Objective of the best exactly feasible point; None without one.
    nodes : int
        Number of nodes of the search tree.
    """

    path: Path
    bound: Fraction | None
    value: Fraction | None
    nodes: int

    @property
    def gap(self) -> float:
        """The relative gap |value - bound| / max(1, |value|); infinite without a value, 0 if there is no point."""
        if self.bound is None:
            return 0.0
        if self.value is None:
            return float("inf")
        return float(abs(self.value - self.bound) / max(Fraction(1), abs(self.value)))

    def __str__(self) -> str:
        if self.bound is None:
            return f"{self.path}: no point satisfies the constraints; {count_text(self.nodes, 'node')}"
        value = "no point was found" if self.value is None else f"best value {float(self.value):.10g}"
        return (
            f"{self.path}: bound {float(self.bound):.10g}, {value}, relative gap {self.gap:.1e}; {count_text(self.nodes, 'node')}"
        )


def write_vipr(
    model: Model | StandardForm,
    path: str | Path,
    *,
    start: Mapping[str, FloatArray] | None = None,
    time_limit: float | None = None,
    node_limit: int | None = None,
) -> ViprCertificate:
    """Prove the optimum of a mixed-integer linear program and write the proof in the VIPR format.

    A branch and bound whose bounds are sums of rows and bounds of variables with rational multipliers: no step of the file rests
    on rounding, and ``viprchk`` (Cheung, Gleixner, Steffy) verifies it without this package. The numbers of the form are taken as
    the rational numbers that they are. It is meant for small programs whose answer other people must be able to check: the bounds
    are those of linear relaxations, without cuts.

    Parameters
    ----------
    model : Model or StandardForm
        With a linear objective, linear rows and any integers: scoring systems, L1-regularised 0-1 and ramp losses, programs read
        from files or taken from CVXPY, Pyomo and others.
    path : str or Path
        Path of the file to write.
    start : mapping of str to ndarray, optional
        Values by label, from another solver: a good point to begin with.
    time_limit : float, optional
        Seconds. Open nodes are then written with their bounds: the file proves the bound reached.
    node_limit : int, optional
        Largest number of nodes, with the same effect.

    Returns
    -------
    ViprCertificate
        The proved bound, the best value and the path of the file.

    Raises
    ------
    UnsupportedModelError
        A quadratic objective, cones or indicators.
    TooLargeError
        More coefficients than rational arithmetic supports.
    SolverError
        A form without variables; a bound of a variable that no number meets; a relaxation that HiGHS does not solve, such as an
        unbounded one, or whose numbers overflow; or multipliers of variables without bounds could not be made rational.
    WriteError
        The file cannot be written.

    References
    ----------
    Cheung, Gleixner, Steffy: Verifying integer programming results, 2017; format 1.1.
    """
    target = check_target(path, "the certificate")
    form = as_model(model).form
    program = LinearProgram.of(form)
    if not form.n:
        raise SolverError(f"{form.name} has no variables: nothing is to be proved")
    if (form.lower == np.inf).any() or (form.upper == -np.inf).any():
        raise SolverError(f"{form.name} has a variable with a lower bound of inf or an upper one of -inf: it has no point")
    try:
        tree = branch_and_bound(program, None if start is None else form.join(start), time_limit, node_limit)
    except OverflowError:
        raise SolverError(f"numbers of {form.name} are beyond float64 in its relaxations: scale it") from None
    with atomic_file(target) as file:
        for line in _certificate_lines(program, tree):
            file.write(line.encode() + b"\n")
    bound, value = _least_leaf_bound(tree.root), None if tree.best is None else program.value(tree.best)
    sign, constant = (-1 if form.maximise else 1), Fraction(form.r)
    return ViprCertificate(
        target,
        None if bound is None else sign * (bound + constant),
        None if value is None else sign * (value + constant),
        tree.nodes,
    )
