"""Sentences of prose, in pages, notebooks, the paper and code: what the rule of 25 words is held against."""
import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator

# A call of Typst with what it is given: texts, and brackets in brackets in brackets.
ARGUMENTS = r'\((?:[^()"]|"[^"]*"|\((?:[^()"]|"[^"]*"|\((?:[^()"]|"[^"]*")*\))*\))*\)'
NO_PROSE = "picture|pairs|triples|quadruples|all-claims"


def sentences(page: str) -> Iterator[str]:
    """Of markdown: tables, headings, pictures and blocks of code are none. An item of a list begins a new one."""
    text = re.sub(r"^```.*?^```", "", page, flags=re.M | re.S)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    text = "\n".join(line for line in text.splitlines() if not re.match(r"\s*(\||#|!\[)", line))
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", text):
        yield from (sentence for sentence in re.split(r"(?<=[.!?])[*_)]*\s+", " ".join(block.split())) if sentence)


def of_typst(source: str) -> str:
    """A section of the paper as markdown without pictures and tables. A number, a claim or a source counts as a word."""
    text = re.sub(r"^(?://|#import|#show|=).*", "", source, flags=re.M)
    text = re.sub(rf"#(?:{NO_PROSE}){ARGUMENTS}", "\n\n", text)
    text = re.sub(rf"#[a-z-]+{ARGUMENTS}", "1", text)
    text = re.sub(r"#(?:given|once)\[([^\]]*)\]", r"\1", text).replace("~", " ")
    notes = re.findall(r"#footnote\[([^\]]*)\]", text)
    return "\n\n".join([re.sub(r"#footnote\[[^\]]*\]", "", text), *notes])


def clauses(comment: str) -> Iterator[str]:
    """Of a docstring or a comment, which are terse: a colon or a semicolon ends one, too."""
    text = re.sub(r"^\s*(?:#|\|).*", "", re.sub(r"```.*?```", "", comment, flags=re.S), flags=re.M)
    for paragraph in re.split(r"\n\s*\n|^\s*(?:[-*]|\d+\.)\s", text, flags=re.M):
        yield from re.split(r"[.!?;:]\s", paragraph)


def of_code(source: str) -> Iterator[str]:
    """Docstrings and comments of a file."""
    yield from docstrings(source)
    yield from comments(source)


def docstrings(source: str) -> Iterator[str]:
    """Of all modules, classes and functions in a file, each as markdown."""
    yield from _as_markdown(ast.walk(ast.parse(source)))


def public_docstrings(source: str) -> Iterator[str]:
    """Of a file's module, and of the classes, functions and methods in it that others may call, each as markdown."""
    yield from _as_markdown(_public(ast.parse(source)))


def _as_markdown(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """A row of two columns, `name   what it is`, and what is indented after a colon stand alone like an item of a list."""
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
            text = re.sub(r"^( *)(\S.*:)\n(?=\1 )", r"\1\2\n\n", text, flags=re.M)
            yield re.sub(r"^(?=\s*\S(?:.*\S)? {2,}\S)", "\n", text, flags=re.M)


def _public(node: ast.Module | ast.ClassDef | ast.FunctionDef) -> Iterator[ast.AST]:
    yield node
    for child in node.body if not isinstance(node, ast.FunctionDef) else ():
        if isinstance(child, ast.ClassDef | ast.FunctionDef) and not child.name.startswith("_"):
            yield from _public(child)


def comments(source: str) -> Iterator[str]:
    """Each as one text: lines of their own that follow one another or a comment beside code belong together."""
    text, last = "", 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            stands_alone = not token.line[:token.start[1]].strip()
            if not (stands_alone and token.start[0] == last + 1):
                yield text
                text = ""
            text, last = f"{text} {token.string.lstrip('#')}", token.start[0]
    yield text


def n_words(sentence: str) -> int:
    return len(re.findall(r"\S*\w\S*", sentence))
