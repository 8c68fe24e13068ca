"""The paper, docstrings and comments have sentences of at most 25 words."""

import pytest

from study.project import PAPER, ROOT
from support import prose


@pytest.mark.parametrize("path", sorted((PAPER / "sections").glob("*.typ")), ids=lambda path: path.stem)
def test_prose_of_the_paper_is_short(path):
    text = prose.of_typst(path.read_text())
    assert "#" not in text      # all markup has been taken out
    long = [sentence for sentence in prose.sentences(text) if prose.n_words(sentence) > 25]
    assert not long, "\n".join(long)


def test_long_sentences_of_the_paper_are_seen():
    long = " ".join(["word"] * 23)
    source = (f'// {long}\n= Title {long}\n{long} #number("a/b", digits: 1)~% of #given[2007]. Short\n'
              f'@key: #of-ratios("n").#footnote[{long} #claim("id", field: "grade") in a note.]\n#picture("name")\n'
              f'#pairs([{long} (a table)],\n  [#number("c")])\n- item {long}\n- item')
    assert [prose.n_words(sentence) for sentence in prose.sentences(prose.of_typst(source))] == [26, 3, 24, 1, 27]


@pytest.mark.parametrize("top", ["model", "study"])
def test_docstrings_and_comments_are_short(top):
    long = [f"{path.relative_to(ROOT)}: {' '.join(sentence.split())}"
            for path in sorted((ROOT / top).rglob("*.py")) for text in prose.of_code(path.read_text())
            for sentence in prose.clauses(text) if prose.n_words(sentence) > 25]
    assert not long, "\n".join(long)


def test_long_docstrings_and_comments_are_seen():
    long = " ".join(["word"] * 26)
    code = f'"""Short. {long}.\n\n    a   {long}\n"""\nx = 1  # {long[:50]}\n#   {long[50:]}\ny = 2  # short\n'
    assert [prose.n_words(sentence) for text in prose.of_code(code) for sentence in prose.clauses(text)
            if prose.n_words(sentence) > 25] == [26, 27, 26]


@pytest.mark.parametrize("top", ["model", "study"])
def test_sentences_of_public_docstrings_are_short(top):
    """Those that end with a full stop, not with a semicolon."""
    paths = sorted((ROOT / top).rglob("*.py"))
    assert len(paths) > 200
    assert "\n".join(f"{path.relative_to(ROOT)}: {sentence}" for path in paths
                     for sentence in _long_sentences(path.read_text())) == ""


def _long_sentences(code):
    return [sentence for text in prose.public_docstrings(code) for sentence in prose.sentences(text)
            if prose.n_words(sentence) > 25]


@pytest.mark.parametrize(("code", "n_words"), [
    ('"""{half}; {half}."""', [26]), ('"""{half}: {half}."""', [26]), ('"""{half},\n{half}.\n"""', [26]),
    ('def f():\n    """Short. {half}; {half}."""', [26]), ('class C:\n    """{half}; {half}."""', [26]),
    ('class C:\n    def f(self):\n        """{half}; {half}."""', [26]),
    ('"""A table.\n\n    a   {half};\n        {half}\n    b   {half}\n"""', [27]),
    ('"""{half}:\n\n 1. {half};\n    {half}.\n 2. {half}.\n"""', [26]),
    ('"""{half}. {half}? {half}! {half}."""', []), ('"""{half}\n\n{half}."""', []),
    ('"""Short.\n\n{half}:\n    {half}.\n"""', []), ('"""A list.\n - {half}\n - {half}\n"""', []),
    ('"""A table.\n\n    a   {half}\n    b   {half}\n"""', []),
    ('def _f():\n    """{half}; {half}."""', []), ('class _C:\n    def f(self):\n        """{half}; {half}."""', []),
    ('def f():\n    def g():\n        """{half}; {half}."""', [])])
def test_long_sentences_of_public_docstrings_are_seen(code, n_words):
    half = " ".join(["word"] * 13)
    assert [prose.n_words(sentence) for sentence in _long_sentences(code.format(half=half))] == n_words
