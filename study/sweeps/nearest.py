"""Where the next draws should be, so that one shows all that was printed: history matching in waves.

    emulator = fit(known, shares, numbers)              of the draws so far
    following(emulator, known, shares, facts, n, rng)   shares of the next n

An emulator is a cheap stand-in for the simulation (Gaussian processes of scikit-learn). It says of any values what the
simulation would give, and how sure that is. Of many values that were not simulated, half of the next draws are those whose
numbers it expects nearest to the printed ones. The other half could be nearest, by one standard deviation. (I. Vernon and
others, Galaxy formation: a Bayesian uncertainty analysis, 2010; there a wave rules out values, here it also picks them.)

Numbers printed after a change take part. So what is found explains, and predicts nothing.
"""
import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import qmc
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from study.documents.priors import Known, Switch
from study.ensembles.history_matching import factors

EXPLAINED = 0.999       # of the variance of all numbers, by the components that are emulated
MAX_FITTED = 300        # draws, the nearest ones: to fit takes the third power of their number
SPREAD = 4000           # values that are tried, spread over all that is possible
AROUND, NEARBY = 20, 200    # so many more around each of the nearest draws
FAR = 10                # times the printed number: what a number counts as that a draw does not have
FLOOR = 1e-3            # of a printed number: what is less, or 0, counts as this, since logarithms are emulated
STEP, JUMP = 0.12, 0.08     # standard deviation of a share; probability that one is drawn anew
APART = 0.1             # of two draws of a wave, in the coordinate in which they differ most


class Emulator(NamedTuple):
    """Gaussian processes that stand for the simulation between its draws."""
    components: PCA
    processes: tuple[GaussianProcessRegressor, ...]
    left: np.ndarray        # variance of each number that no component has

    def expected(self, coordinates_of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of the logarithm of each number (column) at each place (row)."""
        of_each = [process.predict(coordinates_of, return_std=True) for process in self.processes]
        means, deviations = zip(*of_each, strict=True)
        mean = self.components.inverse_transform(np.column_stack(means))
        variance = np.column_stack(deviations) ** 2 @ self.components.components_ ** 2
        return mean, np.sqrt(variance + self.left)


def coordinates(known: Known, shares: np.ndarray) -> np.ndarray:
    """Shares of numbers as they are. Of a switch 0 or 1 for each of its choices but the last."""
    columns = []
    for prior, share in zip((*known.priors, *known.switches), shares.T, strict=True):
        if isinstance(prior, Switch):
            choice = np.minimum((share * len(prior.choices)).astype(int), len(prior.choices) - 1)
            columns += [(choice == place).astype(float) for place in range(len(prior.choices) - 1)]
        else:
            columns.append(share)
    return np.column_stack(columns)


def fit(known: Known, shares: np.ndarray, numbers: pd.DataFrame) -> Emulator:
    """Of draws at `shares` that gave `numbers`, all above 0."""
    places, logs = coordinates(known, shares), np.log(numbers.to_numpy(float))
    components = PCA(EXPLAINED).fit(logs)
    scores = components.transform(logs)
    left = np.var(logs - components.inverse_transform(scores), axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)     # a coordinate that does nothing has no length
        return Emulator(components, tuple(_process(places, score) for score in scores.T), left)


def _process(places: np.ndarray, score: np.ndarray) -> GaussianProcessRegressor:
    kernel = ConstantKernel(1.0) * Matern(np.ones(places.shape[1]), (0.1, 30.0), nu=2.5) + WhiteKernel(1e-2, (1e-6, 1.0))
    return GaussianProcessRegressor(kernel, normalize_y=True, random_state=0).fit(places, score)


def following(known: Known, shares: np.ndarray, draws: pd.DataFrame, facts: pd.DataFrame, n: int,
              rng: np.random.Generator) -> np.ndarray:
    """Shares of the next `n` draws. `draws` are those so far, `facts` of `study.ensembles.history_matching.printed`."""
    columns = facts.column.tolist()
    floors = facts.high.to_numpy(float) * FLOOR
    numbers = draws[columns].to_numpy(float)
    numbers = np.maximum(np.where(np.isfinite(numbers), numbers, FAR * facts.high.to_numpy(float)), floors)
    off = factors(draws, facts).max(axis=1).to_numpy()
    nearest = np.argsort(off, kind="stable")[:MAX_FITTED]
    emulator = fit(known, shares[nearest], pd.DataFrame(numbers[nearest], columns=columns))
    tried = _tried(shares[nearest[:AROUND]], rng)
    places = coordinates(known, tried)
    mean, deviation = emulator.expected(places)
    low, high = np.log(np.maximum(facts.low.to_numpy(float), floors)), np.log(facts.high.to_numpy(float))
    away = np.maximum(np.maximum(mean - high, low - mean), 0)
    expected, hoped = away.max(axis=1), np.maximum(away - deviation, 0).max(axis=1)
    return tried[_apart(places, hoped, _apart(places, expected, [], n - n // 2), n)]


def _tried(nearest: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Shares all over, and around the nearest draws."""
    n_coordinates = nearest.shape[1]
    around = np.repeat(nearest, NEARBY, axis=0)
    around = np.abs(around + rng.normal(0, STEP, around.shape))
    around = np.where(around > 1, np.maximum(2 - around, 0), around)      # mirrored at both ends
    around = np.where(rng.random(around.shape) < JUMP, rng.random(around.shape), around)
    return np.vstack([qmc.LatinHypercube(n_coordinates, rng=rng).random(SPREAD), around])


def _apart(places: np.ndarray, score: np.ndarray, chosen: list[int], n: int) -> list[int]:
    """`chosen` and more, up to `n`: those of the lowest score that are apart from all others."""
    chosen = list(chosen)
    for place in np.argsort(score, kind="stable"):
        if len(chosen) == n:
            break
        if all(np.abs(places[place] - places[other]).max() > APART for other in chosen):
            chosen.append(int(place))
    return chosen
