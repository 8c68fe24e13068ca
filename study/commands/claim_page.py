"""`study claims ID`: all that there is to say of one claim."""
import tomllib
from typing import TYPE_CHECKING, Any

from rich.console import Console

from study import console
from study.commands import result
from study.documents import answers, claims
from study.grades import committed_intervals, grading
from study.grades.remaining_draws import MANY
from study.project import data_file
from study.runs.folder import FIGURES, lines
from study.runs.plan import Plan
from study.store import results, store
from study.words import counted

if TYPE_CHECKING:
    from study.commands.scoreboard import Board

INTERVALS = {"unfitted": "simulated", "fitted": "one constant fitted", "left": "near the baseline"}
OF_SIZES = {"unfitted": "simulated to scale", "fitted": "one constant fitted", "left": "graded, at full size"}
TO_SCALE = ("04_oltp_gain", "05_io_size_correlation")      # notebooks whose ensembles are of smaller machines
OF_BASELINE = "of the draws that show the baseline, if twenty do; their range comes with a run"
ENDS = ("low", "middle", "high")
BESIDE = {"by single changes": "by_single_changes", "with the model's own error": "with_own_error"}   # other grades


def give(row: Any, board: "Board", notes: list[str], as_json: bool, out: Console) -> None:
    """`row`: the claim's, of the scoreboard."""
    if row.committed:
        notes = [*notes, f"committed: of paper/results.json; study run {row.notebook[:2]} computes it here"]
    content = {**of(row, board), "notes": notes}

    def say() -> None:
        out.print(console.page(in_words(content)))
        figures = content["figures"]
        beside = f" ({len(figures) - 1} more beside it)" if len(figures) > 1 else ""
        for line in [f"figure: {figures[0]}{beside}", *notes] if figures else notes:
            out.print(line, soft_wrap=True)
    result.give(content, as_json, say)


def of(row: Any, board: "Board") -> dict[str, Any]:
    """What the document says, what was simulated, grade and why, notebook and figures."""
    run_id = board.done.get(row.notebook)
    with store.open() as connection:
        claim = connection.execute("SELECT * FROM claims WHERE claim_id = ?", [row.claim_id]).df().to_dict("records")[0]
        predicted = connection.execute("SELECT * FROM predictions WHERE claim_id = ? AND run_id = ?",
                                       [row.claim_id, run_id]).df().to_dict("records")
    head = tomllib.loads(data_file(f"published/{claim['document']}.toml").read_text())["document"]
    prediction = predicted[0] if predicted else {}
    simulated: dict[str, Any] = {kind: _interval(prediction, kind) for kind in INTERVALS}
    n_left, is_full_size = prediction.get("left_draws"), prediction.get("left_full_size") is True
    if row.committed:
        numbers = results.committed()["numbers"]
        simulated |= committed_intervals.of(row.claim_id, numbers)
        n_left = committed_intervals.n_left(row.claim_id, numbers)
        is_full_size = n_left is not None
    texts = {answer.claim: answer.text for answer in answers.filled(results.committed()["numbers"])}
    return {"claim": row.claim_id, "document": {name: head[name] for name in ("id", "author", "title", "date")},
            **{name: claim[name] for name in ("place", "kind", "text", "printed", "published", "published_low",
                                              "published_high", "published_unit", "follows_from")},
            "audit": row.audit, "differs": row.differs,
            "is_ratio": _is_ratio(row.claim_id, claim["published_unit"]), **simulated,
            "draws": dict.fromkeys(INTERVALS) | {"left": n_left}, "full_size": is_full_size,
            "graded_by_baseline": bool(row.single_changes) and _has_baseline(row.claim_id),
            "grade": row.grade, "by_single_changes": row.single_changes, "with_own_error": row.own_error,
            "committed": bool(row.committed), "why": _why(row, board, prediction, simulated),
            "in_short": texts.get(row.claim_id),
            "notebook": row.notebook, "run": run_id, "figures": _figures(row.notebook, board.plans) if run_id else []}


def _interval(prediction: dict, kind: str) -> list[float] | None:
    return [prediction[f"{kind}_{end}"] for end in ENDS] if _is_known(prediction.get(f"{kind}_low")) else None


def _is_ratio(claim_id: str, unit: Any) -> bool:
    """Whether its number is what came after a change over what was before."""
    return unit == "1" and any(claim.id == claim_id and claim.before is not None for claim in claims.read())


def _has_baseline(claim_id: str) -> bool:
    return any(claim.id == claim_id and claim.baseline for claim in claims.read())


def _is_known(value: Any) -> bool:
    return value is not None and value == value


def _why(row: Any, board: "Board", prediction: dict, simulated: dict) -> str:
    case = board.cases.get(row.claim_id)
    if case is not None:
        return grading.why(case)
    if prediction:
        return prediction["reason"]
    if row.grade == grading.NOTHING:
        return "no number of it is to be predicted"
    if row.grade == grading.BASELINE:
        return "its number may be used for fitting, so it is not predicted"
    if not _is_known(row.notebook):
        return "no notebook takes it up"
    missing = "the reason comes" if simulated["unfitted"] else "its interval and the reason come"
    return f"{missing} with a run: study run {row.notebook[:2]}"


def _figures(notebook: str, plans: list[Plan]) -> list[str]:
    """The figures of its notebook, the one that says most first."""
    from study.commands.overview import FACES  # brings IPython along
    planned = next(planned for planned in plans if planned.name == notebook)
    names = sorted((figure["name"] for figure in lines(planned.folder / FIGURES)),
                   key=lambda name: name != FACES.get(notebook))
    return [f"{planned.folder}/figures/{name}-page.png" for name in names]


def in_words(content: dict[str, Any]) -> dict[str, str]:
    """For the terminal: what is not known or does not apply is left out."""
    document, unit = content["document"], content["published_unit"]
    committed = " (committed)" if content["committed"] else ""
    rows = {
        "claim": content["claim"],
        "document": f"{document['id']}: {document['author']}, {document['title']}, {document['date']}",
        "passage": content["place"], "what is claimed": content["text"], "as printed": content["printed"],
        "to be predicted": _number(content["published"], unit)
        + ", after over before" * content["is_ratio"] + _allowed(content),
        "audit": content["audit"] + (f" ({content['differs']})" if content["differs"] else ""),
        **{_name(content, kind): _ends(content[kind], unit, content["draws"][kind]) + committed
           for kind in INTERVALS if content[kind]},
        "graded": OF_BASELINE if content["graded_by_baseline"] and not content["left"] else "",
        "grade": content["grade"] + committed, "why": content["why"],
        **{name: content[key] for name, key in BESIDE.items() if content[key] != content["grade"]},
        "in short (committed)": content["in_short"],
        "follows from": content["follows_from"], "notebook": content["notebook"]}
    return {name: text for name, text in rows.items() if isinstance(text, str) and text}


def _name(content: dict[str, Any], kind: str) -> str:
    """Of an interval. Where draws at full size are those that are left, the others are to scale. Where a notebook simulates
    to scale and no draw at full size counts, as for the cycle, all are."""
    if content["full_size"]:
        return OF_SIZES[kind]
    return OF_SIZES[kind] if kind == "unfitted" and content["notebook"] in TO_SCALE else INTERVALS[kind]


def _ends(interval: list[float | None], unit: Any, draws: int | None) -> str:
    """Of an interval, with the shares of draws below them. `draws`: those that are left, None of another interval."""
    known = {share: end for share, end in zip(("5", "50", "95"), interval, strict=True) if end is not None}
    shares = f"{', '.join(known)} %" if draws is None or draws >= MANY else "least, middle, most"
    return (f"{', '.join(map(console.number, known.values()))}{_unit(unit)} ({shares})"
            + ("" if draws is None else f" of {counted(draws, 'draw')}"))


def _allowed(content: dict[str, Any]) -> str:
    """The range that the claim allows, where it is seen to be one."""
    low, high = (_number(content[f"published_{end}"], content["published_unit"]) for end in ("low", "high"))
    return f" (allowed: {low} {f'to {high}' if high else 'or more'})" if low != high else ""


def _number(value: Any, unit: Any) -> str:
    return console.number(value) + _unit(unit) if _is_known(value) else ""


def _unit(unit: Any) -> str:
    return "" if unit in (None, "1") else f" {unit}"
