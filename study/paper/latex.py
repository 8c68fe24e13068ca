r"""What is exported for LaTeX: numbers and captions as macros, tables that fit their column, a document that shows it all.

    numbers.tex         \study{notebook/metric}, \studyrounded{…}, \studyunit{…}
    figures.tex         \studyfigure{name}: picture, caption and label, for the inside of a figure
    claims.tex, numbers-table.tex       tables of booktabs, with columns that are parts of \linewidth
    example.tex         a document with every number, table and figure; it compiles as it is

On a page a table is a longtable. A text in two columns cannot have one: there a table comes in pieces, each lower than a
column.
"""
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_\allowbreak{}", "{": r"\{",
    "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "`": r"\textasciigrave{}",
    "/": r"/\allowbreak{}", "\u2009": r"\,", "\u00a0": "~", "→": r"$\to$\allowbreak{}", "←": r"$\leftarrow$", "−": r"$-$",
    "×": r"$\times$", "≥": r"$\ge$", "≤": r"$\le$", "≈": r"$\approx$", "±": r"$\pm$", "√": r"$\surd$",
    "⁻": "$^{-}$", **{letter: rf"\textsuperscript{{{digit}}}" for digit, letter in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
    "°": r"\textdegree{}", "µ": r"\textmu{}", "μ": r"\textmu{}", "–": r"\textendash{}", "—": r"\textemdash{}",
    "…": r"\ldots{}", "‘": r"\textquoteleft{}", "’": r"\textquoteright{}", "“": r"\textquotedblleft{}",
    "”": r"\textquotedblright{}", "·": r"\textperiodcentered{}"}
LIGATURES = ("--", ",,", "''")      # of T1: each would become one character
TIED = r"\\*"       # ends a row that goes with the next one
LINES = 25          # of a piece of a table, at most
CHARACTERS = 54     # of \footnotesize side by side in a column
COMMAND = re.compile(r"\\[a-z]+(\{\})?|\$\\?[a-z^0-9]+\$")
MACROS = ("study", "studyrounded", "studyunit")


class Column(NamedTuple):
    """Of a table: its head, and its part of the width."""
    head: str
    part: float


def escaped(text: str) -> str:
    """Any text, so that LaTeX sets it as it is; T1 and textcomp are taken to be there."""
    for letters in LIGATURES:
        while letters in text:
            text = text.replace(letters, "\0".join(letters))
    return "".join(SPECIAL.get(letter, letter) for letter in text).replace("\0", "{}")


def printed(text: str) -> str:
    """What a document prints; `->` is ours, and parts before from after."""
    return escaped(text.replace("->", "→"))


# --- macros ---------------------------------------------------------------------------------------------------------------

def numbers(rows: Mapping[str, tuple[str, str, str]]) -> str:
    """A macro each for a number as it is, rounded, and its unit: name -> (exact, rounded, unit)."""
    return "\n".join([
        r"% Numbers of the study, written by `study export`: \study{notebook/metric} is exact to six digits,",
        r"% \studyrounded{…} is rounded to what its interval deserves, \studyunit{…} is its unit.",
        *(_lookup(macro, "number") for macro in MACROS),
        *(_entry(macro, name, escaped(text)) for name, texts in rows.items()
          for macro, text in zip(MACROS, texts, strict=True))]) + "\n"


def figures(captions: Mapping[str, str]) -> str:
    """Macros of LaTeX that set a figure by its name, with its caption."""
    return "\n".join([
        r"% Figures of the study, written by `study export`: \begin{figure}\studyfigure{name}\end{figure}. Needs graphicx.",
        _lookup("studycaption", "figure"),
        r"\newcommand{\studyfigure}[1]{\centering\includegraphics[width=\linewidth]{#1}"
        r"\caption{\studycaption{#1}}\label{fig:#1}}",
        *(_entry("studycaption", name, escaped(caption)) for name, caption in captions.items())]) + "\n"


def _lookup(macro: str, kind: str) -> str:
    """A name that is not known stops LaTeX with a sentence."""
    return (rf"\newcommand{{\{macro}}}[1]{{\ifcsname {macro}@#1\endcsname\csname {macro}@#1\endcsname\else"
            rf"\errmessage{{the study has no {kind} #1}}\fi}}")


def _entry(macro: str, name: str, content: str) -> str:
    return rf"\expandafter\def\csname {macro}@{name}\endcsname{{{content}}}"


# --- tables ---------------------------------------------------------------------------------------------------------------

CLAIM_COLUMNS = (Column("claim", 0.32), Column("as printed", 0.30), Column("audit", 0.18), Column("grade", 0.20))
NUMBER_COLUMNS = (Column("number", 0.34), Column("exact", 0.27), Column("rounded", 0.25), Column("unit", 0.14))


def claims(rows: Iterable[Mapping], wide: str) -> str:
    """Claims by document."""
    groups = [(document, [tuple(printed(row[name]) for name in ("claim_id", "printed", "audit", "grade")) for row in group])
              for document, group in groupby(rows, key=lambda row: row["document"])]
    return _table(CLAIM_COLUMNS, groups, wide)


def numbers_table(names: Iterable[str], wide: str) -> str:
    """Numbers by notebook, from their macros. Needs numbers.tex."""
    groups = [(notebook, [(_breakable(name.partition("/")[2]), *(rf"\{macro}{{{name}}}" for macro in MACROS))
                          for name in group])
              for notebook, group in groupby(names, key=lambda name: name.partition("/")[0])]
    return _table(NUMBER_COLUMNS, groups, wide)


def _breakable(name: str) -> str:
    """The name of a metric, which may go on in the next line after each point and hyphen."""
    return escaped(name).replace(".", r".\allowbreak{}").replace("-", r"-\allowbreak{}")


def _table(columns: tuple[Column, ...], groups: list[tuple[str, list[tuple]]], wide: str) -> str:
    ragged = r">{\raggedright\arraybackslash\hspace{0pt}}"       # the space lets a first word be cut
    widths = "".join(rf"{ragged}p{{\dimexpr {column.part}\linewidth-2\tabcolsep\relax}}" for column in columns)
    head = [r"\toprule", " & ".join(escaped(column.head) for column in columns) + r" \\", r"\midrule"]
    rows = [row for name, group in groups for row in _rows(name, group, columns)]
    begin, end = r"\begingroup\footnotesize\setlength{\tabcolsep}{3pt}", r"\endgroup"
    if wide == "page":
        body = [rf"\begin{{longtable}}{{{widths}}}", *head, r"\endhead", r"\bottomrule", r"\endfoot",
                *(line for line, _ in rows), r"\end{longtable}"]
    else:
        begins, ends = rf"\par\noindent\begin{{tabular}}{{{widths}}}", r"\end{tabular}\par\medskip"
        body = [line for piece in _pieces(rows) for line in (begins, *head, *piece, r"\bottomrule", ends)]
    needs = "% Written by `study export`. Needs booktabs and array" + ("; longtable" if wide == "page" else "") + "."
    return "\n".join([needs, begin, *body, end]) + "\n"


def _rows(name: str, group: list[tuple], columns: tuple[Column, ...]) -> Iterator[tuple[str, int]]:
    """The rows of a group below its name, each with about how many lines it takes in a column."""
    yield rf"\multicolumn{{{len(columns)}}}{{l}}{{\itshape {escaped(name)}}} {TIED}", 1
    for cells in group:
        yield " & ".join(cells) + r" \\[1pt]", max(
            math.ceil(_length(cell) / (CHARACTERS * column.part)) for cell, column in zip(cells, columns, strict=True))


def _length(cell: str) -> int:
    """About how many characters are seen of it; a number, by its macro, is short."""
    return 1 if cell.startswith(r"\study") else len(COMMAND.sub("x", cell.replace(r"\allowbreak{}", "")))


def _pieces(rows: list[tuple[str, int]]) -> list[list[str]]:
    """Rows in pieces of no more than LINES lines. A name of a group stands with its first row."""
    pieces: list[list[str]] = [[]]
    height = 0
    for row, lines in rows:
        if pieces[-1] and height + lines > LINES:
            pieces.append([pieces[-1].pop()] if len(pieces[-1]) > 1 and pieces[-1][-1].endswith(TIED) else [])
            height = len(pieces[-1])
        pieces[-1].append(row)
        height += lines
    return pieces


# --- a document that shows it all -----------------------------------------------------------------------------------------

def example(files: set[str], pictures: list[str], wide: str) -> str:
    """`files`: what of the above was written; `pictures`: the figures that LaTeX can read."""
    column = wide == "column"
    tables = [name for name in ("claims", "numbers-table") if f"{name}.tex" in files]
    shown = [rf"\begin{{figure}}[htbp]\studyfigure{{{name}}}\end{{figure}}" + (r"\clearpage" if place % 4 == 0 else "")
             for place, name in enumerate(pictures, start=1)]
    return "\n".join([
        rf"\documentclass[a4paper{',twocolumn' if column else ''}]{{article}}",
        r"\usepackage[T1]{fontenc}", r"\usepackage[utf8]{inputenc}", r"\usepackage{textcomp,lmodern}",
        r"\usepackage[margin=1.8cm]{geometry}", r"\usepackage{array,booktabs,longtable,graphicx}",
        *(rf"\input{{{name}}}" for name in ("numbers", "figures") if f"{name}.tex" in files),
        r"\begin{document}\raggedbottom", *(rf"\input{{{name}}}" for name in tables), r"\clearpage", *shown,
        r"\end{document}"]) + "\n"
