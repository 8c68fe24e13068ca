"""A ring: what is put into it is taken out in the same order, first come, first served.

A ring is two arrays. `slots` holds what waits; its length is a power of two, and no less than what may wait at a time.
`ends` counts how often something was put in and how often something was taken out; both only grow. What is in the ring
lies between them:

    slots   . . c d e . . .          ends[TAKEN] = 2, ends[PUT] = 5; the fourth from now lies in front again
"""

from model.jit import kernel

# Elements of `ends`.
PUT = 0  # count of what was put in so far
TAKEN = 1  # count of what was taken out so far
N_ENDS = 2


@kernel
def put(slots, ends, value):
    """`value` waits behind all others."""
    slots[ends[PUT] & (len(slots) - 1)] = value
    ends[PUT] += 1


@kernel
def first(slots, ends):
    """What has waited longest, which stays. (There is something.)"""
    return slots[ends[TAKEN] & (len(slots) - 1)]


@kernel
def take(slots, ends):
    """What has waited longest, which is taken out. (There is something.)"""
    value = first(slots, ends)
    ends[TAKEN] += 1
    return value


@kernel
def n_in(ends):
    """How many wait."""
    return ends[PUT] - ends[TAKEN]
