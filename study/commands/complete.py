"""What the shell offers for a word that is not yet whole."""


def notebooks(begun: str) -> list[str]:
    """Names of notebooks that begin so."""
    from study.runs.catalogue import books
    return _beginning(begun, [path.stem for path in books()])


def claims(begun: str) -> list[str]:
    """Claims, and names of notebooks, that begin so."""
    from study.documents import claims
    return _beginning(begun, [claim.id for claim in claims.read()]) + notebooks(begun)


def grades(begun: str) -> list[str]:
    """Grades that begin so."""
    from study.grades import grading
    return _beginning(begun, list(grading.ALL_GRADES))


def sheets(begun: str) -> list[str]:
    """Data sheets in `data/hardware` that begin so."""
    from study.project import DATA
    return _beginning(begun, sorted(path.stem for path in (DATA / "hardware").glob("*.toml")))


def _beginning(begun: str, words: list[str]) -> list[str]:
    return [word for word in words if word.startswith(begun)]
