"""Text and bytes that a reader must refuse, or take: what files are changed to."""
from hypothesis import strategies as st

CHANGES = [b"\0", b"\xff", b"-", b"9" * 24, b"1e400", b"nan", b"\r\n", b" ", b"\n", b"\t", b"{", b'"', b"\\ud800", b"../",
           b"';--", b"\xe2\x80\xa8", b",", b".", b"\x1b[2J", b"+"]


def changed_anywhere(data, content):
    """`content` with up to four pieces of up to eight bytes replaced, each by one of CHANGES."""
    changed = bytearray(content)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(changed)))
        changed[at:at + data.draw(st.integers(0, 8))] = data.draw(st.sampled_from(CHANGES))
    return bytes(changed)
