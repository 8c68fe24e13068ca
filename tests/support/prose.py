"""Sentences of prose, in notebooks and in code: what the rule of 25 words is held against."""
import ast
import io
import re
import tokenize
from collections.abc import Iterator


def sentences(markdown: str) -> Iterator[str]:
    """Of its prose: tables, headings and blocks of code are none, and each item of a list stands alone."""
    prose = re.sub(r"^\s*(?:#|\|).*", "", re.sub(r"```.*?```", "", markdown, flags=re.S), flags=re.M)
    for paragraph in re.split(r"\n\s*\n|^\s*(?:[-*]|\d+\.)\s", prose, flags=re.M):
        yield from re.split(r"[.!?;:]\s", paragraph)


def of_code(source: str) -> Iterator[str]:
    """Docstrings and comments of a file."""
    yield from docstrings(source)
    yield from comments(source)


def docstrings(source: str) -> Iterator[str]:
    """Each as markdown: a row of two columns, `name   what it is`, stands alone like an item of a list."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
            yield re.sub(r"^(?=\s*\S.*\S {2,}\S)", "\n", text, flags=re.M)


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
