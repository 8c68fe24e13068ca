"""Draws of an experiment as sweeps, and waves of them towards all that a document printed.

    sweep = of_draws("02_vdev_cache_seqread", module, parameters, n, seed)          spread over all that is possible
    found = nearest(name, module, parameters, n, waves, seed, run)                  then towards what was printed

The nearest machine is looked for with one seed for each draw. So the best of many is in part a lucky seed. The nearest
CANDIDATES are therefore simulated with SEEDS seeds each, and the one is taken whose means are nearest.
"""
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from model.events.streams import stream
from study.documents import priors
from study.ensembles import kept, nearest_machine
from study.ensembles.history_matching import factors
from study.ensembles.nearest_machine import LEAST, Machine, compared
from study.errors import UserError
from study.experiments.protocol import Drawn
from study.project import digest
from study.sweeps import tasks
from study.sweeps.sweep import Sweep
from study.sweeps.tasks import Row

WAVE = 24           # draws
CANDIDATES, SEEDS = 8, 3
Run = Callable[[Sweep], list[Row]]      # carries a sweep out


def of_values(name: str, module: str, parameters: dict[str, Any], values: pd.DataFrame, seeds: Sequence[int]) -> Sweep:
    """A sweep over draws with these values, each with its seed."""
    drawn = tasks.drawn_of(module, tuple(parameters.items()))
    made_from, cases = tasks.made_from_of(drawn), list(zip(values.to_dict("records"), map(int, seeds), strict=True))
    keys = [digest([kept.as_text((made_from, drawn.ensemble.of, case, seed)).encode()])[:16] for case, seed in cases]
    return Sweep(name, tasks.simulate_draw, values.assign(of_seed=list(seeds)).set_axis(keys),
                 [(module, parameters, made_from, case, seed) for case, seed in cases])


def of_draws(name: str, module: str, parameters: dict[str, Any], n: int, seed: int) -> Sweep:
    """`n` draws of the priors, each with a seed of its own: those of `study.ensembles.ensembles.cases`."""
    known = tasks.drawn_of(module, tuple(parameters.items())).known
    return of_values(name, module, parameters, priors.draws(known, n, seed), range(seed + 1, seed + 1 + n))


def nearest(name: str, module: str, parameters: dict[str, Any], n: int, n_waves: int, seed: int, run: Run) -> Machine:
    """Look for the machine that comes nearest to all that was printed, from `n` draws on, in waves of WAVE."""
    from study.sweeps import nearest as emulated  # brings scikit-learn along
    drawn = tasks.drawn_of(module, tuple(parameters.items()))
    known = drawn.known
    shares, draws = priors.shares(known, n, seed), _made(of_draws(name, module, parameters, n, seed), run)
    draws, facts = compared(drawn, draws)
    least = [_off(draws, facts).min()]
    for wave in range(n_waves):
        more = emulated.following(known, shares, draws, facts, WAVE, stream(seed, f"wave {wave}"))
        shares = np.vstack([shares, more])
        seeds = range(seed + 1 + len(draws), seed + 1 + len(draws) + len(more))
        made, _ = compared(drawn, _made(of_values(name, module, parameters, priors.at(known, more), seeds), run))
        draws = pd.concat([draws, made], ignore_index=True)
        least.append(_off(draws, facts).min())
    return _chosen(name, module, parameters, drawn, draws, facts, seed, run, least)


def _chosen(name: str, module: str, parameters: dict[str, Any], drawn: Drawn, draws: pd.DataFrame, facts: pd.DataFrame,
            seed: int, run: Run, least: list[float]) -> Machine:
    values = [unknown.name for unknown in (*drawn.known.priors, *drawn.known.switches)]
    first = _off(draws, facts).nsmallest(CANDIDATES).index
    seeds = [seed + i for i in range(SEEDS)]
    cases = draws.loc[np.repeat(first, SEEDS), values].reset_index(drop=True)
    made, _ = compared(drawn, _made(of_values(name, module, parameters, cases, seeds * len(first)), run))
    columns = facts.column.tolist()
    logs = np.log(made[columns].clip(lower=LEAST))
    means = np.exp(logs.groupby(made.index // SEEDS).mean(skipna=False))    # what a seed does not have, no mean has
    best = int(_off(means, facts).argmin())
    chosen = made.iloc[best * SEEDS][values].to_dict()
    if drawn.as_simulated:
        chosen = drawn.as_simulated(chosen)
    return Machine(of=nearest_machine.digest_of(drawn),
                   values=chosen, seeds=tuple(seeds), factor=float(_off(means, facts).iloc[best]),
                   n_draws=len(draws), after_waves=tuple(map(float, least)))


def _made(sweep: Sweep, run: Run) -> pd.DataFrame:
    rows = run(sweep)
    if failed := [row for row in rows if row.status != "ok"]:
        raise UserError(f"{len(failed)} of {len(rows)} draws failed ({failed[0].reason}); the same command tries them again")
    return tasks.table(sweep.points, rows).reset_index(drop=True)


def _off(draws: pd.DataFrame, facts: pd.DataFrame) -> pd.Series:
    return factors(draws, facts).max(axis=1)
