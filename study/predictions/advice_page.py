"""What `study advise` prints: steps by gain, the ladder, what is below the database, lines to copy."""
from collections.abc import Sequence

from rich.console import Console

from study import console
from study.predictions import advise, bounds, storage_steps

APART = 0.05        # of a rate; less than that is not spoken of
MIDDLES = "TPS and gain are each the middle (50 %) of all draws. So TPS need not be the present rate times the gain."
OPEN = "open: the interval of the gain holds zero, so the step may gain or lose"


def say(advice: advise.Advice, out: Console) -> None:
    """For a terminal of 80 columns: what steps trade stands below the tables, by number."""
    tried, notes = advice.steps[advice.steps.why_not == ""], [*dict.fromkeys(advice.steps.trades[advice.steps.trades != ""])]
    shown = console.table("step, alone", "gain, 5 %", "50 %", "95 %", "TPS", "trades")
    for row in tried.itertuples():
        numbers = [f"{value - 1:+.0%}" for value in (row.gain_low, row.gain, row.gain_high)]
        if advise.is_open(row.gain_low, row.gain_high):
            numbers[1] = "open"
        trades = f"{row.trades.partition(':')[0]} [{1 + notes.index(row.trades)}]" if row.trades else ""
        shown.add_row(row.step, *numbers, f"{row.tps:,.0f}", trades)
    rungs = console.table("safe steps, one on top of the other", "TPS, 5 %", "50 %", "95 %")
    for row in advice.ladder.itertuples():
        rungs.add_row(row.rung, *(f"{value:,.0f}" for value in (row.low, row.tps, row.high)))
    calibrated = ", ".join(console.number(end) for end in advice.calibrated_tps)
    out.print(f"as it is: {calibrated} TPS (5, 50, 95 %), widened by the error of blind trials. TPS below is without "
              "it.")
    if advice.bound_by:
        out.print(bounds.sentence(advice.bound_by))
    out.print()
    out.print(shown)
    as_it_is = advice.ladder.tps.iloc[0]
    apart = (tried.tps - as_it_is * tried.gain).abs() > APART * as_it_is * tried.gain
    _say_list(out, [OPEN] * any(map(advise.is_open, tried.gain_low, tried.gain_high)) + [MIDDLES] * bool(apart.any()))
    out.print()
    out.print(rungs)
    _say_list(out, [f"[{i}] {note}" for i, note in enumerate(notes, 1)])
    _say_list(out, advise.slower(advice.steps))
    _say_list(out, advise.beginnings(advice))
    _say_list(out, ["Gains more on the ladder than alone:"] * bool(advice.why_more) + [
        f"- {why}" for why in advice.why_more])
    gaining = advice.steps[advice.steps.why_no_rung != ""]
    _say_list(out, ["Gains alone, but no rung:"] * len(gaining[:1]) + [
        f"- {row.step}: {row.why_no_rung}" for row in gaining.itertuples()])
    to_type = tried[[bool(row.lines) and row.gain_low > 1 for row in tried.itertuples()]]
    _say_list(out, ["Lines to copy, of the steps that gain:"] * len(to_type[:1]) + [
        text for row in to_type.itertuples() for text in (f"# {row.step}", *row.lines)])
    _say_list(out, storage_lines(advice.storage))
    not_tried = [f"- {row.step}: {row.why_not}" for row in advice.steps[advice.steps.why_not != ""].itertuples()]
    _say_list(out, not_tried and ["Not tried:", *not_tried])
    _say_list(out, [advice.not_asked] * bool(advice.not_asked))
    _say_list(out, ["To know of this machine:"] * bool(advice.remarks) + [f"- {remark}" for remark in advice.remarks])
    _say_list(out, ["Taken by default:"] * bool(advice.notes) + [f"- {note}" for note in advice.notes])


def storage_lines(steps: Sequence[storage_steps.StorageStep]) -> list[str]:
    """Each step below the database: answer, reason, what was taken, lines to copy. Nothing where none is asked."""
    lines = ["Below the database (what stands above is of a pool without dedup, aligned):"] * bool(steps)
    for step in steps:
        lines.append(f"- {step.step}: {step.answer}; {step.reason}.")
        if step.low == step.low:
            lines.append(f"  requests, times as many: {step.low:.2f}, {step.gain:.2f}, {step.high:.2f} (5, 50, 95 %)")
        lines += [f"  taken: {words}" for words in step.taken] + [f"  {text}" for text in step.lines]
    return lines


def _say_list(out: Console, lines: list[str]) -> None:
    if lines:
        out.print()
    for line in lines:
        out.print(line)
