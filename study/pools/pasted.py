"""Text of a tool as people send it on: quoted in a mail or in Markdown, commented out, or of a web page.

    pasted.plain(text)      as the tool printed it, as far as that can be told
    pasted.read(path, …)    of a file, also of a compressed one, and of UTF-16

A mark of quotation is taken off each line that has one. A `#` is taken off only where most lines begin with it: it is a
prompt too, and some tables have it in their head.
"""
import codecs
import gzip
import html
import re
import zlib
from pathlib import Path

from study.errors import UserError

GZIP = b"\x1f\x8b"
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)      # of files that PowerShell has written
QUOTED = re.compile(r"^\s?(?:[>|](?: (?! )|))+")      # `>     1` keeps the blanks of its columns
COMMENTED = re.compile(r"^\s*#")
ENTITY = re.compile(r"&(?:[a-z]{2,6}|#\d{1,5});")
MOST = 0.6      # of lines that are not empty


def plain(text: str, has_comments: bool = False) -> str:
    """The text without what mails, Markdown, comments and web pages put around each line. `has_comments`: lines that begin
    with # are comments of its own."""
    if ENTITY.search(text):
        text = html.unescape(text)
    lines = [QUOTED.sub("", line.rstrip("\r")) for line in text.lstrip("\ufeff").replace("\xa0", " ").split("\n")]
    filled = [line for line in lines if line.strip()]
    if filled and not has_comments and sum(map(bool, map(COMMENTED.match, filled))) >= MOST * len(filled):
        lines = [COMMENTED.sub("", line) for line in lines]
    return "\n".join(lines)


def read(path: Path, command: str, has_comments: bool = False) -> str:
    """The text of a file; `command` prints what it should have. UserError if it is no text."""
    try:
        content = path.read_bytes()
        content = gzip.decompress(content) if content.startswith(GZIP) else content
        return plain(content.decode("utf-16" if content.startswith(UTF_16) else "utf-8-sig"), has_comments)
    except (UnicodeDecodeError, EOFError, zlib.error, gzip.BadGzipFile):
        raise UserError(f"{path} is not text; give what `{command}` prints") from None
