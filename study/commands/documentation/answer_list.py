"""What is answered to the main claims (`data/answers.toml`), with numbers and grades of `paper/results.json`."""
import re

from study.commands.documentation.committed_results import Results, committed
from study.documents import answers


def in_short() -> list[answers.Answer]:
    """What is answered to each main claim."""
    return answers.filled(committed().numbers)


def list_of_answers() -> str:
    """The same for readers, with the notebook of each."""
    n = committed()
    return "\n".join(f"- **{answer.title}** ([{answer.notebook[:2]}](../notebooks/{answer.notebook}.ipynb)). {answer.text} "
                     f"{_grade_in_words(n, answer.claim)}" for answer in in_short())


def _grade_in_words(n: Results, claim: str) -> str:
    """Of a claim, or of all steps of the ladder that it stands in."""
    step = re.fullmatch(r"(\w+(?:-\w+)?-)\d", claim)
    return f"Grades: {n.grades(step[1])}." if step else f"Grade: *{n.grade(claim)}*."
