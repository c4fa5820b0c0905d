"""`GroupLosses`, the loss of a `Margin` whose groups of points have a loss each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from ....errors import InputError, short_text, unknown_name
from ...arrays import BoolArray, FloatArray, IntArray, Points, as_positive
from ...statement import Line, latex_words, plus
from .assembly import Affine, Assembly
from .loss import Loss, LossTable
from .part import AssemblyContext, FixedClassifier


@dataclass(frozen=True, eq=False)
class GroupLosses(Loss):
    """A loss for each group of points: ℓ_i is that of the group of point i.

    Form: blocks and constraints of each group's loss, labelled "group label".

    Parameters
    ----------
    losses : mapping of str to Loss
        The loss of each group, by name.
    groups : sequence of str, length n
        The group of each point.

    Raises
    ------
    InputError
        A point in a group without a loss, a loss without points, or a loss that is not a sum of functions of the margins.
    """

    losses: Mapping[str, Loss]
    groups: Sequence[str]

    #: False: the functions of the margins differ from group to group.
    is_sum_over_points: ClassVar[bool] = False

    def __post_init__(self) -> None:
        names = [str(group) for group in np.asarray(self.groups, dtype=object).ravel()]
        for name in dict.fromkeys(names):
            if name not in self.losses:
                raise unknown_name("loss for the group", name, self.losses)
        for name, loss in self.losses.items():
            if name not in names:
                raise InputError(f"loss names the group {short_text(name)}, in which there are no points", name="groups")
            if not loss.reads_class_labels or not loss.is_sum_over_points:
                raise InputError(
                    f"the loss of a group must be a sum of functions of its points' margins; {type(loss).__name__} is not",
                    name="loss",
                )
        object.__setattr__(self, "losses", dict(self.losses))
        object.__setattr__(self, "groups", tuple(names))

    @cached_property
    def members(self) -> dict[str, IntArray]:
        """Return the indices of the points of each group."""
        names = np.array(self.groups)
        return {name: np.flatnonzero(names == name) for name in self.losses}

    def parts(self) -> list[tuple[str, Loss, IntArray]]:
        """Return the triples (name, loss, indices of the points) of the groups."""
        return [(name, loss, self.members[name]) for name, loss in self.losses.items()]

    def sample_weight(self, sample_weight: object) -> object:
        """Return the costs of all points, (n,), from a mapping of groups to costs; return any other argument itself."""
        if not isinstance(sample_weight, Mapping):
            return sample_weight
        if set(sample_weight) != set(self.losses):
            raise InputError(
                f"sample_weight by group must name {', '.join(self.losses)}; they name {', '.join(map(str, sample_weight))}",
                name="sample_weight",
            )
        costs = np.empty(len(self.groups))
        for name, points in self.members.items():
            costs[points] = as_positive(sample_weight[name], f"sample_weight of {name}", zero=True)
        return costs

    def __repr__(self) -> str:
        return f"GroupLosses({dict(self.losses)!r})"

    @property
    def convex(self) -> bool:  # type: ignore[override]
        """Return whether the losses of all groups are convex."""
        return all(loss.convex for loss in self.losses.values())

    def unlabelled(self, n: int) -> BoolArray:
        """Return the mask of points whose loss is symmetric, so that it needs no label."""
        return np.array([self.losses[name].symmetric for name in self.groups])

    def bind(self, X: Points, y: FloatArray, sample_weight: FloatArray, curvature: FloatArray) -> Loss:
        """Return the loss itself; raise `InputError` where ``groups`` names another number of points than X has."""
        if len(self.groups) != X.shape[0]:
            raise InputError(
                f"groups must name one group for each of the {X.shape[0]} points; they name {len(self.groups)}", name="groups"
            )
        return self

    def values(self, argument: FloatArray) -> FloatArray:
        """Return the loss of each point, that of its group."""
        values = np.empty(argument.size)
        for _, loss, points in self.parts():
            values[points] = loss.values(argument[points])
        return values

    def total(self, costs: FloatArray, argument: FloatArray) -> float:
        """Return Σ costs · loss."""
        return sum(loss.total(costs[points], argument[points]) for _, loss, points in self.parts())

    def upper_bound(self, costs: FloatArray, argument: FloatArray) -> float:
        """Return an upper bound of `total`: the sum of the groups' upper bounds."""
        return sum(loss.upper_bound(costs[points], argument[points]) for _, loss, points in self.parts())

    def add(self, builder: Assembly, context: AssemblyContext) -> Affine | None:
        """Add the rows of each group's loss."""
        for name, loss, points in self.parts():
            with builder.labelled(f"{name} ", points.tolist()):
                loss.add(builder, at_points(context, points))
        return None

    def blocks(self, classifier: FixedClassifier) -> dict[str, FloatArray]:
        """Return the optimal variables of each group's loss."""
        blocks: dict[str, FloatArray] = {}
        for name, loss, points in self.parts():
            of_group = replace(
                classifier, y=classifier.y[points], argument=classifier.argument[points], tolerance=classifier.tolerance[points]
            )
            blocks |= {f"{name} {label}": value for label, value in loss.blocks(of_group).items()}
        return blocks

    def cost_line(self) -> Line:
        """Return the printed costs, group by group."""
        return plus(*(_of_group(name, loss.cost_line()) for name, loss in self.losses.items()))

    def variables(self) -> tuple[Line, ...]:
        """Return the printed variables of each group, with its number of points in place of n."""
        return tuple(
            _of_group(name, line.with_size(points.size)) for name, loss, points in self.parts() for line in loss.variables()
        )

    def lines(self) -> tuple[Line, ...]:
        """Return the printed rows of each group."""
        return tuple(_of_group(name, line) for name, loss in self.losses.items() for line in loss.lines())

    def big_m_lines(self) -> tuple[Line, ...]:
        """Return the printed rows of each group, its switches as rows with M."""
        return tuple(_of_group(name, line) for name, loss in self.losses.items() for line in loss.big_m_lines())

    def is_nonnegative(self) -> bool:
        """Return whether the losses of all groups are ≥ 0."""
        return all(loss.is_nonnegative() for loss in self.losses.values())

    def saturation(self) -> float:
        """Return a t such that every group's loss is linear on arguments ≤ -t and on arguments ≥ t; infinite without one."""
        return max(loss.saturation() for loss in self.losses.values())

    @property
    def jumps(self) -> tuple[tuple[float, float], ...]:
        """Return the jumps (threshold, side) of all losses, side 1 if the loss is less from the threshold on, -1 if up to it.

        An argument that is near a jump of another group's loss may be moved there as well.
        """
        return tuple(dict.fromkeys(jump for loss in self.losses.values() for jump in loss.jumps))

    def loss_table(self) -> LossTable | None:
        """Return the piecewise-linear losses of the groups; None where a loss is of another kind."""
        losses = [loss.piecewise_linear() for loss in self.losses.values()]
        if any(loss is None for loss in losses):
            return None
        kinds = np.empty(len(self.groups), dtype=np.int64)
        for kind, points in enumerate(self.members.values()):
            kinds[points] = kind
        return LossTable(tuple(loss for loss in losses if loss is not None), kinds)


def at_points(context: AssemblyContext, points: IntArray) -> AssemblyContext:
    """Return the context, the data and arguments that a loss is stated on, restricted to some of the points."""
    return replace(
        context, X=context.X[points], y=context.y[points], sample_weight=context.sample_weight[points],
        argument=context.argument.at(points), argument_bounds=context.argument_bounds[points],
        M=None if context.M is None else context.M[points],
    )  # fmt: skip


def _of_group(name: str, line: Line) -> Line:
    """The line for the points of a group."""
    label = ", ".join(f"{name} {one}" for one in line.label.split(", ")) if line.label else ""
    return Line(f"{line.text}  [{name}]", rf"{line.latex}\ [\text{{{latex_words(name)}}}]", label)
