"""Tables of grades for docs/grades.md, from `paper/results.json`."""
from collections import Counter

from study.commands.documentation.markdown import table
from study.documents import claims
from study.grades import grading
from study.store import results


def own_error() -> str:
    """Independent claims by grade, as they are and with the model's own error in each range; and those that change."""
    accepted = results.committed()["claims"]
    graded = {claim.id: accepted[claim.id] for claim in claims.read() if claim.predict and not claim.follows_from
              and accepted[claim.id]["grade"] in grading.GRADES}
    wider = {name: of_claim.get("own_error", of_claim["grade"]) for name, of_claim in graded.items()}
    given, others = Counter(of_claim["grade"] for of_claim in graded.values()), Counter(wider.values())
    changed = [(f"`{name}`", f"*{graded[name]['grade']}*", f"*{grade}*") for name, grade in wider.items()
               if grade != graded[name]["grade"]]
    return "\n".join((
        table(("grade", "claims", "with the model's own error"),
              [(f"*{grade}*", given[grade], others[grade]) for grade in grading.GRADES]), "",
        table(("claim", "grade", "with the model's own error"), changed)))
