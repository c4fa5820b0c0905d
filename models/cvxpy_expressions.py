"""Constraints and costs that users state in CVXPY: the blocks of a form as CVXPY variables, and how expressions are printed.

A block is a labelled array of variables of a standard form. `Model.with_constraint` and `with_variables` use this module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set as AbstractSet
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import MissingPackageError
from .program.form import Block, StandardForm, find_entry, find_indexed_entries
from .statement import Line, latex_symbol, latex_words, listed

#: Entries up to which a vector of constants is written out.
_SHOWN = 4
#: Binding strengths: what an expression needs around it to bind less tightly.
_SUM, _PRODUCT, _ATOM = 0, 1, 2


#: Letters for vectors and for matrices of constants, the preferred ones first.
_VECTORS, _MATRIX_LETTERS = "cabdefghpqrstuvw", "CABDEFGHMNPQRSTU"


class _Constants:
    """The names of constant arrays: a letter that is not taken, with a number from the second array of its kind on."""

    def __init__(self, taken: AbstractSet[str]) -> None:
        self._letters = [next(x for x in kind if x not in taken or x == kind[-1]) for kind in (_VECTORS, _MATRIX_LETTERS)]
        self._named: list[tuple[str, str, Any]] = []
        self.undefined: list[tuple[str, str, Any]] = []  #: letter, number and value of those that are not yet described

    def name(self, value: Any) -> tuple[str, str]:
        """Return the letter and the number ("" for the first one) of an array; equal arrays have one name."""
        letter = self._letters[value.ndim != 1]
        same_kind = [named for named in self._named if named[0] == letter]
        for _, number, named_value in same_kind:
            if np.array_equal(named_value, value):
                return letter, number
        number = str(len(same_kind) + 1) if same_kind else ""
        self._named.append((letter, number, value))
        self.undefined.append((letter, number, value))
        return letter, number


class _Writer:
    """Text or LaTeX of expressions; constants that are too long are named c, c2, ... by ``constants``.

    Variables of blocks that have given names are shown by these names, and a symmetric block by its label.
    """

    def __init__(self, latex: bool, v: BlockVariables, constants: _Constants) -> None:
        self.latex = latex
        self.names = {block.label: block for block in v._form.blocks if block.given_names is not None}
        self.labels = {id(v._expressions[b.label]): b.label for b in v._form.blocks if b.label in v._expressions}
        self.constants = constants

    def of(self, expression: Any, precedence: int = _SUM) -> str:
        """Return the expression, in parentheses where it binds less tightly than is needed."""
        text, strength = self._of(expression)
        return text if strength >= precedence else (rf"\left({text}\right)" if self.latex else f"({text})")

    def _of(self, e: Any) -> tuple[str, int]:
        if id(e) in self.labels:
            return self._symbol(self.labels[id(e)]), _ATOM
        kind = type(e).__name__
        writer: Callable[[Any], tuple[str, int]] | None = getattr(self, f"_{kind.lower()}", None)
        if writer is not None:
            return writer(e)
        if kind in _THROUGH and len(e.args) == 1:
            return self._of(e.args[0])
        arguments = ", ".join(self.of(a) for a in e.args)
        name = kind.replace("_", r"\_") if self.latex else kind
        return (rf"\operatorname{{{name}}}({arguments})" if self.latex else f"{name}({arguments})"), _ATOM

    # -- leaves ---------------------------------------------------------------------------------------------------

    def _variable(self, e: Any) -> tuple[str, int]:
        return self._symbol(e.name()), _ATOM

    _parameter = _variable

    def _symbol(self, name: str) -> str:
        return latex_symbol(name) if self.latex else name

    def _constant(self, e: Any) -> tuple[str, int]:
        value = e.value
        value = value.toarray() if sp.issparse(value) else np.asarray(value)
        if value.size == 1:
            number = float(value.reshape(-1)[0])
            return f"{number:g}", _ATOM if number >= 0.0 else _SUM
        if np.ptp(value) == 0.0:
            number = float(value.reshape(-1)[0])
            return (f"{number:g}" if number != 1.0 else (r"\mathbf{1}" if self.latex else "1")), _ATOM
        if value.ndim == 1 and value.size <= _SHOWN:
            return "(" + ", ".join(f"{v:g}" for v in value) + ")", _ATOM
        if value.ndim == 2 and np.array_equal(value, value[0, 0] * np.eye(*value.shape)) and len(set(value.shape)) == 1:
            factor = "" if value[0, 0] == 1.0 else f"{value[0, 0]:g}" + ("\\," if self.latex else " ")
            return f"{factor}I", _PRODUCT if factor else _ATOM
        return self._symbol("".join(self.constants.name(value))), _ATOM

    # -- operators ------------------------------------------------------------------------------------------------

    def _addexpression(self, e: Any) -> tuple[str, int]:
        parts = [self.of(e.args[0])]
        for argument in e.args[1:]:
            negative = type(argument).__name__ == "NegExpression"
            parts.append(f" - {self.of(argument.args[0], _PRODUCT)}" if negative else f" + {self.of(argument, _PRODUCT)}")
        return "".join(parts), _SUM

    def _negexpression(self, e: Any) -> tuple[str, int]:
        return f"-{self.of(e.args[0], _PRODUCT)}", _SUM

    def _mulexpression(self, e: Any) -> tuple[str, int]:
        left, right = e.args
        transposed = left.ndim == 1 and right.ndim >= 1
        first, second = self.of(left, _ATOM if transposed else _PRODUCT), self.of(right, _PRODUCT)
        if self.latex:
            return f"{first}^\\top {second}" if transposed else f"{first}\\,{second}", _PRODUCT
        return f"{first}'{second}" if transposed else f"{first} {second}", _PRODUCT

    def _multiply(self, e: Any) -> tuple[str, int]:
        first, second = (self.of(a, _PRODUCT) for a in e.args)
        scalar = any(a.size == 1 for a in e.args)
        dot = ("\\," if scalar else r"\odot ") if self.latex else (" " if scalar else " .* ")
        return f"{first}{dot}{second}", _PRODUCT

    def _divexpression(self, e: Any) -> tuple[str, int]:
        if self.latex:
            return rf"\frac{{{self.of(e.args[0])}}}{{{self.of(e.args[1])}}}", _ATOM
        return f"{self.of(e.args[0], _PRODUCT)}/{self.of(e.args[1], _ATOM)}", _PRODUCT

    def _index(self, e: Any) -> tuple[str, int]:
        places = [_place(key, length) for key, length in zip(e.key, e.args[0].shape, strict=False)]
        if type(e.args[0]).__name__ == "Variable" and e.args[0].name() in self.names and e.size == 1:
            return self._symbol(self.names[e.args[0].name()].names()[int(places[0])]), _ATOM
        inside = self.of(e.args[0], _ATOM)
        subscript = ",".join(places)
        return (f"{inside}_{{{subscript}}}" if self.latex else f"{inside}[{subscript}]"), _ATOM

    def _transpose(self, e: Any) -> tuple[str, int]:
        return self.of(e.args[0], _ATOM) + (r"^\top" if self.latex else "'"), _ATOM

    # -- functions ------------------------------------------------------------------------------------------------

    def _abs(self, e: Any) -> tuple[str, int]:
        inside = self.of(e.args[0])
        return (rf"\left|{inside}\right|" if self.latex else f"|{inside}|"), _ATOM

    def _norm(self, e: Any, order: str) -> tuple[str, int]:
        inside = self.of(e.args[0])
        return (rf"\left\|{inside}\right\|_{{{order}}}" if self.latex else f"||{inside}||_{order}"), _ATOM

    def _norm1(self, e: Any) -> tuple[str, int]:
        return self._norm(e, "1")

    def _norminf(self, e: Any) -> tuple[str, int]:
        return self._norm(e, r"\infty" if self.latex else "inf")

    def _pnorm(self, e: Any) -> tuple[str, int]:
        return self._norm(e, f"{float(e.p):g}")

    _pnormapprox = _pnorm

    def _sum(self, e: Any) -> tuple[str, int]:
        if e.args[0].size == 1:
            return self._of(e.args[0])
        inside = self.of(e.args[0], _PRODUCT)
        return (rf"\textstyle\sum {inside}" if self.latex else f"sum {inside}"), _PRODUCT

    def _power(self, e: Any) -> tuple[str, int]:
        exponent = f"{float(e.p.value):g}"
        base = self.of(e.args[0], _ATOM)
        return (f"{base}^{{{exponent}}}" if self.latex else f"{base}^{exponent}"), _ATOM

    _powerapprox = _power

    def _quad_over_lin(self, e: Any) -> tuple[str, int]:
        top, below = self._norm(e, "2")[0], e.args[1]
        if below.is_constant() and float(np.asarray(below.value).reshape(-1)[0]) == 1.0:
            return f"{top}^2", _ATOM
        return (rf"\frac{{{top}^2}}{{{self.of(below)}}}" if self.latex else f"{top}^2/{self.of(below, _ATOM)}"), _PRODUCT

    def _quadform(self, e: Any) -> tuple[str, int]:
        x, P = self.of(e.args[0], _ATOM), self.of(e.args[1], _ATOM)
        return (rf"{x}^\top {P}\,{x}" if self.latex else f"{x}'{P} {x}"), _PRODUCT

    def _maximum(self, e: Any) -> tuple[str, int]:
        zero = [a for a in e.args if not (a.is_constant() and not np.any(a.value))]
        if len(e.args) == 2 and len(zero) == 1:
            inside = self.of(zero[0])
            return (rf"\left({inside}\right)_+" if self.latex else f"({inside})_+"), _ATOM
        return self._call("max", e)

    def _minimum(self, e: Any) -> tuple[str, int]:
        return self._call("min", e)

    _min = _minimum

    def _max(self, e: Any) -> tuple[str, int]:
        return self._call("max", e)

    def _trace(self, e: Any) -> tuple[str, int]:
        return (rf"\operatorname{{tr}}{self.of(e.args[0], _ATOM)}" if self.latex else f"tr {self.of(e.args[0], _ATOM)}"), _PRODUCT

    def _call(self, name: str, e: Any) -> tuple[str, int]:
        inside = ", ".join(self.of(a) for a in e.args)
        return (rf"\{name}\{{{inside}\}}" if self.latex else f"{name}{{{inside}}}"), _ATOM


#: Atoms of CVXPY that only change a shape: their argument is printed in place of them.
_THROUGH = frozenset({
    "Promote", "reshape", "Hstack", "Vstack", "broadcast_to", "Wrap", "psd_wrap", "upper_tri", "vec", "special_index",
})  # fmt: skip
#: Constraints between two expressions, and those that compare one with zero.
_RELATIONS = {"Inequality": ("<=", r"\le"), "Equality": ("=", "=")}
_ENDINGS = {"Zero": ("= 0", "= 0"), "NonPos": ("<= 0", r"\le 0"), "NonNeg": (">= 0", r"\ge 0"), "PSD": ("psd", r"\succeq 0")}


def _place(key: slice, length: int) -> str:
    first, last, step = key.indices(length)
    if last - first == step:
        return str(first)
    if (first, last, step) == (0, length, 1):
        return ":"
    return f"{first}:{last}" if step == 1 else f"{first}:{last}:{step}"


class CVXPYPrinter:
    """Printer of the constraints and the cost of one change: their constants have letters of their own, each defined once.

    Parameters
    ----------
    v : BlockVariables
        The blocks by which constraints and cost were stated.
    letters : set of str
        Letters that stand for something else in the statement.
    """

    def __init__(self, v: BlockVariables, letters: AbstractSet[str]) -> None:
        self._constants = _Constants(frozenset(letters) | {block.label for block in v._form.blocks} | set(v._expressions))
        self._text, self._latex = (_Writer(latex, v, self._constants) for latex in (False, True))

    def expression(self, expression: Any) -> Line:
        """Return a CVXPY expression as text and LaTeX."""
        return Line(self._text.of(expression), self._latex.of(expression))

    def new_constants(self) -> Line:
        """Return the spaces of the constants that were printed since the last call, as in ``c in R^20``."""
        new, self._constants.undefined = self._constants.undefined, []
        named = [(letter + number, _dimensions(value.shape)) for letter, number, value in new]
        return listed([
            Line(f"{name} in R^{text}", rf"{latex_symbol(name)}\in\mathbb{{R}}^{{{latex}}}") for name, (text, latex) in named
        ])  # fmt: skip

    def row(self, row: Any) -> Line:
        """Return a CVXPY constraint as text and LaTeX, with its label and the spaces of its new constants."""
        kind = type(row).__name__
        if kind in _RELATIONS:
            left, right = map(self.expression, row.args)
            sign, tex_sign = _RELATIONS[kind]
            line = Line(f"{left.text} {sign} {right.text}", f"{left.latex} {tex_sign} {right.latex}")
        elif kind in _ENDINGS:
            body, (ending, tex_ending) = self.expression(row.args[0]), _ENDINGS[kind]
            line = Line(f"{body.text} {ending}", f"{body.latex} {tex_ending}")
        elif kind == "SOC":
            bound, vector = map(self.expression, row.args)
            line = Line(f"||{vector.text}||_2 <= {bound.text}", rf"\left\|{vector.latex}\right\|_2 \le {bound.latex}")
        else:
            # exempt (text): printed rows of CVXPY
            return Line.of_words(" ".join(str(row).removeprefix(f"{row.label}: ").split()), row.label)
        full_line = listed([part for part in (line, self.new_constants()) if part.text])
        return Line(full_line.text, rf"{full_line.latex} \qquad\text{{({latex_words(row.label)})}}", row.label)


#: Attributes of CVXPY's variables, and the sets and signs that print them.
_SETS = {"boolean": ("in {0, 1}", r"\in\{0,1\}"), "integer": ("in Z", r"\in\mathbb{Z}")}
_MATRICES = ("symmetric", "PSD", "NSD")
_SIGNS = {
    "nonneg": (">= 0", r"\ge 0"), "pos": (">= 0", r"\ge 0"), "nonpos": ("<= 0", r"\le 0"), "neg": ("<= 0", r"\le 0"),
    "PSD": ("psd", r"\succeq 0"), "NSD": ("nsd", r"\preceq 0"),
}  # fmt: skip


def _dimensions(shape: tuple[int, ...]) -> tuple[str, str]:
    """Return a shape as text, ``7 x 4``, and as LaTeX."""
    return " x ".join(map(str, shape)), r" \times ".join(map(str, shape))


def variable_line(variable: Any) -> Line:
    """Return a CVXPY variable with its set, ``t in {0, 1}^3``, or with its sign alone, ``t >= 0``."""
    attributes, dimensions = variable.attributes, _dimensions(variable.shape)
    symbol = Line(variable.name(), latex_symbol(variable.name()))
    sets = [names for kind, names in _SETS.items() if attributes[kind]]
    signs = [names for kind, names in _SIGNS.items() if attributes[kind]]
    if any(attributes[kind] for kind in _MATRICES):
        space = (f"in S^{variable.shape[0]}", rf"\in\mathbb{{S}}^{{{variable.shape[0]}}}")
    else:
        text, latex = sets[0] if sets else ("in R", r"\in\mathbb{R}")
        space = (f"{text}^{dimensions[0]}", f"{latex}^{{{dimensions[1]}}}") if variable.shape else (text, latex)
    conditions = signs if signs and not sets else [space, *signs]
    lines = [Line(f"{symbol.text} {text}", f"{symbol.latex}{latex}") for text, latex in conditions]
    if attributes.get("bounds") is not None:
        low, high = (np.unique(np.asarray(end)) for end in attributes["bounds"])
        ends = [f"{end[0]:g}" if end.size == 1 else letter for end, letter in ((low, "l"), (high, "u"))]
        lines.append(Line(f"{ends[0]} <= {symbol.text} <= {ends[1]}", rf"{ends[0]} \le {symbol.latex} \le {ends[1]}"))
    return listed(lines)


def cvxpy_module() -> Any:
    """Import and return CVXPY; raise `MissingPackageError` if it is not installed."""
    try:
        import cvxpy
    except ImportError as error:
        message = "constraints are stated in CVXPY, which is not installed"
        raise MissingPackageError(message, "cvxpy", "pip install cvxpy") from error
    return cvxpy


class BlockVariables:
    """The blocks of a form as CVXPY variables of their shapes, ``v.w`` or ``v["alpha plus"]``; a symmetric block as its matrix.

    ``v["w[age]"]`` is the entry of this name, ``v["open"]`` the vector of an indexed variable of another package.

    A block with lower bounds ≥ 0 is known to CVXPY as nonnegative, one with upper bounds ≤ 0 as nonpositive.

    Parameters
    ----------
    form : StandardForm
        The form.
    new : sequence of cvxpy.Variable
        Variables that are added to the form at the same time: found by their names too.

    Raises
    ------
    InputError
        On access: the form has no block or variable of that name; the message lists its names.
    """

    def __init__(self, form: StandardForm, new: Sequence[Any] = ()) -> None:
        self._form = form
        self._expressions: dict[str, Any] = {variable.name(): variable for variable in new}
        self._variables: list[Any] = []

    def __getitem__(self, label: str) -> Any:
        if label not in self._expressions:
            self._expressions[label] = self._made(self._form.block(label)) if label in self._form.slices else self._named(label)
        return self._expressions[label]

    def _named(self, name: str) -> Any:
        """Return the variable of this name, or the vector of an indexed variable of another package."""
        if entries := find_indexed_entries(self._form.blocks, name):
            return cvxpy_module().hstack([self[block.label][block.index(place)] for block, place in entries])
        block, place = find_entry(self._form.blocks, name)
        return self[block.label][block.index(place)]

    def __getattr__(self, label: str) -> Any:
        if label.startswith("_"):  # what copies and notebooks ask every object for
            raise AttributeError(label)
        return self[label]

    def __dir__(self) -> list[str]:
        return [b.label for b in self._form.blocks]

    def __repr__(self) -> str:
        return "variables " + ", ".join(f"{b.label} {b.shape}" for b in self._form.blocks)

    def _made(self, block: Block) -> Any:
        cvxpy = cvxpy_module()
        s = self._form.slices[block.label]
        if block.symmetric or block.entries is not None:
            entries = cvxpy.Variable(block.size, name=block.label)
            self._variables.append(entries)
            return cvxpy.reshape(block.expansion @ entries, block.shape, order="C")
        sign = {}
        if block.size and (self._form.lower[s] >= 0).all():
            sign["nonneg"] = True
        elif block.size and (self._form.upper[s] <= 0).all():
            sign["nonpos"] = True
        variable = cvxpy.Variable(block.shape, name=block.label, **sign)
        self._variables.append(variable)
        return variable


def variables_in_use(v: BlockVariables) -> tuple[Any, ...]:
    """Return the CVXPY variables of the blocks of ``v`` that were accessed. A function, since attributes of ``v`` are blocks."""
    return tuple(v._variables)
