"""How many places a leaf has on its device: what was never built.

The document on the vdev cache of 2007 ends with two change requests for the vdev queue. Its knobs "should be determined
dynamically", and it needs "reserved I/O scheduler slots to improve I/O latency of critical ops". Rules 7 and 8 (1 to 6 are
those of `model.zfs.vdev.queue`) take it at its word. They are ours: no ZFS had them, and no era sets them. (OpenZFS got
another queue instead, with limits for every class of I/O.)

 7. The last `reserved_slots` of the places on the device are for what somebody waits for. These are reads on demand, lines
    of the vdev cache, log and sync writes. They are not for the writes of a transaction group, nor for prefetch. When only
    these are left and the head is no such I/O, the first one that is, in the same order, is the head instead. If there is
    none, nothing is issued. Whatever a head takes along (rule 5) may be of any kind. One place at least is for all. As long
    as what somebody waits for fills the others, all else waits, however old: rule 1 does not help it.
 8. A leaf has places of its own, from `min_pending` to `max_pending`, where it begins. What is regulated is how long units
    are on the device. After every `dynamic_window` completions, if that was more than `dynamic_pending_ns` on average, the
    leaf gets one place less. If not, and at some completion I/Os waited although all places were taken, it gets one more. By
    Little's law the average is the time integral of the units on the device over the completions, so no unit need carry its
    time. The places settle where units completed per second times `dynamic_pending_ns` is. So a fast device gets many places
    and a slow one few, without being told. (Limits in time instead of in number: CoDel, 2012, for packets; Kyber, Linux
    2017, for disks. Twice the time of a lone unit as a limit would leave a single spindle at `min_pending` whatever it can
    do. Four units in its queue take it more than twice the time of one.)

Here is what regulates the places; who gets one is settled in `model.zfs.vdev.queue`. `now` is in ns.
"""

from model.jit import kernel
from model.zfs.vdev import control_columns as window


@kernel
def places(queue, params, leaf):
    """How many units the leaf may have on its device at a time."""
    return params.max_pending if params.dynamic_pending_ns == 0 else queue.control[leaf, window.PLACES]


@kernel
def count_time(queue, params, leaf, now):
    """Up to `now`, the units on the device have been there."""
    if params.dynamic_pending_ns > 0:
        queue.control[leaf, window.AREA_NS] += queue.n_pending[leaf] * (now - queue.control[leaf, window.COUNTED_AT])
        queue.control[leaf, window.COUNTED_AT] = now


@kernel
def regulate(queue, params, leaf):
    """A unit has been completed, and is still among those pending: rule 8."""
    control = queue.control
    control[leaf, window.N_DONE] += 1
    if queue.n_waiting[leaf] > 0 and queue.n_pending[leaf] >= control[leaf, window.PLACES]:
        control[leaf, window.LACKED] = 1
    if control[leaf, window.N_DONE] < params.dynamic_window:
        return
    if control[leaf, window.AREA_NS] > params.dynamic_pending_ns * params.dynamic_window:
        min_places = min(params.min_pending, params.max_pending)
        control[leaf, window.PLACES] = max(min_places, control[leaf, window.PLACES] - 1)
    elif control[leaf, window.LACKED]:
        control[leaf, window.PLACES] = min(params.max_pending, control[leaf, window.PLACES] + 1)
    control[leaf, window.N_DONE] = control[leaf, window.AREA_NS] = control[leaf, window.LACKED] = 0
