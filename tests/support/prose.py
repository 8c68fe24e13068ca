"""Sentences of prose, in pages, notebooks, the paper and code: what the rule of 25 words is held against."""
import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping

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


CODE = re.compile(r"\s*(?:SELECT|CREATE|WITH|COPY|INSERT)\b|.*(?:\{ |\{%|=> |\n)", re.S)      # SQL, markup, lists of names


def messages(source: str) -> Iterator[tuple[int, str]]:
    """Texts in a file that people may read, each with its line. What is put into a text counts as a word. A constant of the
    same module that is put into it counts as its own words. Docstrings and code of other languages are none."""
    tree = ast.parse(source)
    constants: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and (text := _text(node.value, constants)):
            constants[node.targets[0].id] = text
    passed = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr | ast.Attribute)}
    for node in ast.walk(tree):
        if id(node) in passed or isinstance(node, ast.Name) or (text := _text(node, constants)) is None:
            continue
        passed |= {id(part) for part in ast.walk(node)}
        if not CODE.match(text):
            yield node.lineno, text


def _text(node: ast.AST, constants: Mapping[str, str]) -> str | None:
    """Of an expression that gives text, with a letter in place of what is put into it. None for others."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.Name):
        return constants.get(node.id)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part.value if isinstance(part, ast.FormattedValue) else part, constants) or "X"
                       for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text(node.left, constants), _text(node.right, constants)
        return None if left is None and right is None else (left or "X") + (right or "X")
    return None


def n_words(sentence: str) -> int:
    return len(re.findall(r"\S*\w\S*", sentence))
