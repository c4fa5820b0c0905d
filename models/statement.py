# exempt (text): numbers in a statement, as LaTeX shows them
"""A formulation as text and LaTeX: `Statement`, made of `Line`s, is what ``print(model)`` and ``model.latex()`` show."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..data_names import DataNames
from ..display import Display
from .arrays import FloatArray

#: LaTeX's special characters, what its text font has not, and the Greek of our messages.
_SPECIAL = {
    **{c: "\\" + c for c in "&%#_${}"},
    "\\": r"\textbackslash{}",
    **{c: f"\\{c}{{}}" for c in "~^"},
    **{c: f"${c}$" for c in "<>|"},
    **dict(zip("λκγρτ", (rf"$\{name}$" for name in ("lambda", "kappa", "gamma", "rho", "tau")), strict=True)),
    **dict(zip("≤≥±∞·√²", (rf"${sign}$" for sign in (r"\le", r"\ge", r"\pm", r"\infty", r"\cdot", r"\surd", "^2")), strict=True)),
}
#: Letters and signs of names, and LaTeX's accents by Unicode's combining characters.
_LATIN = {"ß": r"\ss{}", "æ": r"\ae{}", "Æ": r"\AE{}", "œ": r"\oe{}", "Œ": r"\OE{}", "ø": r"\o{}", "Ø": r"\O{}", "ł": r"\l{}"}
_LATIN |= {"Ł": r"\L{}", "ı": r"\i{}", "–": "--", "—": "---", "’": "'", "×": r"$\times$", "°": r"$^\circ$", "µ": r"$\mu$"}
_ACCENTS = {
    "\N{COMBINING GRAVE ACCENT}": "`", "\N{COMBINING ACUTE ACCENT}": "'", "\N{COMBINING CIRCUMFLEX ACCENT}": "^",
    "\N{COMBINING TILDE}": "~", "\N{COMBINING DIAERESIS}": '"', "\N{COMBINING RING ABOVE}": "r", "\N{COMBINING CEDILLA}": "c",
    "\N{COMBINING CARON}": "v", "\N{COMBINING MACRON}": "=", "\N{COMBINING BREVE}": "u", "\N{COMBINING DOT ABOVE}": ".",
    "\N{COMBINING DOUBLE ACUTE ACCENT}": "H",
}  # fmt: skip
#: Most features, or classes, that a statement lists.
_LISTED_NAMES = 12
#: Characters of a constraint that fit on a printed page, a command of LaTeX counted as one and braces and spaces as none.
_PAGE = 52
#: Width of a character below min, in characters of a constraint, the characters of a line there, and those of a page with both.
_SCRIPT, _BELOW, _WIDTH = 0.7, 12, 64
_COMMAND = re.compile(r"\\(?:[A-Za-z]+|.)")
#: What opens or closes a group in which a display cannot be broken, or a list; and where it is broken: after a comma with its
#: space, or before the sign of a term.
_GROUPS = r"(?P<open>\\left\b|(?<!\\)\{)|(?P<close>\\right\b|(?<!\\)\})|(?P<list>[()])"
_COMMA, _TERM = re.compile(rf"{_GROUPS}|(?P<place>,(?:\\ | |(?=\\infty)))"), re.compile(rf"{_GROUPS}|(?P<place> (?=[+-] ))")
_EXPONENT = re.compile(r"(\d)e([+-]?\d)")
_POWER = re.compile(r"(?<![\w.])(?P<digits>\d+(?:\.\d+)?)e(?P<sign>[+-]?)0*(?P<power>\d+)(?![\w.])")
#: Letters by their names in our text.
_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ", "theta": "θ", "kappa": "κ", "lam": "λ",
    "mu": "μ", "nu": "ν", "xi": "ξ", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "psi": "ψ", "omega": "ω", "Gamma": "Γ",
}  # fmt: skip
#: Names that are LaTeX's commands for letters, and Python's name for λ.
_LATEX_LETTERS = {name: name for name in (*_GREEK, "lambda", "eta") if name != "lam"} | {"lam": "lambda"}
_LOW = dict(zip("0123456789+-ijklmn", "₀₁₂₃₄₅₆₇₈₉₊₋ᵢⱼₖₗₘₙ", strict=True))
_SPECIAL |= {letter: rf"$\{name}$" for name, letter in _GREEK.items() if name != "lam"}
_SPECIAL |= {"‖": r"$\|$", "ᵀ": r"$^\top$", "½": r"$\tfrac12$", "Σ": r"$\sum$"}
#: Indices and tildes of `typeset`, which LaTeX sets around letters.
_INDEX, _TILDE = re.compile("[₀₁₂₃₄₅₆₇₈₉₊₋ᵢⱼₖₗₘₙ]+"), re.compile("([A-Za-zα-ωΓ])\N{COMBINING TILDE}")
#: A name with an index in brackets, or a letter with digits.
_INDEXED = re.compile(r"(?P<stem>[^\[\]]+)\[(?P<index>(?:[^\[\]]|\[[^\[\]]*\])+)\]|(?P<letter>[A-Za-z])(?P<digits>\d+)")
_NUMBERS = re.compile(r"[\d,]+")
_PLAIN = {low: plain for plain, low in _LOW.items()}
_SIGNS = {"||": "‖", "sqrt": "√", "<=": "≤", ">=": "≥", "^2": "²", "1/2": "½"}
#: Patterns of our text's notation and their typeset signs, applied in order: names of letters first, since the later patterns
#: read the letters.
_TYPESET: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (
        re.compile(rf"(?<![\w.\"])(?<![\s({{]')(?<!\w-)({'|'.join(_GREEK)})(?=_\{{?[\w+-]{{1,2}}\b|[^\w=(\"']|$)"),
        lambda m: _GREEK[m[1]],
    ),
    (re.compile(r"\bsum(?=_[ijkl]\b)"), lambda m: "Σ"),
    (re.compile(r"\|\||\bsqrt(?=\()|<=|>=|\^2(?!\d)|\b1/2\b"), lambda m: _SIGNS[m[0]]),
    (re.compile(r"(?<![A-Za-z])([A-Za-z])~"), lambda m: m[1] + "\N{COMBINING TILDE}"),
    (
        re.compile(
            r"((?<![A-Za-z_.`])(?:[A-Z]?[A-Za-zα-ωϖΓΣ∇]|min|max|grad)[²\u0303]?|[)\]])"
            r"_(?:\{([\dijklmn+-]+)\}|([\dijklmn+-]{1,2})(?![A-Za-z0-9_]))"
        ),
        lambda m: m[1] + "".join(_LOW[c] for c in m[2] or m[3]),
    ),
    # not of a derivative, f'(x), nor of words: it's, 'one'
    (re.compile(r"((?<![A-Za-z_'`])[A-Za-zα-ωΑ-Ω]{1,2}[ᵢⱼₖₗₘₙ₀-₉]*|(?<=[^\s(])[)\]])'(?!s\b|\(|\w{3})"), lambda m: m[1] + "ᵀ"),
)


#: Sets of integers in the variables of a statement (vectors) and in its rows, and the sets of the continuous relaxation.
_RELAXED_SETS = (
    (re.compile(r"\{0, 1\}\^"), "[0, 1]^"),
    (re.compile(r"(\w+) in \{0, 1\}"), r"0 <= \1 <= 1"),
    (re.compile(r" in Z\b"), " in R"),
)
_RELAXED_LATEX = (
    (re.compile(r"\\\{0,1\\\}\^"), "[0,1]^"),
    (re.compile(r"([\\\w]+(?:_\{?\w+\}?)?)\s*\\in\s*\\\{0,1\\\}"), r"0\\le \1\\le 1"),
    (re.compile(r"\\mathbb\{Z\}"), r"\\mathbb{R}"),
)
#: A letter that stands alone or with an index; and one whose value the sizes give.
_LETTER, _PARAMETER = re.compile(r"(?<![A-Za-z])[A-Za-z](?![A-Za-z])"), re.compile(r"(?<![A-Za-z])([A-Za-z])(?:_\w+)? = ")


@dataclass(frozen=True)
class Line:
    """An expression or constraint as text and as LaTeX, with the label of the constraint that it states.

    Parameters
    ----------
    text : str
        In plain characters, such as ``y_i x_i'w >= 1``.
    latex : str
        The same as mathematics.
    label : str
        The constraint in the form; empty for an objective.
    """

    text: str
    latex: str
    label: str = ""

    @classmethod
    def of_words(cls, text: str, label: str = "") -> Line:
        """Return an expression that is known as words only."""
        return cls(text, rf"\text{{{latex_words(text)}}}", label)

    def with_size(self, n: int) -> Line:
        """Return the line of n data points; the line itself where it does not have their number."""
        return self

    def continuous(self) -> Line | None:
        """Return the line of the continuous relaxation, an interval in place of {0, 1}; None for integrality and implications."""
        # exempt (text): the notation of this module's own lines
        if self.text.endswith(" integer") or " => " in self.text:
            return None
        text, latex = self.text, self.latex
        for pattern, interval in _RELAXED_SETS:
            text = pattern.sub(interval, text)
        for pattern, interval in _RELAXED_LATEX:
            latex = pattern.sub(interval, latex)
        return Line(text, latex, self.label)


@dataclass(frozen=True)
class PointVariables(Line):
    """A line of variables with one entry for each of n data points, such as ``z in {0, 1}^n``: `PointVariables.of` makes it.

    Parameters
    ----------
    text, latex, label : str
        As in `Line`.
    symbol : Line
        The variables.
    elements : Line
        The set of an entry.
    columns : int
        Number of entries for each point, of a matrix; 0 for a vector.
    """

    symbol: Line = field(kw_only=True)
    elements: Line = field(kw_only=True)
    columns: int = field(default=0, kw_only=True)

    @classmethod
    def of(cls, symbol: Line, elements: Line, columns: int = 0, n: str = "n") -> PointVariables:
        """Return the line of these variables; its label is that of ``symbol``."""
        text, latex = f"{symbol.text} in {elements.text}^{n}", rf"{symbol.latex}\in{elements.latex}^"
        if columns:
            text, latex = f"{text} x {columns}", rf"{latex}{{{n}\times {columns}}}"
        else:
            latex += n if len(n) == 1 else f"{{{n}}}"
        return cls(text, latex, symbol.label, symbol=symbol, elements=elements, columns=columns)

    def with_size(self, n: int) -> Line:
        """Return the line with the number of points in place of n."""
        return self.of(self.symbol, self.elements, self.columns, str(n))


#: Sets of the entries of variables.
REAL_NUMBERS, UNIT_INTERVAL, ZERO_OR_ONE = Line("R", r"\mathbb{R}"), Line("[0, 1]", "[0,1]"), Line("{0, 1}", r"\{0,1\}")


def times(factor: float, line: Line) -> Line:
    """Return a number times an expression as one writes it: the expression for 1, with a fraction for 1/2, 1/3, ..."""
    parts = 1.0 / factor if factor else 0.0
    if factor == 1.0:
        return line
    if parts == round(parts) and 2 <= parts < 100:
        return Line(f"1/{parts:g} {line.text}", rf"\tfrac{{1}}{{{parts:g}}}{line.latex}", line.label)
    return Line(f"{factor:g} {line.text}", rf"{factor:g}\,{line.latex}", line.label)


def plus(*terms: Line) -> Line:
    """Return the sum of those expressions that are not empty; a term that begins with a minus is subtracted."""
    terms_shown = [term for term in terms if term.text]
    return Line(_sum([term.text for term in terms_shown]), _sum([term.latex for term in terms_shown]))


def _sum(terms: Sequence[str]) -> str:
    # exempt (text): the notation of this module's own lines
    signed = [f" - {term[1:]}" if term.startswith("-") else f" + {term}" for term in terms[1:]]
    return "".join([*terms[:1], *signed]) or "0"


def listed(lines: Sequence[Line], label: str = "") -> Line:
    """Return the lines one after the other, separated by commas, as a statement lists its variables."""
    return Line(", ".join(line.text for line in lines), r",\ ".join(line.latex for line in lines), label)


def equation(name: str, value: float) -> Line:
    """Return the equation name = value of a variable; LaTeX has the index of a name as a subscript."""
    return Line(f"{name} = {value:g}", f"{latex_symbol(name)} = {value:g}")


def name_lines(names: DataNames, *, of_coefficients: bool) -> tuple[Line, ...]:
    """Return which class has which code, and the features: as indices of w for ``of_coefficients``, else as entries of x_i."""
    coded = [(1, names.classes[1]), (-1, names.classes[0])] if len(names.classes) == 2 else [*enumerate(names.classes)]
    classes = [rf"y_i = {code}:\ \text{{{latex_words(name)}}}" for code, name in coded]
    words = [rf"\text{{{latex_words(name)}}}" for name in names.features]
    vector = rf"w = ({_first([f'w_{{{word}}}' for word in words])})" if of_coefficients else rf"x_i = ({_first(words)})"
    lines = [Line(names.class_note, _first(classes))] if classes else []
    return (*lines, *([Line(names.feature_note, vector)] if words else []))


def _first(items: Sequence[str]) -> str:
    """Return the first items of a list as LaTeX, with dots for the others."""
    return r",\ ".join([*items[:_LISTED_NAMES], *([r"\dots"] if len(items) > _LISTED_NAMES else [])])


def lam_sum_line(lam: float | FloatArray, term: Line) -> Line:
    """Return the expression λ Σ_i term, or Σ_i λ_i term where each point has its own λ_i; ``term`` has the index i."""
    if np.ndim(lam) == 0:
        return Line(f"lam sum_i {term.text}", rf"\lambda\sum_{{i=1}}^n {term.latex}")
    return Line(f"sum_i lam_i {term.text}", rf"\sum_{{i=1}}^n \lambda_i {term.latex}")


def lam_text(price: float | FloatArray, name: str = "lam") -> str:
    """Return "lam = 2" for one number or equal ones, "lam = 1 .. 3" for the range of the λ_i; ``name`` stands for "lam"."""
    low, high = f"{np.min(price):g}", f"{np.max(price):g}"
    return f"{name} = {low}" if low == high else f"{name} = {low} .. {high}"


@dataclass(frozen=True)
class DualStatement:
    """The dual of a program in closed form, and the map between the two solutions.

    Parameters
    ----------
    sense, variables, objective, constraints
        As in `Statement`; at an optimum both objectives have the same value.
    kkt : tuple of Line
        How one solution follows from the other: stationarity and complementarity.
    """

    sense: str
    variables: Line
    objective: Line
    constraints: tuple[Line, ...]
    kkt: tuple[Line, ...]


@dataclass(frozen=True)
class Statement:
    """A mathematical program in words and symbols, for print, LaTeX and notebooks.

    Parameters
    ----------
    title : str
        Name of the formulation, with its variant.
    problem_class : str
        Such as "convex QP" or "mixed-integer QP".
    sense : str
        "minimise" or "maximise".
    variables : Line
        Symbols of the variables and their spaces.
    objective : Line
        The objective, in the sense of ``sense``.
    constraints : tuple of Line
        One line for each labelled constraint, then bounds and integrality.
    sizes : str
        Sizes and parameters of the instance, "n = 12 points, p = 3, C = 1".
    notes : tuple of str
        Assumptions, arguments (why M is valid).
    source : str
        Paper and equation number.
    names : tuple of Line
        Names of classes and features: the text stands among the notes, LaTeX below the constraints.
    equivalences : tuple of str
        Which other formulations have the same solution, and when.
    dual : DualStatement, optional
        The dual of the program; None where it has no closed form.
    """

    title: str
    problem_class: str
    sense: str
    variables: Line
    objective: Line
    constraints: tuple[Line, ...]
    sizes: str
    source: str
    notes: tuple[str, ...] = field(default=())
    names: tuple[Line, ...] = field(default=(), kw_only=True)
    equivalences: tuple[str, ...] = field(default=())
    dual: DualStatement | None = None

    def __str__(self) -> str:
        lines = [f"{self.title}  [{self.problem_class}]"]
        lines += program_text(self.sense, self.objective, self.constraints, self.variables)
        lines.append(f"  sizes: {self.sizes}")
        if self.dual is not None:
            lines += ["  dual:", *program_text(self.dual.sense, self.dual.objective, self.dual.constraints, self.dual.variables)]
            lines += [f"  at an optimum: {line.text}" for line in self.dual.kkt]
        lines += [f"  note: {note}" for note in (*self.notes, *(line.text for line in self.names))]
        lines += [f"  equivalent: {text}" for text in self.equivalences]
        lines.append(f"  source: {self.source}")
        return "\n".join(lines)

    __repr__ = __str__

    def latex(self, *, standalone: bool = False) -> str:
        r"""Return the program, its dual and the optimality conditions as ``aligned`` displays.

        Parameters
        ----------
        standalone : bool
            A whole document that compiles as it is; else displays for one that loads amsmath and amssymb.
        """
        parts = [program_latex(self.sense, self.objective, (*self.constraints, *self.names), self.variables)]
        if self.dual is not None:
            dual = self.dual
            parts += ["Dual:", program_latex(dual.sense, dual.objective, dual.constraints, dual.variables)]
            parts += ["At an optimum:", _display([f"& {line.latex}" for line in dual.kkt])]
        body = latex_numbers("\n".join(parts))
        if not standalone:
            return body
        lines = [self.problem_class, self.sizes, *self.notes, *(f"equivalent: {text}" for text in self.equivalences)]
        items = "".join(f"\\item {latex_notes(text)}\n" for text in lines)
        notes = f"\\begin{{itemize}}\\raggedright\n{items}\\end{{itemize}}\n"
        return latex_document(f"{latex_words(self.title)} ({latex_words(self.source)}).", f"{body}\n{notes.rstrip()}")

    @property
    def letters(self) -> frozenset[str]:
        """Return the Latin letters that stand for something in the program."""
        lines = (self.variables, self.objective, *self.constraints)
        return frozenset(_LETTER.findall("\n".join(line.text for line in lines)) + _PARAMETER.findall(self.sizes))

    def display(self) -> Display:
        """Return the notebook view: the mathematics set, and the text, which is readable without MathJax, folded below it."""
        facts = [("class", self.problem_class), ("sizes", self.sizes), *(("note", note) for note in self.notes)]
        facts += [("note", line.text) for line in self.names]
        facts += [("equivalent", text) for text in self.equivalences]
        typeset_facts = [(name, typeset(fact)) for name, fact in facts]
        return Display(typeset(self.title), (*typeset_facts, ("source", self.source)), latex=self.latex(), text=str(self))


def program_text(sense: str, objective: Line, constraints: Sequence[Line], variables: Line | None = None) -> list[str]:
    """Return the lines of a program as text: objective, then one constraint a line behind its label."""
    width = max((len(c.label) for c in constraints), default=0)
    lines = [f"  {sense}    {objective.text}" + ("" if variables is None else f"   over {variables.text}")]
    lead = "subject to"
    for c in constraints:
        lines.append(f"  {lead:<10}  {c.label:<{width}}  {c.text}")
        lead = ""
    return lines


def program_latex(sense: str, objective: Line, constraints: Sequence[Line], variables: Line | None = None) -> str:
    """Return a program as an ``aligned`` display."""
    operator = r"\min" if sense == "minimise" else r"\max"
    right = [_page_lines(objective.latex, pattern=_TERM), *(_page_lines(latex_numbers(c.latex)) for c in constraints)]
    widest = max(_shown_width(line) for lines in right for line in lines)
    below = "" if variables is None else f"_{{{_under(variables.latex, widest)}}}"
    leads = [rf"{operator}{below}\quad & ", r"\text{s.t.}\quad & ", *[r"& "] * len(constraints)]
    rows = [
        row
        for lead, (first, *others) in zip(leads, right, strict=False)
        for row in (lead + first, *(rf"& \quad {o}" for o in others))
    ]
    return _display(rows)


def _under(variables: str, widest: int) -> str:
    """Return the variables as they stand below min: one below the other where the widest line beside them leaves no space."""
    if _shown_width(variables) * _SCRIPT + widest <= _WIDTH:
        return variables
    lines = r" \\ ".join(line.rstrip("\\ ") for line in _page_lines(variables, width=_BELOW))
    return rf"\substack{{{lines}}}"


def _page_lines(latex: str, *, pattern: re.Pattern[str] = _COMMA, width: int = _PAGE, inside_lists: bool = False) -> list[str]:
    """Return LaTeX as lines that fit on a page, broken where ``pattern`` has a place; in a list only if it is too long itself."""
    group = lists = start = 0
    pieces = []
    for sign in pattern.finditer(latex):
        group += (sign["open"] is not None) - (sign["close"] is not None)
        lists += 0 if sign["list"] is None else (1 if sign["list"] == "(" else -1)
        if sign["place"] is not None and group == 0 and (inside_lists or lists == 0):
            pieces.append(latex[start : sign.end()])
            start = sign.end()
    lines = [""]
    for piece in [*pieces, latex[start:]]:
        if piece and lines[-1] and _shown_width(lines[-1] + piece) > width:
            lines.append("")
        lines[-1] += piece
    if inside_lists:
        return [line.rstrip("\\ ") for line in lines]
    return [part for line in lines for part in _page_lines(line, pattern=pattern, width=width, inside_lists=True)]


def _shown_width(latex: str) -> int:
    return sum(c not in "{}^_& " for c in _COMMAND.sub("x", latex))


def latex_document(title: str, body: str) -> str:
    """Return a LaTeX document that compiles as it is."""
    head = "\\documentclass{article}\n\\usepackage{amsmath,amssymb}\n\\begin{document}\n\\noindent\n"
    return f"{head}{title}\n{body}\n\\end{{document}}\n"


def latex_symbol(name: str) -> str:
    r"""Return a variable's name as LaTeX: letters as they are, ``xi[3]`` as ``\xi_{3}``, ``x1`` as ``x_{1}``, words upright."""
    indexed = _INDEXED.fullmatch(name)
    if indexed is not None:
        index = indexed["index"] or indexed["digits"]
        subscript = index if _NUMBERS.fullmatch(index) else rf"\text{{{latex_words(index)}}}"
        return f"{latex_symbol(indexed['stem'] or indexed['letter'])}_{{{subscript}}}"
    if name in _LATEX_LETTERS:
        return f"\\{_LATEX_LETTERS[name]}"
    return name if len(name) == 1 and name.isalpha() else rf"\text{{{latex_words(name)}}}"


def latex_numbers(text: str) -> str:
    r"""Return text whose numbers in a program's notation, ``1.23e-05``, are set as LaTeX: ``1.23 \times 10^{-5}``."""
    return _POWER.sub(lambda m: rf"{m['digits']} \times 10^{{{'-' if m['sign'] == '-' else ''}{m['power']}}}", text)


def typeset(text: str) -> str:
    """Return prose with our text's notation, ``||x_i||^2 <= lam``, in the mathematician's: ‖xᵢ‖² ≤ λ. For pages and notebooks."""
    for pattern, sign in _TYPESET:
        text = pattern.sub(sign, text)
    return text


def _display(rows: list[str]) -> str:
    body = " \\\\\n  ".join(rows)
    return f"\\[\n\\begin{{aligned}}\n  {body}\n\\end{{aligned}}\n\\]"


def latex_words(text: str) -> str:
    """Return prose for LaTeX in ASCII: special characters escaped, accents as commands, letters of other scripts by number."""
    words = "".join(_SPECIAL.get(c) or _LATIN.get(c) or _latex_letter(c) for c in text)
    # what is between digits and e keeps `latex_numbers` from making mathematics of it inside \text
    return _EXPONENT.sub(r"\1{}e\2", words)


def _latex_letter(letter: str) -> str:
    """Return a letter that is not special in LaTeX; "U+540D" for one that LaTeX does not set without further packages."""
    if letter.isascii():
        return letter if letter.isprintable() else " "
    parts = unicodedata.normalize("NFD", letter)
    base, marks = parts[0], parts[1:]
    if base.isascii() and all(mark in _ACCENTS for mark in marks):
        for mark in marks:
            base = rf"\{_ACCENTS[mark]}{{{base}}}"
        return base
    return rf"\texttt{{U+{ord(letter):04X}}}"


def latex_notes(text: str) -> str:
    """Return prose with our text's notation, ``||x_i||^2 <= lam``, for LaTeX: signs, indices and Greek letters as mathematics."""
    signs = typeset(text)
    letters = [(m.start(), m.end(), rf"$\tilde{{{latex_words(m[1]).strip('$')}}}$") for m in _TILDE.finditer(signs)]
    indices = [(m.start(), m.end(), f"$_{{{''.join(_PLAIN[c] for c in m[0])}}}$") for m in _INDEX.finditer(signs)]
    done, parts = 0, []
    for start, end, tex in sorted([*letters, *indices]):
        parts += [latex_words(signs[done:start]), tex]
        done = end
    return "".join([*parts, latex_words(signs[done:])]).replace("$$", "")
