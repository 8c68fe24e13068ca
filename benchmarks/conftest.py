"""What the benchmarks share: a clock that reports time per operation, and one readable table at the end.

Times depend on the machine and on what else runs there; compare within one table, by the ratios.
"""

from typing import NamedTuple

import pytest

TABLES = pytest.StashKey()


class Line(NamedTuple):
    """A line of a table."""

    name: str
    value: float  # of the unit of the table
    base: bool  # the others of the table are shown as multiples of this one
    note: str


def pytest_configure(config):
    config.stash[TABLES] = {}


@pytest.fixture
def report(request):
    """Put a line into a table: report("table", "unit", "name", 1.5)."""
    def put(table, unit, name, value, base=False, note=""):
        request.config.stash[TABLES].setdefault((table, unit), []).append(Line(name, value, base, note))
    return put


@pytest.fixture
def per_operation(benchmark, report):
    """Time `call(*setup())` and report ns per operation, the median of `rounds`; returns what the last call gave."""
    def timed(table, name, n_operations, setup, call, rounds=15, base=False, note=""):
        call(*setup())  # compile, and touch the memory
        result = benchmark.pedantic(call, setup=lambda: (setup(), {}), rounds=rounds)
        report(table, "ns per operation", name, benchmark.stats.stats.median / n_operations * 1e9, base, note)
        return result
    return timed


def pytest_terminal_summary(terminalreporter, config):
    for (table, unit), lines in config.stash[TABLES].items():
        base = next((line.value for line in lines if line.base), None)
        terminalreporter.write_sep("=", table)
        terminalreporter.write_line(f"{'':44}{unit:>18}{'ratio':>9}")
        for line in lines:
            ratio = f"{line.value / base:9.2f}" if base else " " * 9
            terminalreporter.write_line(f"{line.name:44}{line.value:18.1f}{ratio}  {line.note}".rstrip())
