"""`paper/results.json` in words, for the pages that are made."""
import re
from collections import Counter

from study.store import results


class Results:
    """`paper/results.json`, as words: numbers by their full names."""

    def __init__(self, committed: dict):
        self.numbers, self.claims = committed["numbers"], committed["claims"]

    def __call__(self, name: str, form: str = ".0f") -> str:
        """A number, with a true minus; a whole part of five digits or more in groups."""
        shown = format(self.numbers[name], form)
        return re.sub(r"(?<=\d)(?=(\d{3})+$)", " ", shown) if re.fullmatch(r"-?\d{5,}", shown) else shown.replace("-", "−")

    def span(self, name: str, form: str = ".0f") -> str:
        """Both ends of an interval in words."""
        return f"{self(f'{name}-low', form)} to {self(f'{name}-high', form)}"

    def ratio(self, name: str, above: str, below: str) -> str:
        """The number `name` of one subject over that of another."""
        return f"{self.numbers[name.format(above)] / self.numbers[name.format(below)]:.0f}"

    def order_entry(self, to_scale: str, at_full_size: str, form: str = ".0f", unit: str = "") -> str:
        """A range of order entry to scale, or at full size where grades are of that."""
        name = f"04_oltp_gain/full-size.{at_full_size}"
        is_full_size = f"{name}-low" in self.numbers
        return f"{self.span(name if is_full_size else to_scale, form)}{unit}" + " at full size" * is_full_size

    def grade(self, claim: str) -> str:
        """The grade of a claim."""
        return self.claims[claim]["grade"]

    def grades(self, *starts: str) -> str:
        """How many claims of a notebook have each grade: those whose names begin so."""
        counts = Counter(claim["grade"] for name, claim in self.claims.items()
                         if name.startswith(starts) and claim["grade"] in ("consistent", "not identified", "not reproduced"))
        return ", ".join(f"{n} {grade}" for grade, n in counts.most_common())

    def thousands(self, name: str) -> str:
        """To the nearest thousand."""
        n = round(self.numbers[name] / 1000)
        return f"{n} 000" if n >= 10 else f"{n}000"


def committed() -> Results:
    """The results in `paper/results.json`, by name."""
    return Results(results.committed())
