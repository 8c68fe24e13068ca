"""Make what is in data/full_scale anew.

    python benchmarks/full_scale.py                   the day of two pools: 45 minutes of processor time, 6 GB
    python benchmarks/full_scale.py draws 20          the first so many draws: some 20 minutes and 3 to 9 GB each
    python benchmarks/full_scale.py draws 20 FOLDER   the same, kept in another folder

It comes out as it is, digit by digit, unless the simulation has changed (`git diff data/full_scale` shows it). Each draw is
written when it is done. Draws that are there already, and are of the model of today, are not simulated again. Of a draw that
cannot be simulated the reason is written, and it is not tried again until the model is another one.
"""
import sys
from pathlib import Path

from model.simulations.order_entry.series import CannotRun
from study import project
from study.experiments.allocator_2010 import order_entry_full_draws, order_entry_full_scale

USAGE = (f"say nothing, or 'draws', how many of the {order_entry_full_draws.N_DRAWS}, and a folder if it is another one: "
         "draws 20")


def draws(n, folder):
    """Simulate what is missing of the first `n`, then what is of an older model. How many could not be."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers, failed = order_entry_full_draws.to_do(folder, n), 0
    print(f"to be simulated: {', '.join(map(str, numbers)) or 'none'}", flush=True)
    for number in numbers:
        try:
            print(f"written: {order_entry_full_draws.keep(folder, number)}", flush=True)
        except CannotRun as error:
            failed += 1
            written = order_entry_full_draws.refuse(folder, number, str(error))
            print(f"draw {number} cannot be: {error}; written: {written}", flush=True)
        except ValueError as error:
            failed += 1
            print(f"draw {number} failed, and nothing is written: {error}", flush=True)
    return failed


def main(asked):
    """What the arguments `asked` ask for. Returns the exit code."""
    n_draws = int(asked[1]) if len(asked) > 1 and asked[1].isdecimal() else 0
    if asked and not (asked[0] == "draws" and 1 <= n_draws <= order_entry_full_draws.N_DRAWS and len(asked) < 4):
        print(USAGE, file=sys.stderr)
        return 2
    if asked:
        return 1 if draws(n_draws, Path(asked[2]).resolve() if asked[2:] else order_entry_full_draws.FOLDER) else 0
    path = project.DATA / order_entry_full_scale.FILE
    path.parent.mkdir(exist_ok=True)
    project.write_atomically(path, order_entry_full_scale.to_csv(order_entry_full_scale.simulate()))
    print(f"written: {path.relative_to(project.ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
