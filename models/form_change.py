"""Changes of a model's standard form: the abstract `Change`, fixed variables, and the continuous relaxation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..errors import InputError
from .arrays import FloatArray, IntArray
from .program.blocks import find_entry, split_indexed_values
from .program.form import Block, StandardForm
from .statement import Line

if TYPE_CHECKING:
    from .importing.source import Import

#: How far from a bound or an integer, relative to its size, a value counts as it.
_NEAR = 1e-6


class Change(ABC):
    """A change that turns one form into another whose first blocks are those of the first; a frozen data class.

    Attributes
    ----------
    restricts : bool
        Whether every point of the new form is one of the old with the same objective, so that bounds of the old one stand.
    suffix : str
        What it adds to the model's name.
    problem_class : str
        The class of the changed problem; empty where it is as before.
    """

    restricts: ClassVar[bool] = True
    suffix: ClassVar[str] = "changed"
    problem_class: ClassVar[str] = ""

    @abstractmethod
    def apply(self, form: StandardForm) -> StandardForm:
        """Return the changed form.

        Raises
        ------
        InputError
            The form's blocks are not those that the change was stated over.
        """

    def cutoff(self, before: float, loss_bounded_variables: tuple[int, ...]) -> float:
        """Return `Model.cutoff` after the change: as before if the change only restricts, -inf (unknown) if it changes the cost.

        Parameters
        ----------
        before : float
            The model's, finite or -inf.
        loss_bounded_variables : tuple of int
            Positions of variables whose bounds hold for some optimal point only, so that they become invalid if an added row
            contains the variable.
        """
        return before if self.restricts else float("-inf")

    def apply_to_part(self, form: StandardForm) -> StandardForm:
        """Return a form with some of the model's blocks after the part of the change that concerns them; by default unchanged."""
        return form

    @property
    def imports(self) -> tuple[Import, ...]:
        """Return the imported programs behind the added parts, each with its comparison with the source package; empty by
        default.
        """
        return ()

    @property
    @abstractmethod
    def lines(self) -> tuple[Line, ...]:
        """Return the constraints that the change adds, as text and LaTeX."""

    def restate(self, constraints: tuple[Line, ...]) -> tuple[Line, ...]:
        """Return the lines of the changed statement's constraints from those of the statement before the change."""
        return (*constraints, *self.lines)

    @property
    def note(self) -> str:
        """Return a remark for the changed statement; empty by default."""
        return ""


def check_blocks(form: StandardForm, blocks: tuple[Block, ...]) -> None:
    """Raise `InputError` for a form with other blocks than those that a change was stated over."""
    if form.blocks != blocks:
        stated_blocks, form_blocks = (", ".join(f"{b.label} {b.shape}" for b in shown) for shown in (blocks, form.blocks))
        raise InputError(
            f"the change was stated over the blocks {stated_blocks}; the model has {form_blocks}: state it again", name="model"
        )


def shared_places(blocks: tuple[Block, ...], form: StandardForm) -> tuple[IntArray, IntArray]:
    """Return the places, ascending, of the variables of ``blocks`` that a form has too, and their places in the form."""
    form_blocks = {b.label: (b, form.slices[b.label]) for b in form.blocks}
    labels, places, start = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)], 0
    for block in blocks:
        if block.label in form_blocks and form_blocks[block.label][0] == block:
            labels.append(np.arange(start, start + block.size))
            s = form_blocks[block.label][1]
            places.append(np.arange(s.start, s.stop))
        start += block.size
    return np.concatenate(labels), np.concatenate(places)


@dataclass(frozen=True, eq=False)
class FixedVariables(Change):
    """The change of `with_fixed`: some variables are fixed at values by their bounds, x_j = v_j.

    Parameters
    ----------
    form_blocks : tuple of Block
        The form's blocks.
    places : ndarray of int
        j, in the order of the form's x.
    values : ndarray
        v.
    """

    form_blocks: tuple[Block, ...]
    places: IntArray
    values: FloatArray

    suffix: ClassVar[str] = "fixed"

    @classmethod
    def of(cls, form: StandardForm, values_by_block: Mapping[str, Any]) -> FixedVariables:
        """Read values by the label of a block or the name of a variable, and return the change that fixes these."""
        if not isinstance(values_by_block, Mapping):
            raise InputError(
                'fixed variables are given by block, as in {"w": {3: 0.0}}; got ' + repr(values_by_block), name="fixed"
            )
        fixed_values = np.full(form.n, np.nan)
        for label, value in split_indexed_values(form.blocks, values_by_block).items():
            block = form.block(label) if label in form.slices else find_entry(form.blocks, label)[0]
            named = _packed(block, value if block.label == label else {label: value})
            s = form.slices[block.label]
            fixed_values[s] = np.where(np.isnan(named), fixed_values[s], named)
        places = np.flatnonzero(~np.isnan(fixed_values))
        nearest = np.clip(
            fixed_values, form.lower, form.upper
        )  # a solver's own point may miss a bound, or an integer, by its tolerance
        nearest = np.where(form.integer, np.round(nearest), nearest)[places]
        with np.errstate(invalid="ignore"):
            wrong = np.flatnonzero(~(np.abs(fixed_values[places] - nearest) <= _NEAR * (1.0 + np.abs(nearest))))
        if wrong.size:
            j = int(places[wrong[0]])
            kind = "an integer " if form.integer[j] else ""
            raise InputError(
                f"{form.names()[j]} cannot be fixed at {fixed_values[j]:g}, which is outside its bounds: "
                f"it is {kind}in [{form.lower[j]:g}, {form.upper[j]:g}]",
                name="fixed",
            )
        return cls(form.blocks, places, nearest)

    def apply(self, form: StandardForm) -> StandardForm:
        """Return the form with both bounds of each fixed variable set to its value."""
        check_blocks(form, self.form_blocks)
        lower, upper = form.lower.copy(), form.upper.copy()
        lower[self.places] = upper[self.places] = self.values
        return form.with_bounds(lower, upper)

    def apply_to_part(self, form: StandardForm) -> StandardForm:
        """Return the form with the fixed variables that it contains fixed."""
        labels, places = shared_places(self.form_blocks, form)
        lower, upper = form.lower.copy(), form.upper.copy()
        own_places = np.isin(self.places, labels)
        new_places = places[np.searchsorted(labels, self.places[own_places])]
        lower[new_places] = upper[new_places] = self.values[own_places]
        return form.with_bounds(lower, upper)

    @property
    def summary(self) -> str:
        """Return the fixed variables with their values, or the number of each block's where there are more than three."""
        if self.places.size <= 3:
            return self.lines[0].text or "none"
        starts = np.cumsum([0, *(block.size for block in self.form_blocks)])
        counts = np.diff(np.searchsorted(self.places, starts))
        return ", ".join(f"{b.label}: {count}" for b, count in zip(self.form_blocks, counts.tolist(), strict=True) if count)

    @property
    def lines(self) -> tuple[Line, ...]:
        """Return the first four fixed variables with their values, and the number of the others, as a line."""
        names = [name for block in self.form_blocks for name in block.names()]
        shown = [f"{names[j]} = {v:g}" for j, v in zip(self.places.tolist(), self.values.tolist(), strict=True)]
        text = ", ".join(shown[:4]) + (f", and {len(shown) - 4} more" if len(shown) > 4 else "")
        return (Line.of_words(text, "bounds"),)


@dataclass(frozen=True, eq=False)
class ContinuousRelaxation(Change):
    """The change of `relaxed`: integrality and indicators are dropped."""

    restricts: ClassVar[bool] = False
    suffix: ClassVar[str] = "continuous"
    problem_class: ClassVar[str] = "continuous relaxation"
    lines = ()
    note = "integer variables are continuous between their bounds, and indicator constraints are dropped"

    def cutoff(self, before: float, loss_bounded_variables: tuple[int, ...]) -> float:
        """Return +inf: the relaxation keeps every point of the form."""
        return float("inf")

    def apply(self, form: StandardForm) -> StandardForm:
        """Drop integrality and indicators."""
        return form.relax_integrality()

    def restate(self, constraints: tuple[Line, ...]) -> tuple[Line, ...]:
        """Return the lines with intervals in place of {0, 1}, and without integrality and indicators."""
        return tuple(relaxed for line in constraints if (relaxed := line.continuous()) is not None)


def _packed(block: Block, value_or_entries: Any) -> FloatArray:
    """The block's piece of x with NaN where nothing was named; a symmetric entry is met by both of its names."""
    if not isinstance(value_or_entries, Mapping):
        value = np.asarray(value_or_entries, dtype=np.float64)
        if value.shape != block.shape:
            raise InputError(
                f"{block.label} must have shape {block.shape}, or be given by {{index: number}}; it has shape {value.shape}",
                name=block.label,
            )
        return block.pack(value)
    value = np.full(block.shape, np.nan)
    for index, number in value_or_entries.items():
        try:
            if isinstance(index, str):
                full = index if index in block.names() else f"{block.label}[{index}]"
                index = block.index(find_entry([block], full)[1])
            indices = tuple(map(int, index)) if isinstance(index, tuple) else (int(index),)
            if len(indices) != value.ndim:
                raise IndexError
            value[indices] = float(number)
        except InputError:
            raise
        except IndexError:
            raise InputError(f"{block.label} has shape {block.shape} and no entry {index!r}", name=block.label) from None
        except (TypeError, ValueError):
            raise InputError(f"{block.label} is to be fixed at numbers by index; got {{{index!r}: {number!r}}}") from None
        if block.symmetric:
            value[indices[::-1]] = value[indices]
    return block.pack(value)
