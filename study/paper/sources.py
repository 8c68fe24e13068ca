"""The paper's sources: which numbers stand in them, where these come from, and which sentence uses a result.

A digit in prose is a reference to the store (`#number("…")`), or marked as one of two kinds:

    #given[…]   quoted from a document, or no result (a year, a size that is set); held against `data/`
    #once[…]    a result of ours that no run makes again; all numbers of it are those of one row of `data/ledger.toml`

The head of a section says by which files what is given is held, and names the rest:

    // given of: kustarz-2007                files of data/published (with the document's claims), or other files of data/
    // given besides: 31, 128                no results, and in none of these files

A section calls the functions of CALLED only. Code of the frame has lengths and settings, and no other number.

Nothing here needs a run.
"""
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path

from study.documents import claims
from study.errors import UserError
from study.project import PAPER, ROOT, data_file

LAYOUT = ("paper.typ", "template.typ")      # code; prose is what somebody wrote there: see `_prose_of_layout`
CODE = re.compile(r"(?<!:)//[^\n]*|#(?:set|show|let|import|include)\b[^;\n\[]*;?|#[\w.-]+(?:\([^()]*\))?")
BRACKETS = re.compile(r"\[([^\[\]]*)\]")
YEAR = re.compile(r"\b(?:19|20)\d\d\b")
REFERENCE = re.compile(r'#(number|unit|claim|picture)\("([^"]+)"')
GIVEN = re.compile(r"#given\[([^\]]*)\]")
ONCE = re.compile(r"#once\[([^\]]*)\]")
LEDGER = "ledger.toml"
# What may stand as digits in the text.
ALLOWED = re.compile(rf"{GIVEN.pattern}|{ONCE.pattern}" r"|#(?:number|unit|claim|picture)\([^()]*\)|#import \"[^\"]*\""
                     r"|`(?![^`]*(?<![\w./-])\d[\d.,]*(?!\w))[^`]*`|(?<!:)//[^\n]*|@[\w-]+|<[\w-]+>")
# What a section may call: functions of the template whose numbers come from the store, and how Typst sets what is written.
CALLED = ("number unit claim picture given once graded simulated of-trials of-ratios pairs triples quadruples all-claims "
          "footnote emph strong link cite ref quote sub super underline linebreak pagebreak colbreak").replace(" ", "|")
FILES = r"\b(?:read|csv|json|toml|yaml|xml|cbor|plugin|image|eval)\((?!\"generated/)"
CALLS = re.compile(rf"(?<!\\)#(?!(?:{CALLED})(?![\w.-])|show: wide$)[\w.-]*|{FILES}|\.[a-z]+\(|\b(?:calc|sys|sym)\.[a-z]")
# What may stand as digits in the frame's code: lengths, settings with these names, what is compared, a character's code.
FRAME = re.compile(r"\b\d[\d.]*(?:pt|em|cm|mm|fr|deg)\b|\b(?:width|height|columns|step|digits): \d+%?|"
                   r"\bnumbering: \"[\d.]+\"|[<>]=? \d+|\brange\(0|\bstart \+ \d|\\u\{\w+\}|"
                   r"\b(?:19|20)\d\d\b|\"\d\d_[a-z]\w*/\"")
FRAME_FILES = re.compile(rf"{FILES}|" r"\b(?:include|import)\b(?! \"(?:sections/[\w-]+|template)\.typ\")")
COMMENT = re.compile(r"(?<!:)//[^\n]*")
UNREAD = re.compile(rf'`[^`]*`|{COMMENT.pattern}|^#import "\.\./template\.typ": \*$')
COUNTS = ("one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
          "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand").replace(" ", "|")
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".replace(" ", "|")
# Digits but those of a name (RAID-5, R²), fractions of one letter, and in words percent, 42 and tenfold.
DIGITS = re.compile(r"(?<!\w)(?<!\w-)\d[\d  ,.]*\d|(?<!\w)(?<!\w-)\d|[\u00bc-\u00be\u2150-\u218b\u2460-\u249b]"
                    r"|(?<!\w)[\u00b2\u00b3\u00b9\u2070-\u2079\u2080-\u2089]+"
                    rf"|\b(?i:(?:{COUNTS})\b[ ~-]*)+(?=%|percent\b|per[ ~]cent\b)"
                    rf"|\b(?i:(?:{TENS})-(?:{COUNTS})\b|(?:{COUNTS})(?=-?fold\b))")
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e\d+)?")
BARE = re.compile(rf"(?<!\w){NUMBER.pattern}")
QUOTE = re.compile(r'"([^"]+)"')
HEAD = re.compile(r"^// given (of|besides): (.+)$", re.M)
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z*_#-])|\n\s*\n")
CALL = re.compile(r'#(?:number|unit|claim|picture)\("([^"]+)"[^()]*\)')
SHOWN = 160     # characters of a sentence
SUMS = re.compile(r'#of-(trials|ratios)\("([^"]+)"\)')       # of the template
SUMMED = {"trials": ("blind", "second", "third", "fourth"),
          "ratios": ("ratios", "second_ratios", "third_ratios", "fourth_ratios")}


def sources() -> list[Path]:
    """All Typst files of the paper, in order of their names."""
    return sorted(PAPER.glob("**/*.typ"))


def wrong() -> list[str]:
    """Numbers in the text that come from nowhere."""
    return [objection for source in sources()
            for objection in typed_by_hand(source) + not_in_data(source) + not_in_ledger(source)]


def refuse_wrong() -> None:
    """UserError if a number in the text comes from nowhere, before anything is run or typeset."""
    if objections := wrong():
        others = f" ({len(objections) - 1} more: study check paper)" if len(objections) > 1 else ""
        raise UserError(objections[0] + others)


def unknown(source: Path, known: Mapping[str, set]) -> list[str]:
    """References to what is not there; `known`: names by kind (number, unit, claim, picture)."""
    return [f"{place}: #{kind}(\"{name}\") is not in the store; mend the name"
            for place, line in _lines(source) for kind, name in REFERENCE.findall(line)
            if kind in known and name not in known[kind]]


def typed_by_hand(source: Path) -> list[str]:
    """Digits that come from nowhere, in prose and in code, and what may bring some from elsewhere."""
    in_prose = [f"{place}: '{digits}' is typed by hand. Take it from the store with #number. Or mark what is quoted or no "
                "result with #given[…], and what the ledger has with #once[…]"
                for place, line in (_prose_of_layout(source) if source.name in LAYOUT else _lines(source))
                for digits in DIGITS.findall(ALLOWED.sub("", line))]
    in_prose += [f"{place}: '{word}' is a number that cannot be looked up. Write it in plain digits"
                 for place, line in _lines(source) for macro in (GIVEN, ONCE) for inside in macro.findall(line)
                 for word in DIGITS.findall(inside) if not NUMBER.search(word)]
    in_code = _code_of_layout(source) if source.name in LAYOUT else _calls(source)
    named = {objection.partition(": ")[0] for objection in in_prose}
    return in_prose + [objection for objection in in_code if objection.partition(": ")[0] not in named]


def _calls(source: Path) -> list[str]:
    """What a section calls that may print a number from elsewhere."""
    return [f"{place}: '{call}' may print a number from elsewhere. Take numbers from the store with #number, and figures "
            "with #picture" for place, line in _lines(source) for call in CALLS.findall(UNREAD.sub("", line))]


def _code_of_layout(source: Path) -> list[str]:
    """Numbers in the frame's code that are no lengths or settings, and files that no run writes."""
    lines = [(place, COMMENT.sub("", line)) for place, line in _lines(source)]
    return [f"{place}: '{digits}' is typed by hand in code. Take it from the store with #number, or give its unit of length"
            for place, line in lines for digits in BARE.findall(FRAME.sub("", line))] + [
        f"{place}: '{file}' reads a file that no run writes. Read what stands in generated/, or include a section"
        for place, line in lines for file in FRAME_FILES.findall(line)]


def _prose_of_layout(source: Path) -> Iterator[tuple[str, str]]:
    """Prose in a file of code: lines that begin with a letter or with markup, what stands in brackets, and words in quotes,
    years apart. Each with where it stands."""
    text = source.read_text()
    for place, line in _lines(source):
        if line[:1].isalnum() or line[:1] in tuple("*_=-+"):
            yield place, line
        yield from ((place, YEAR.sub("", words)) for words in QUOTE.findall(line) if " " in words)
    left = CODE.sub(_blank, text)
    while bracket := BRACKETS.search(left):       # the innermost first
        for row, line in enumerate(bracket[1].splitlines(), start=left.count("\n", 0, bracket.start()) + 1):
            yield f"{_name(source)}, line {row}", line
        left = left[:bracket.start()] + _blank(bracket) + left[bracket.end():]


def _blank(code: re.Match[str]) -> str:
    """As many lines, and nothing in them."""
    return "\n" * code[0].count("\n")


def _lines(source: Path) -> Iterator[tuple[str, str]]:
    """Every line, with where it stands."""
    for number, line in enumerate(source.read_text().splitlines(), start=1):
        yield f"{_name(source)}, line {number}", line


def _name(source: Path) -> str:
    return str(source.relative_to(ROOT)) if source.is_relative_to(ROOT) else source.name


# --- what is given, against data/ -----------------------------------------------------------------------------------------

def not_in_data(source: Path) -> list[str]:
    """What is given, and neither in the files that the head of the section names nor among the rest that it names."""
    if source.name in LAYOUT:
        return []
    head = dict(HEAD.findall(source.read_text()))
    files = tuple(filter(None, head.get("of", "").split(", ")))
    numbers = numbers_of(head.get("besides", "")).union(*(_numbers_in(file) for file in files))
    quotes = {claim.printed for claim in claims.read() if claim.document in files}
    return [f"{place}: #given[{given}] is not in data/ ({', '.join(files) or 'the head of the section names no file'}); "
            "mend it, or name its file or itself in the section's head"
            for place, line in _lines(source) if not line.startswith("//") for given in GIVEN.findall(line)
            if not _is_given(given, numbers, quotes)]


def not_in_ledger(source: Path) -> list[str]:
    """What came out once, and is not in any row of the ledger. A row's number counts by the digits that are printed."""
    if source.name in LAYOUT:
        return []
    return [f"{place}: #once[{once}] is in no row of data/{LEDGER}; mend it, or write the row"
            for place, line in _lines(source) if not line.startswith("//") for once in ONCE.findall(line)
            if not (numbers_of(once) and any(numbers_of(once) <= row for row in _ledger(_decimals(once))))]


def _decimals(text: str) -> int:
    return max((-int(Decimal(number).as_tuple().exponent) for number in NUMBER.findall(text)), default=0)


@cache
def _ledger(decimals: int) -> list[set[Decimal]]:
    """The numbers of each row, without their signs, and rounded to so many decimals too."""
    rows = [row for rows in _content(LEDGER).values() for row in rows]
    return [{number for key in ("values", "before", "after") for value in row.get(key, ())
             for number in (abs(Decimal(value)).normalize(), round(abs(Decimal(value)), decimals).normalize())}
            for row in rows]


def _is_given(given: str, numbers: set[Decimal], quotes: set[str]) -> bool:
    """Words in quotes stand so in a claim; of anything else the numbers count."""
    quoted = QUOTE.findall(given)
    if quoted:
        return all(any(words in printed for printed in quotes) for words in quoted)
    return numbers_of(given) <= numbers


def numbers_of(text: str) -> set[Decimal]:
    """The numbers in a text, without their signs; `20~000` is one."""
    return {Decimal(number).normalize() for number in NUMBER.findall(re.sub(r"(?<=\d)[~  ](?=\d{3})", "", text))}


@cache
def _numbers_in(file: str) -> set[Decimal]:
    """The values of a file of data/. Of a document also the numbers in its conditions, its date and its claims, ratios of
    before and after included."""
    if not _is_document(file):
        return {abs(value).normalize() for value in _leaves(_content(f"{file}.toml")) if isinstance(value, Decimal)}
    mine = {claim.id: claim for claim in claims.read() if claim.document == file}
    texts = [str(value) for value in _leaves(_content(f"published/{file}.toml"))]
    texts += [f"{claim.printed} {claim.text} {claim.said.value if claim.said else ''}" for claim in mine.values()]
    ratios = claims.targets().set_index("claim_id").value.reindex([name for name, claim in mine.items() if claim.before])
    return set().union(*map(numbers_of, texts), *(numbers_of(f"{ratio:.2f} {ratio:.1f}") for ratio in ratios))


def _is_document(file: str) -> bool:
    return file in {claim.document for claim in claims.read()}


def _content(name: str) -> dict:
    return tomllib.loads(data_file(name).read_text(), parse_float=Decimal)


def _leaves(content: object) -> Iterator[Decimal | str]:
    """Every value of a file."""
    if isinstance(content, dict | list):
        for part in content.values() if isinstance(content, dict) else content:
            yield from _leaves(part)
    elif isinstance(content, int | Decimal) and not isinstance(content, bool):
        yield Decimal(content)
    else:
        yield str(content)


# --- what uses a result ---------------------------------------------------------------------------------------------------

FIGURES_OF = "figures of"


def uses(name: str, notebook: str, figures: Collection[str]) -> list[str]:
    """Sentences of the paper that use a number or a claim of `notebook`, and its figures (of `figures`) that the paper
    shows."""
    lines = [f"{place}: {_seen(sentence, name)}" for place, sentence in _sentences() if name in _names(sentence)]
    shown = sorted({picture for _, sentence in _sentences() for kind, picture in REFERENCE.findall(sentence)
                    if kind == "picture" and picture in figures})
    return lines + [f"{FIGURES_OF} {notebook} in the paper: {', '.join(shown)}"] * bool(shown)


@cache
def _sentences() -> list[tuple[str, str]]:
    """Every sentence of the paper, and where it begins."""
    return [(f"{source.relative_to(ROOT)}, line {line}", sentence) for source in sources() if source.name not in LAYOUT
            for line, sentence in _cut(source.read_text())]


def _cut(text: str) -> Iterator[tuple[int, str]]:
    """A text by sentences, each with the number of the line where it begins."""
    start = 0
    for end in [*SENTENCE_END.finditer(text), None]:
        sentence = text[start:end.start() if end else None]
        if sentence.strip():
            yield text.count("\n", 0, start + len(sentence) - len(sentence.lstrip())) + 1, " ".join(sentence.split())
        start = end.end() if end else start


def _names(sentence: str) -> set[str]:
    """The numbers and claims that a sentence refers to, those that the template sums up included."""
    return {name for _, name in REFERENCE.findall(sentence)} | {
        f"91_published_setups/{part}.{quantity}" for of, quantity in SUMS.findall(sentence) for part in SUMMED[of]}


def _seen(sentence: str, name: str) -> str:
    """A sentence with the one reference that is meant; each other one is only a dot."""
    short = CALL.sub(lambda call: f"[{name}]" if call[1] == name else "·", sentence).replace("~", " ")
    at = max(short.find(f"[{name}]") - SHOWN // 2, 0)
    return ("… " if at else "") + short[at:at + SHOWN] + (" …" if at + SHOWN < len(short) else "")
