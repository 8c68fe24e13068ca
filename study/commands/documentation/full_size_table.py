"""Order entry at both sizes, a row for each draw, for docs/order-entry.md: from `paper/results.json` and the draws."""
from study.commands.documentation.committed_results import Results, committed
from study.commands.documentation.markdown import table
from study.documents import priors
from study.experiments.allocator_2010 import order_entry, order_entry_full_size
from study.experiments.allocator_2010.order_entry_full_draws import (
    BEST_GUESS,
    BLOCKS,
    GAIN,
    R_SQUARED,
    REDUCTION,
    pair_metric,
)
from study.experiments.allocator_2010.order_entry_graded import JOINT

LAYOUTS = {"stripe": "disks by themselves", "mirror": "disks in mirrors", "raidz1": "disks in RAID-Z1",
           "raidz2": "disks in RAID-Z2"}
COLUMNS = {GAIN: ("gain", ".0f", " %"), REDUCTION: ("less variability", ".0f", " %"),
           R_SQUARED: ("R² of I/O size", ".2f", ""),
           BLOCKS: ("records in a write, fastest over slowest test run", ".1f", ""), JOINT: ("joint fact", ".2f", "")}


def pairs() -> str:
    """A row for each draw, to scale first and then at full size, and what all show at full size."""
    n = committed()
    draws = [draw for draw in (*(f"{number:02d}" for number in range(order_entry_full_size.N_DRAWS)), BEST_GUESS)
             if _metric(draw, GAIN, "full") in n.numbers]
    rows = [(_pool(draw), *(f"{n(_metric(draw, name, 'small'), form)}; {n(_metric(draw, name, 'full'), form)}{unit}"
                            for name, (_, form, unit) in COLUMNS.items())) for draw in draws]
    titles = ("draw: pool, how often its data were rewritten", *(title for title, _, _ in COLUMNS.values()))
    return "\n".join((table(titles, rows), "", _together(n, draws)))


def _metric(draw: str, name: str, size: str) -> str:
    return f"04_oltp_gain/{pair_metric(draw, name, size)}"


def _pool(draw: str) -> str:
    """The machine of a draw in words: its disks, and how often its data were rewritten."""
    if draw == BEST_GUESS:
        case, words = priors.read(order_entry.EXPERIMENT).central(), "the best guess"
    else:
        case, words = order_entry_full_size.cases()[int(draw)], str(int(draw))
    orders = order_entry_full_size.machine(case).orders
    return f"{words}: {orders.n_vdevs * orders.vdev.n_children} {LAYOUTS[case['layout']]}, {case['age']:.1f} times"


def _together(n: Results, draws: list[str]) -> str:
    """The ends of gain and steadiness at full size, and how many show the joint fact."""
    def ends(name: str) -> str:
        of_draws = sorted((_metric(draw, name, "full") for draw in draws), key=n.numbers.__getitem__)
        return f"{n(of_draws[0])} to {n(of_draws[-1])} %"
    show = sum(n.numbers[_metric(draw, JOINT, "full")] >= 1 for draw in draws)
    return (f"At full size these machines gain {ends(GAIN)}, and are {ends(REDUCTION)} steadier under the new rules.\n"
            f"The joint fact is 1 or more where it holds: in {show} of {len(draws)}.")
