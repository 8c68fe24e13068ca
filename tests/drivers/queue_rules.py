"""Rules of the vdev queue, and I/Os, as Hypothesis draws them."""

from hypothesis import settings
from hypothesis import strategies as st

from drivers.queue_stories import PADDING, Leaf
from model.zfs.eras import ERAS
from model.zfs.vdev.queue import (
    DONT_AGGREGATE,
    INHERITED,
    OPTIONAL,
    READ,
    SCRUB,
    WRITE,
    VdevQueueParams,
)

K = 1024
MS = 10**6
RULES = {name: ERAS[name].queue for name in ("onnv_69", "b103", "b117", "b141")}
WHAT_IF = RULES["b141"]._replace(reserved_slots=3, dynamic_pending_ns=70 * MS, dynamic_window=4)  # both, within reach
ALL_RULES = {**RULES, "what was never built": WHAT_IF}

quick = settings(deadline=None, derandomize=True, max_examples=80)


# ---- the twin ----

places = st.integers(0, 24)
ios = st.tuples(
    st.sampled_from([0, 0, 0, 1, 2, 5]),  # completions first
    st.sampled_from([READ, WRITE, WRITE]),
    places.map(lambda place: place * 4 * K),
    st.sampled_from([4 * K, 4 * K, 8 * K, 32 * K]),
    st.sampled_from([0, 1, 63, 64, 130]),  # tick
    st.sampled_from([0, 0, 1, 4, 6]),
    st.sampled_from([0, 0, 0, PADDING, PADDING, SCRUB, DONT_AGGREGATE, OPTIONAL]),
)
rules = st.one_of(
    st.sampled_from(sorted(RULES)).map(RULES.get),
    st.fixed_dictionaries(dict(
        min_pending=st.integers(1, 3),
        max_pending=st.integers(1, 5),
        ramp_rate=st.integers(1, 3),
        time_shift=st.sampled_from([0, 6]),
        aggregation_bytes=st.sampled_from([0, 12 * K, 32 * K, 128 * K]),
        read_gap_bytes=st.sampled_from([0, 4 * K, 12 * K]),
        write_gap_bytes=st.sampled_from([0, 4 * K, 12 * K]),
        agreeing_marks=st.sampled_from([0, DONT_AGGREGATE, INHERITED]),
    )).map(lambda fields: VdevQueueParams(**fields)),
)
what_if = st.tuples(rules, st.integers(1, 34), st.fixed_dictionaries(dict(
    dynamic_pending_ns=st.sampled_from([0, 5, 20, 40, 80]).map(lambda ms: ms * MS),
    dynamic_window=st.integers(1, 5),
    cache_fill_priority=st.integers(0, 1),
))).map(lambda drawn: drawn[0]._replace(reserved_slots=min(drawn[1], drawn[0].max_pending - 1), **drawn[2]))


# ---- what the rules say, as examples ----


def queue_of(params, *ios):
    """A leaf busy with `min_pending` reads far away, where (kind, offset, bytes, priority, marks) wait."""
    leaf = Leaf(params)
    for i in range(params.min_pending):
        assert leaf.arrive(leaf.io(f"busy {i}", READ, 2**40 + i * 2**30, 8 * K, 0, 0, 0)) == [f"busy {i}"]
    for name, (kind, offset, n_bytes, priority, marks) in enumerate(ios):
        assert leaf.arrive(leaf.io(name, kind, offset, n_bytes, 0, priority, marks)) is None
    return leaf
