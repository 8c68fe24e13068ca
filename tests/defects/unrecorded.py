"""Defects in rules of the allocator that no recording tells, and the story that tells each. Run without the compiler: prints
{defect: what went wrong in its story} or null.

    NUMBA_DISABLE_JIT=1 PYTHONPATH=.:tests python -m defects.unrecorded
"""

import json

from drivers import metaslab_stories
from model.zfs.metaslab import gang, metaslab_class, sync
from model.zfs.metaslab.metaslab_group import weigh
from model.zfs.metaslab.state import LOG, NORMAL, OPEN, alloc_map, free_map
from model.zfs.space.free_map import space
from support.defects import several


def quartered(pool, vdev, shift, real=metaslab_class._distance):
    return real(pool, vdev, 2 * shift - pool.params.ditto_shift)


def in_front_of_the_rotor(pool, vdev, txg, real=metaslab_class.add_vdev):
    rotor = pool.rotor[NORMAL]
    before = pool.vdevs.following.tolist().index(rotor)
    pool.rotor[NORMAL] = before
    real(pool, vdev, txg)
    pool.rotor[NORMAL] = rotor


def as_in_a_later_txg(pool, vdev, txg, real=metaslab_class.add_vdev):
    real(pool, vdev, txg + 1)


def log_blocks_are_data(pool, which, txg, psize, n_copies, avoids, real=metaslab_class.allocate_from):
    return real(pool, NORMAL if which == LOG else which, txg, psize, n_copies, avoids)


def only_what_changed_is_written(pool, m, txg, real=sync._sync):
    if space(pool, alloc_map(pool, m, txg)) or space(pool, free_map(pool, m, txg)):
        real(pool, m, txg)


def all_are_weighed(pool, vdev):
    first = pool.vdevs.first_ms[vdev]
    for m in range(first, first + pool.vdevs.n_ms[vdev]):
        weigh(pool, m)


DEFECTS = {  # defect: (story, what is replaced by what)
    "distances of copies are quartered, not halved": (
        "the_distance_is_halved_until_the_copies_fit", (metaslab_class, "_distance", quartered)),
    "log vdevs give no blocks": (
        "a_hint_is_followed_and_avoided_in_the_log", (metaslab_class, "allocate_from", log_blocks_are_data)),
    "a log vdev is compared with the log class in every build": (
        "to_hg_10921_a_log_vdev_is_compared_with_the_normal_class", (metaslab_class, "ROOT_VDEV", -1)),
    "a vdev that is added has room at once": (
        "a_vdev_that_is_added_has_its_turn_next_and_room_only_when_the_txg_is_synced", (metaslab_class, "ADDED", OPEN)),
    "a vdev that is added in the txg of creation has no room yet": (
        "a_vdev_that_is_added_in_the_txg_of_creation_has_room_at_once", (metaslab_stories, "add_vdev", as_in_a_later_txg)),
    "a vdev is added in front of the rotor": (
        "a_vdev_is_added_behind_the_rotor", (metaslab_stories, "add_vdev", in_front_of_the_rotor)),
    "all metaslabs are weighed anew": (
        "the_bonus_area_reaches_up_to_the_highest_metaslab_that_was_activated_and_counts_at_the_end_of_a_txg",
        (sync, "_reassess", all_are_weighed)),
    "what did not change is written in no build": (
        "before_hg_10921_a_metaslab_is_written_though_nothing_changed", (sync, "_sync", only_what_changed_is_written)),
    "members of gangs are thirds in every build": ("members_are_halves_of_the_block_or_thirds", (gang, "HALVES", -1)),
}


def what_goes_wrong(story, *defects):
    with several(defects):
        return metaslab_stories.outcome(metaslab_stories.STORIES[story])


if __name__ == "__main__":
    print(json.dumps({name: what_goes_wrong(*of) for name, of in DEFECTS.items()}))
