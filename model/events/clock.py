"""The clock of the simulations: integer nanoseconds, and the tick of Solaris."""

SECOND_NS = 1_000_000_000
MS = 1_000_000  # ns
TICK_NS = 10_000_000  # at hz = 100
