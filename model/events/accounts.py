"""Time-weighted counts: how many of something are under way, and the integral of that over time.

By Little's law the integral is the sum of the times that each of them was under way. An account is an array of three
elements, which begins as zeros.
"""

from model.jit import kernel

# Elements of an account.
N_NOW = 0  # count of what is under way
AREA = 1  # ns: the integral of that count over time
UNTIL = 2  # ns: up to when
N_ELEMENTS = 3


@kernel
def change_by(account, now, n):
    """At `now` there are `n` more under way."""
    account[AREA] += account[N_NOW] * (now - account[UNTIL])
    account[UNTIL] = now
    account[N_NOW] += n
