"""What the study answers to each main claim, in a few sentences: `data/answers.toml`, filled with numbers of the results.

    for answer in answers.filled(numbers):      # {'<notebook>/<metric>': value}
        answer.claim, answer.text

The words are written by hand, from what the notebooks find. Numbers of ours are filled in: a placeholder names each.
Printed numbers, tolerances and sizes are typed.
"""
import re
import tomllib
from collections.abc import Mapping
from typing import NamedTuple

from study.documents import claims
from study.errors import UserError
from study.project import data_file

FILE = "answers.toml"
PARTS = ("title", "machine", "ruled_out", "effect", "open")
NUMBER = re.compile(r"\{([\w./-]+):(\.\d+f)\}")


class Answer(NamedTuple):
    """Of a claim, by its id, or of the ladder that it stands in. Gives the machine that a search found, what is ruled out,
    what the effect comes from, what is open."""
    notebook: str
    claim: str
    title: str
    machine: str
    ruled_out: str
    effect: str
    open: str

    @property
    def text(self) -> str:
        """All sentences, one after another."""
        return " ".join((self.machine, self.ruled_out, self.effect, self.open))


def read() -> list[Answer]:
    """As written, with placeholders. UserError, one sentence: an answer to no claim of a notebook, or with other parts."""
    notebooks, answers = {claim.id: claim.notebook for claim in claims.read()}, []
    for entry in tomllib.loads(data_file(FILE).read_text())["answer"]:
        notebook = notebooks.get(entry.get("claim"))
        if set(entry) != {"claim", *PARTS} or notebook is None:
            raise UserError(f"{FILE}: an answer has a claim (an id of claims.toml), {', '.join(PARTS)}; mend that of "
                            f"'{entry.get('claim')}'")
        answers.append(Answer(notebook=notebook, **entry))
    return answers


def filled(numbers: Mapping[str, float]) -> list[Answer]:
    """With `numbers` in place of their names: the answers of whose notebooks there are numbers. UserError, one sentence, for
    a name that such a notebook does not have."""
    have, made = {name.partition("/")[0] for name in numbers}, []
    for answer in read():
        missing = [name for name, _ in NUMBER.findall(answer.text) if name not in numbers]
        if unknown := [name for name in missing if name.partition("/")[0] in have]:
            raise UserError(f"{FILE} asks for '{unknown[0]}', which its notebook does not record; mend the answer to "
                            f"'{answer.claim}'")
        if not missing:
            made.append(answer._replace(**{part: _filled(getattr(answer, part), numbers) for part in PARTS}))
    return made


def _filled(text: str, numbers: Mapping[str, float]) -> str:
    return NUMBER.sub(lambda match: format(numbers[match[1]], match[2]).replace("-", "−"), text)
