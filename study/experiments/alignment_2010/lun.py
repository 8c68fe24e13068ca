"""A LUN of an appliance of 2010, aligned with the blocks of its volume and not: the load of a database, or of a backup.

    machine = lun.setup(request_kib=8, block_kib=8, …)      what a notebook's parameters stand for
    lun.run(machine, "after", seed)                         one run of `model.simulations.block_requests`
    lun.compare(machine, seed)                              aligned and misaligned, the same requests
    lun.predict(machine, draws=20, seeds=3, seed=1)         the ensemble: see `study.ensembles.ensembles`

*Before* the partition begins at a border of the volume's blocks, *after* some sectors behind one. The machine is that of
`study.machines.appliance_lun`, a slice of an appliance.
"""
from typing import Any

import numpy as np
import pandas as pd

from model.simulations.block_requests import Result
from study.documents.priors import Known
from study.ensembles import effects, ensembles, kept
from study.ensembles.effects import Effect
from study.ensembles.ensembles import AFTER, BEFORE, VARIANTS
from study.ensembles.processors import on_all_processors
from study.errors import UserError
from study.experiments.protocol import Comparison, case_of, table_of
from study.machines import appliance_lun
from study.machines import simulate as machines
from study.machines.appliance_lun import BACKUP, DATABASE, KIB, UNITS, Setup, quantities, with_values

EXPERIMENT, CLAIM, NOTEBOOK = "alignment", "alignment-loss", "14_lun_alignment"
SLOWDOWN = "misaligned.slowdown_high"

Runs = Comparison[Setup, Result]


# --- from parameters to a machine -----------------------------------------------------------------------------------------

def known() -> Known:
    """Priors of the experiment and of every device that is drawn."""
    both = [appliance_lun.described(disk, "mirror", True, 8 * KIB, True, 0.2, 100.0)
            for disk in ("sata-7k2-1tb", "sas-15k-300")]
    return machines.known(both, EXPERIMENT)


def setup(*, seconds: float, block_kib: int = 8, on_zvol: bool = True, **chosen: Any) -> Setup:
    """From a notebook's parameters, named as in the priors; everything else is the best guess. UserError, one sentence, for
    a name that is none, or a machine that cannot be."""
    central = known().central()
    if unknown := set(chosen) - set(central):
        raise UserError(f"{', '.join(sorted(unknown))} is no prior of {EXPERIMENT}; take one of {', '.join(central)}")
    return with_values(seconds, central | chosen, block_kib, on_zvol)


def run(machine: Setup, variant: str, seed: int) -> Result:
    """One run, aligned (*before*) or not."""
    return appliance_lun.run(machine, variant == AFTER, seed)


def compare(machine: Setup, seed: int) -> Runs:
    """Both under one seed: the same requests, at shifted places."""
    return Comparison(machine, *on_all_processors(run, [(machine, variant, seed) for variant in VARIANTS]))


# --- what comes out -------------------------------------------------------------------------------------------------------

def table(runs: Runs) -> pd.DataFrame:
    """The quantities of both runs, for readers. What is zero for an aligned start gives no ratio."""
    shown = table_of(runs, quantities, UNITS.__getitem__).replace(np.inf, np.nan)
    return shown.rename(columns={"before": "aligned", "after": "misaligned", "after / before": "misaligned / aligned"})


def slowdown(runs: Runs) -> float:
    """How many times fewer requests are done misaligned."""
    before, after = (quantities(x, runs.machine)["requests.rate"] for _, x in runs.items())
    return before / after


def metrics(runs: Runs) -> pd.DataFrame:
    """The same for the run store: name, value, unit."""
    rows = [(f"{variant}.{name}", value, UNITS[name]) for variant, x in runs.items()
            for name, value in quantities(x, runs.machine).items() if not np.isnan(value)]
    return pd.DataFrame([*rows, ("slowdown", slowdown(runs), "1")], columns=["name", "value", "unit"])


# --- the ensemble ---------------------------------------------------------------------------------------------------------

def predict(machine: Setup, draws: int, seeds: int, seed: int) -> pd.DataFrame:
    """The ensemble over all that is not known. Nothing is fitted, because no level was published; the claim is about the
    slowdown, so that stands beside each case."""
    def values_of(of: Setup, values: dict) -> Setup:
        return with_values(of.seconds, values)

    unknown = known()
    of = machine.seconds, ensembles.parts_of(unknown)
    results = ensembles.run(ensembles.cases(unknown, draws, seeds, seed, ensembles.NUMBERS),
                            case_of(machine, seed, None, values_of, run, quantities),
                            ensemble=kept.Ensemble("lun-alignment", __name__, of, ("hardware/*.toml",)))
    rate = EFFECT.quantity
    return results.assign(**{f"{AFTER}/{SLOWDOWN}": results[f"{BEFORE}/{rate}"] / results[f"{AFTER}/{rate}"]})


def conditions(results: pd.DataFrame) -> pd.DataFrame:
    """The slowdown under each choice of each condition, others at their best guess: label, slowdown, is_central."""
    table = effects.conditions(results, known(), EFFECT)
    return table.assign(slowdown=1 / (1 - table.effect / 100))[["label", "slowdown", "is_central"]]


EFFECT = Effect("requests.rate", "loss", {
    **{("request_kib", kib): f"requests of {kib} KiB" for kib in (4, 8, 16, 64)},
    ("load", BACKUP): "a stream of writes", ("load", DATABASE): "a database",
    ("synchronous", 0): "writes do not wait", ("synchronous", 1): "synchronous writes",
    ("log_device", 0): "no log device", ("log_device", 1): "a log device",
    ("disk", "sas-15k-300"): "disks of 15 000 rpm", ("disk", "sata-7k2-1tb"): "disks of 7200 rpm",
    ("layout", "mirror"): "mirrors", ("layout", "stripe"): "a stripe", ("layout", "raidz1"): "RAID-Z1",
    ("layout", "raidz2"): "RAID-Z2",
    ("start_sectors", 34): "begins at sector 34", ("start_sectors", 63): "begins at sector 63"})


def not_modelled(quantity: str) -> str:
    """Why a quantity is not among what is predicted."""
    return f"the simulation of a LUN has no {quantity}"


def verdict(scores: pd.DataFrame) -> str:
    """The row of the claim in a sentence."""
    score = scores.set_index("claim").loc[CLAIM]
    return (f"{score['grade']}: published up to {score['published']:.0f} times slower, simulated "
            f"{score['unfitted 5 %']:.1f} to {score['unfitted 95 %']:.1f} times")
