"""The machine within the priors that comes nearest to all that a document prints: `data/nearest/<notebook>.toml`.

    machine = read("02_vdev_cache_seqread")             as `study sweep --waves … --keep` has found it
    around(drawn, machine)                              its runs, and those with one condition changed
    results, facts = compared(drawn, results)           with what the document prints
    beside(results, facts)                              each printed number beside those of its runs

Numbers printed after a change took part in the search. So it explains, and predicts nothing; no grade is made of it.
"""
import json
import re
from typing import Any

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, ValidationError

from study.documents import published, readable
from study.documents.priors import Known, Switch
from study.ensembles import ensembles, kept
from study.ensembles.history_matching import factors, printed
from study.errors import UserError
from study.project import DATA, data_file, digest, write_atomically

FOLDER = "nearest"
NEGLIGIBLE = 0.01       # of a number: a condition that moves none of them by so much has no effect
NO_EFFECT = f" (no effect here: under {NEGLIGIBLE:.0%})"
LEAST = 1e-12           # of numbers whose logarithms are taken
FRESH = 10_000          # seeds from here on took no part in any search
OTHER = " The search had the notebook's own parameters, and this run has others."
HEAD = "# The machine nearest to all printed numbers, as `study sweep --waves --keep` found it: docs/sweeps.md."


class Machine(BaseModel):
    """`of`: digest of what its notebook's parameters were. `values`: of each prior and switch. `factor`: by which its
    farthest number was off when it was found, the means over `seeds`. `n_draws`: of how many; `after_waves`: the least
    factor of a draw, after the first of them and each wave."""
    model_config = ConfigDict(frozen=True, extra="forbid")
    of: str
    values: dict[str, float | int | bool | str]
    seeds: tuple[int, ...]
    factor: float
    n_draws: int
    after_waves: tuple[float, ...]


def read(notebook: str) -> Machine:
    """The machine that was found for a notebook. Raises UserError for a file that is no such machine."""
    name = f"{FOLDER}/{notebook}.toml"
    try:
        return Machine.model_validate(published.parse(data_file(name).read_text()))
    except published.tomllib.TOMLDecodeError as error:
        raise UserError(f"{name} is not TOML: {error}; restore it with git checkout -- data") from None
    except ValidationError as error:
        raise UserError(published.explain(name, error)) from None


def write(notebook: str, machine: Machine) -> None:
    """As `read` reads it."""
    content = machine.model_dump()
    lines = [f"{name} = {json.dumps(value)}" for name, value in content.items() if name != "values"]
    lines += ["", "[values]", *(f"{_key(name)} = {json.dumps(value)}" for name, value in machine.values.items())]
    write_atomically(DATA / FOLDER / f"{notebook}.toml", "\n".join([HEAD, *lines, ""]))


def _key(name: str) -> str:
    """A name as TOML has it: in quotes if it has more than letters, digits, and what joins them."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def digest_of(drawn: Any) -> str:
    """Of what else than the values makes a draw what it is."""
    return digest([kept.as_text(drawn.ensemble.of).encode()])[:16]


def around(drawn: Any, machine: Machine) -> pd.DataFrame:
    """Runs of `drawn` (`study.experiments.protocol.Drawn`). They are of the machine with fresh seeds (part `seed`), as many
    as it was chosen by, and with each of its conditions changed (`structure`). See `study.ensembles.ensembles.run`."""
    values, known = machine.values, drawn.known
    seeds = [FRESH + seed for seed in machine.seeds]
    rows = [{"part": "seed", "seed": seed, **values} for seed in seeds]
    rows += [{"part": "structure", "seed": seeds[0], **values, switch.name: choice}
             for switch in known.switches for choice in switch.choices if choice != values[switch.name]]
    ensemble = drawn.ensemble._replace(name=f"{drawn.ensemble.name}-nearest")
    return ensembles.run(pd.DataFrame(rows), drawn.simulate, None, drawn.variants, ensemble)


def compared(drawn: Any, draws: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draws with each number that the document prints as a column, and these numbers: see `history_matching.printed`."""
    return drawn.compared(draws) if drawn.compared else (draws, printed(draws, drawn.printed_runs))


def beside(results: pd.DataFrame, facts: pd.DataFrame) -> pd.DataFrame:
    """Each printed number beside the machine's, the farthest first. Columns: number, printed, least, mean and most of its
    seeds, and the factor by which the mean is off. `facts` of `study.ensembles.history_matching.printed`."""
    own = results[results.part == "seed"][facts.column.tolist()]
    means = _mean(own)
    table = pd.DataFrame({
        "number": facts.column.to_numpy(), "printed": facts.printed.to_numpy(), "least": own.min().to_numpy(),
        "mean": means.iloc[0].to_numpy(), "most": own.max().to_numpy(), "off by": factors(means, facts).iloc[0].to_numpy()})
    return table.sort_values("off by", ascending=False, kind="stable", ignore_index=True)


def changed(results: pd.DataFrame, effect: pd.Series, facts: pd.DataFrame, known: Known) -> pd.DataFrame:
    """What one condition does: condition, was, is, effect, and the factor of the farthest number. The first row is the
    machine as it is, with its first seed."""
    own = results[results.part == "seed"].iloc[0]
    off = factors(results, facts).max(axis=1)
    rows = [("as it is", "", "", effect[own.name], off[own.name])]
    for row, switch in _changes(results, known):
        rows.append((switch.name, readable.choice(switch, own[switch.name]),
                     readable.choice(switch, results[switch.name][row]), effect[row], off[row]))
    return pd.DataFrame(rows, columns=["condition", "was", "is", "effect", "off by"])


def _changes(results: pd.DataFrame, known: Known) -> list[tuple[Any, Switch]]:
    """Each run with one condition changed (a row of `results`), and which."""
    own = results[results.part == "seed"].iloc[0]
    return [(row, next(switch for switch in known.switches if results[switch.name][row] != own[switch.name]))
            for row in results[results.part == "structure"].index]


def described(machine: Machine, known: Known, results: pd.DataFrame, facts: pd.DataFrame) -> pd.DataFrame:
    """Condition by condition and number by number: what, value, and where in its range (% below it; of a choice nan). A
    condition that hardly changes a printed number is said to be without effect. Numbers of a drive that the machine does not
    have are left out."""
    idle = without_effect(results, facts, known)
    chosen = {switch.name: readable.choice(switch, machine.values[switch.name]) for switch in known.switches}
    rows: list[tuple] = [(name, words + NO_EFFECT * (name in idle), np.nan) for name, words in chosen.items()]
    for prior in known.priors:
        if not _is_of_other_drive(prior.name, machine, known):
            value = float(machine.values[prior.name])
            rows.append((prior.name, readable.number(prior, value), 100 * _place(known, machine, prior.name)))
    return pd.DataFrame(rows, columns=["what", "value", "place"])


def without_effect(results: pd.DataFrame, facts: pd.DataFrame, known: Known) -> set[str]:
    """Conditions of which no other choice changes a printed number by `NEGLIGIBLE`, under the first seed."""
    numbers, changes = results[facts.column].astype(float), _changes(results, known)
    own = numbers[results.part == "seed"].iloc[0]
    return {switch.name for _, switch in changes} - {
        switch.name for row, switch in changes
        if not np.allclose(numbers.loc[row], own, rtol=NEGLIGIBLE, atol=0, equal_nan=True)}


def _is_of_other_drive(name: str, machine: Machine, known: Known) -> bool:
    """Whether a number is of a sheet that a condition could have chosen, and has not."""
    sheet, dot, _ = name.partition(".")
    return bool(dot) and any(sheet in switch.choices and machine.values[switch.name] != sheet for switch in known.switches)


def metrics(results: pd.DataFrame, effect: pd.Series, facts: pd.DataFrame, machine: Machine, unit: str) -> pd.DataFrame:
    """For the run store: name, value, unit. `factor-when-found` is that of the seeds by which the machine was chosen."""
    of_seeds = effect[results.part == "seed"]
    rows = [("factor", beside(results, facts)["off by"].max(), "1"), ("factor-when-found", machine.factor, "1"),
            ("draws", machine.n_draws, "draws"),
            *((f"effect-{end}", value, unit) for end, value in (
                ("least", of_seeds.min()), ("mean", of_seeds.mean()), ("most", of_seeds.max())))]
    return pd.DataFrame([(f"nearest.{name}", value, unit) for name, value, unit in rows], columns=["name", "value", "unit"])


def sentence(drawn: Any, machine: Machine) -> str:
    """What was looked for, and found."""
    course = ", ".join(f"{factor:.2f}" for factor in machine.after_waves)
    return (f"The search simulated {machine.n_draws} draws. The nearest of them showed all printed numbers within a factor "
            f"of {machine.factor:.2f} (means over {len(machine.seeds)} seeds). After the first draws and after each wave "
            f"the nearest single draw was off by: {course}. Here that machine runs again, with seeds that no search saw."
            + OTHER * (digest_of(drawn) != machine.of))


def _mean(own: pd.DataFrame) -> pd.DataFrame:
    """Over seeds, of logarithms, as the search has it: what a seed does not have, no mean has."""
    return np.exp(np.log(own.clip(lower=LEAST)).mean(skipna=False)).to_frame().T


def _place(known: Known, machine: Machine, name: str) -> float:
    """The share of the prior's distribution below the machine's value."""
    prior = next(prior for prior in known.priors if prior.name == name)
    value = float(machine.values[name]) + (float(machine.values[prior.less]) if prior.less else 0.0)
    if prior.shape == "uniform":
        return (value - prior.low) / (prior.high - prior.low)
    return float(np.log(value / prior.low) / np.log(prior.high / prior.low))
