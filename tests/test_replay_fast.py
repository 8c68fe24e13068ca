"""Recorded decisions of the real allocator, replayed with the fast engine."""

import pytest

from model.pickers import VARIANTS
from study.errors import UserError
from study.project import DATA
from study.replay_alloc import recorded_with, replay_map

RECORDED = [(path, variant, offsets) for path in sorted((DATA / "traces" / "alloc").glob("*__ops.parquet"))
            if not path.name.startswith("l2") for variant, offsets in recorded_with(path)]


@pytest.mark.parametrize(("path", "variant", "offsets"), RECORDED, ids=lambda part: getattr(part, "stem", part))
def test_auto_is_fast_exactly_where_no_choice_depends_on_a_trees_shape(path, variant, offsets):
    """And has no difference either way; `fast` may have some where `auto` declines."""
    exact, fast, auto = (replay_map(path, variant, offsets, engine=engine) for engine in ("exact", "fast", "auto"))
    ambiguous = fast.found["choices in which the engines may differ"]
    assert auto.engine == ("exact" if ambiguous else "fast")
    assert auto.differences == exact.differences == 0
    assert fast.differences == 0 or ambiguous
    if path.name.startswith("rand4k"):
        assert auto.engine == "fast"
        assert {name: fast.found[name] for name in exact.found} == exact.found


def test_blocks_of_one_size_and_of_mixed_sizes_are_recorded_of_every_build():
    for scenario in ("rand4k", "mix"):
        assert {variant for path, variant, _ in RECORDED if path.name.startswith(scenario)} == set(VARIANTS)


def test_maps_of_too_many_blocks_are_not_for_the_fast_engine(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq
    path = tmp_path / "large__ops.parquet"
    pq.write_table(pa.table({"op": [4, 0], "size512": [9, 1], "arg": [2**25, -1]}), path)
    assert replay_map(path, "103_ff", engine="auto").engine == "exact"
    with pytest.raises(UserError, match="16777216 blocks of 512 B"):
        replay_map(path, "103_ff", engine="fast")
