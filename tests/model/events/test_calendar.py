"""The calendar of events, and the semaphores of FileBench."""

import numpy as np

from model.events.calendar import NEVER, new_calendar, next_source, set_time, settle
from model.events.queues import NOBODY
from model.events.streams import stream
from model.simulations.filebench_oltp.filebench import (
    Workload,
    draw_log_records,
    make_room,
    new_semaphores,
    post,
    take,
    wake_poster,
)

# ---- the calendar ----


def test_the_next_source_is_the_earliest_and_among_equals_the_first():
    rng, calendar = stream(3, "calendar"), new_calendar(37)
    for _ in range(2000):
        source = int(rng.random() * 37)
        set_time(calendar, source, NEVER if rng.random() < 0.2 else int(rng.random() * 50))
        assert next_source(calendar) == np.argmin(calendar.time)


def test_a_time_struck_out_at_the_beginning_of_an_event_is_settled_at_its_end():
    """Whatever the event does to other sources meanwhile, and whether its own gets another time or not."""
    rng, calendar = stream(4, "calendar"), new_calendar(37)
    for _ in range(3000):
        source = int(next_source(calendar))
        calendar.time[source] = NEVER
        for _ in range(int(rng.random() * 4)):
            changed = source if rng.random() < 0.2 else int(rng.random() * 37)
            set_time(calendar, changed, NEVER if rng.random() < 0.2 else int(rng.random() * 50))
        settle(calendar, source)
        assert next_source(calendar) == np.argmin(calendar.time)


# ---- where writes go ----


def test_the_last_place_of_the_log_is_never_written():
    """A place is a share of what lies before the last one, rounded down (spec 9.2). Of a log of two writes and a
    half that is two places."""
    workload = Workload()
    n = workload.log_bytes // workload.log_write_bytes
    for log_bytes, n_places in ((workload.log_bytes, n - 1), (5 * workload.log_write_bytes // 2, 2),
                                (workload.log_write_bytes, 1)):
        sized = workload._replace(log_bytes=log_bytes)
        places = draw_log_records(sized, 1, 4000) * sized.record_bytes // sized.log_write_bytes
        assert np.unique(places).tolist() == list(range(n_places))


# ---- the semaphores ----


def test_posters_sleep_without_room_and_go_on_in_the_order_they_came():
    semaphores = new_semaphores(Workload(n_shadows=4, n_writers=1, writer_posts=3, writer_high_water=2))
    assert not take(semaphores, 1)
    assert [post(semaphores, 1, poster) for poster in range(4)] == [(True, False), (True, False), (False, False),
                                                                    (False, False)]
    semaphores.asleep[1] = 0
    make_room(semaphores, 1)
    assert [wake_poster(semaphores, 1) for _ in range(3)] == [2, 3, NOBODY]
    assert take(semaphores, 1)
    assert semaphores.posts[1] == 1
    assert semaphores.room[1] == 2 + 3 - 4


def test_the_last_post_wanted_wakes_the_taker():
    semaphores = new_semaphores(Workload(n_shadows=4, n_writers=1, writer_posts=3, writer_high_water=9))
    assert not take(semaphores, 1)
    assert [post(semaphores, 1, 0)[1] for _ in range(4)] == [False, False, True, False]
    assert semaphores.posts[1] == 1
