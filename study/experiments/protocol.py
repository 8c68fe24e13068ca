"""The form of an experiment: one machine, one change, and what the change does to it.

    machine = setup(…)                      from a notebook's parameters
    runs = compare(machine, seed)           before the change and after it, under one seed
    results = predict(…)                    the same over all that is not known
    verdict(claim_predictions.scores(…))    beside what was published

A module is an experiment if it has the members of `Experiment`; a test holds it for each. Between machine and result each
has its own way, and questions of its own besides.
"""
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import pandas as pd

from study.documents.priors import Known
from study.ensembles import kept
from study.ensembles.effects import Effect
from study.ensembles.ensembles import AFTER, BEFORE, Simulate

Machine = TypeVar("Machine")
Run = TypeVar("Run")


class Comparison(NamedTuple, Generic[Machine, Run]):
    """What one machine does before the change and after it."""
    machine: Machine
    before: Run
    after: Run

    def items(self) -> tuple[tuple[str, Run], tuple[str, Run]]:
        """By the name of the variant, in the order of `study.ensembles.ensembles.VARIANTS`."""
        return (BEFORE, self.before), (AFTER, self.after)


class Drawn(NamedTuple):
    """What a draw of an experiment is made of: what is not known, and what simulates each variant with values of it.
    `ensemble` says what else than the values makes it what it is. `printed_runs`: the published run of each variant; nothing
    is simulated from it. `compared`, where ratios or shares are printed: draws with these in columns, and those printed.
    `as_simulated`: values as they count, where some cannot be and others stand for them."""
    known: Known
    variants: tuple[str, ...]
    simulate: Simulate
    ensemble: kept.Ensemble
    printed_runs: dict[str, str]
    compared: Callable[[pd.DataFrame], tuple[pd.DataFrame, pd.DataFrame]] | None = None
    as_simulated: Callable[[dict], dict] | None = None


def table_of(runs: Comparison[Machine, Run], quantities: Callable[[Run, Machine], dict[str, float]],
             unit_of: Callable[[str], str]) -> pd.DataFrame:
    """The quantities of both variants, for readers: a row for each, with the unit that `unit_of` gives its name."""
    shown = pd.DataFrame({variant: quantities(x, runs.machine) for variant, x in runs.items()})
    shown["after / before"] = shown[AFTER] / shown[BEFORE]
    shown.insert(0, "unit", [unit_of(name) for name in shown.index])
    return shown


def case_of(machine: Machine, seed: int, runs: Comparison[Machine, Run] | None,
            with_values: Callable[[Machine, dict], Machine], run: Callable[[Machine, str, int], Run],
            quantities: Callable[[Run, Machine], dict[str, float]]) -> Simulate:
    """What simulates a case of an ensemble, by the functions of an experiment. `runs` were made under `seed` and are not
    repeated."""
    def simulate_case(values: dict, case_seed: int, variant: str) -> dict[str, float]:
        case = with_values(machine, values)
        made = dict(runs.items()) if runs and (case, case_seed) == (runs.machine, seed) else {}
        return quantities(made[variant] if made else run(case, variant, case_seed), case)

    return simulate_case


class Experiment(Protocol[Machine, Run]):
    """`fixed`: what all cases share, in each experiment something else."""
    EXPERIMENT: str     # its name in `data/priors.toml`
    EFFECT: Effect      # of the change on the quantity that the claim is about, in %

    def setup(self, **parameters: Any) -> Machine:
        """From a notebook's parameters, in the units of their names, the machine and its workload."""

    def with_values(self, *, values: dict, **fixed: Any) -> Machine:
        """From values of the priors and switches, in the units of `data/priors.toml`, the machine of one case."""

    def run(self, machine: Machine, variant: str, seed: int) -> Run:
        """From a machine and the name of a variant, one run, or one series of runs."""

    def compare(self, machine: Machine, seed: int) -> Comparison[Machine, Run]:
        """From a machine, both variants under one seed: they meet the same calls."""

    def quantities(self, x: Run, machine: Machine) -> dict[str, float]:
        """From one run, its quantities by their published names, in the units of the document."""

    def table(self, runs: Comparison[Machine, Run]) -> pd.DataFrame:
        """From both variants, for readers, a row per quantity, with its unit."""

    def metrics(self, runs: Comparison[Machine, Run]) -> pd.DataFrame:
        """From both variants, for the run store: name, value, unit."""

    def predict(self, *, draws: int, seeds: int, seed: int, **fixed: Any) -> pd.DataFrame:
        """From numbers of draws and of seeds, a row per case: see `study.ensembles.ensembles.run`."""

    def not_modelled(self, quantity: str) -> str:
        """From the name of a published quantity that the model does not have, the reason."""

    def verdict(self, scores: pd.DataFrame) -> str:
        """From `study.grades.claim_predictions.scores`, the row of the claim in a sentence."""


class Checked(Protocol):
    """An experiment that `study.runs.catalogue` names as the `machine` of a notebook; its parameters are checked early."""

    def check(self, draws: int, seeds: int, seed: int, **parameters: Any) -> None:
        """From a notebook's parameters nothing; ValueError, one sentence, for a machine that cannot be."""


class Swept(Protocol):
    """An experiment that `study.runs.catalogue` names as the `experiment` of a notebook: `study sweep --draws` draws it."""

    def drawn(self, **parameters: Any) -> Drawn:
        """From a notebook's parameters, without those of its ensemble, what a draw is made of."""
