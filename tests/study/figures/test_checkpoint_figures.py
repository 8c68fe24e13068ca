"""Figures of the checkpoints show the runs they are given, and what was published beside them."""
import numpy as np
import pandas as pd
import pytest

from study import drawing
from study.documents import claims
from study.drawing import render
from study.experiments.postgres_2008.curves import Run
from study.figures import checkpoints as pictures


def run(level: float, step: int = 8, seconds: int = 2104) -> Run:
    n = seconds // step
    wave = np.tile(np.where(np.arange(300 // step + 1) < 6, 3.0, 1.0), n)[:n] * level
    written = {"data": wave, "log": 2 * wave}
    return Run(
        name="zfs-300s-15", step_s=step, tpm=np.full(n, 5e4), read_mb={"data": wave}, written_mb=written,
        writes={"data": 50 * wave}, counts={}, mean_ms=1.0, busy=0.5, by_checkpointer=np.zeros(n),
        pages_mb=0.8 * wave, log_mb=0.1 * wave)


RUNS = {"UFS": run(5.0), "ZFS": run(20.0)}
SCORES = pd.DataFrame({"claim": ["pg-one", "pg-none"], "published": [10.0, 0.0], "unfitted 5 %": [5.0, 0.0],
                       "unfitted 50 %": [10.0, 0.0], "unfitted 95 %": [20.0, 1.0], "fitted 5 %": [9.0, None],
                       "fitted 50 %": [10.0, None], "fitted 95 %": [11.0, None], "left, low": [5.0, None],
                       "left, high": [20.0, None], "grade": ["consistent", "predicted"]})
TARGETS = pd.DataFrame([("UFS", 15, 3e4, 1e4), ("ZFS", 15, 5e4, 4e4), ("ZFS", 85, 4e4, 3e4)],
                       columns=["what", "target", "tpm", "low"])


def lines(axes):
    return {line.get_label(): line for line in axes.lines}


def test_a_line_for_each_run_and_what_was_published():
    panels = pictures.over_time(RUNS, "data", {"written": [(900, 1100, 30, "UFS 30")]}).axes
    assert [set(lines(axes)) >= set(RUNS) for axes in panels] == [True] * 3
    assert lines(panels[0])["ZFS"].get_ydata() == pytest.approx(50)
    assert [text.get_text() for text in panels[1].texts] == ["UFS 30"]


def test_reads_are_drawn_on_a_logarithmic_axis_with_their_marks():
    axes = pictures.reads(RUNS, [(1500, 200, "here")]).axes[0]
    assert axes.get_yscale() == "log"
    assert axes.lines[-1].get_ydata()[0] == 200
    assert axes.texts[0].get_text() == "here"


@pytest.mark.parametrize(("mark", "above"), [(5, True), (9, False)])
def test_words_stand_above_their_mark_unless_a_line_is_there(mark, above):
    level = run(10.0)._replace(written_mb={"data": np.full(263, 10.0)})
    panel = pictures.over_time({"ZFS": level}, "data", {"written": [(900, 1100, mark, "ZFS")]}).axes[1]
    box, of_line = panel.texts[0].get_window_extent(), panel.transData.transform((0, 10))[1]
    assert not box.y0 < of_line < box.y1
    assert (box.y0 > panel.transData.transform((0, mark))[1]) == above


def test_the_mean_checkpoint_is_as_long_as_the_time_between_two():
    above, below = pictures.one_checkpoint(RUNS, 296, 70, 45, "ZFS").axes
    assert max(lines(above)["UFS"].get_xdata()) == pytest.approx(292)
    assert max(lines(below)["ZFS"].get_xdata()) == pytest.approx(292)


def test_the_published_burst_falls_in_a_straight_line_to_where_the_run_ends_up():
    """So only its beginning is a published number."""
    below = pictures.one_checkpoint(RUNS, 296, 70, 45, "ZFS").axes[1]
    published = lines(below)["published: up to 45, then linear"]
    assert published.get_xdata().tolist() == [0, 70, 296]
    assert published.get_ydata().tolist() == [45, 45, lines(below)["ZFS"].get_ydata()[-1]]
    assert lines(below)["ZFS: pages"].get_ydata() == pytest.approx(8 * lines(below)["ZFS: log"].get_ydata())


def test_log_and_rest_have_a_panel_each_and_only_the_rest_has_published_marks():
    log, rest = pictures.split(PARTED, [(900, 1800, 7, "UFS 7")]).axes
    assert lines(log)["UFS"].get_ydata() == pytest.approx(2 * lines(rest)["UFS"].get_ydata(), rel=0.2)
    assert (len(log.texts), [text.get_text() for text in rest.texts]) == (0, ["UFS 7"])
    assert rest.get_yscale() == "log"


def test_of_runs_beside_the_others_only_throughput_is_shown():
    panels = pictures.over_time(RUNS, "data", {}, beside={"arrays": run(9.0)}).axes
    assert ["arrays" in lines(axes) for axes in panels] == [True, False, False]


def test_throughput_alone_has_a_line_for_each_run_and_its_mark():
    axes = pictures.throughput(RUNS, [(600, 2100, 90, "about 90")]).axes[0]
    assert lines(axes)["ZFS"].get_ydata() == pytest.approx(50)
    assert axes.lines[-1].get_ydata().tolist() == [90, 90]


def test_a_bar_for_each_target():
    axes = pictures.targets(TARGETS).axes[0]
    assert sorted(bar.get_height() for bar in axes.patches) == [30, 40, 50]


def test_claims_are_drawn_over_what_was_published_where_that_is_something():
    axes = pictures.claims(SCORES).axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["pg-one\n(consistent)"]
    assert axes.lines[-1].get_xdata()[0] == 1


def test_what_is_left_by_the_baseline_stands_below_both_other_intervals():
    *_, left = pictures.claims(SCORES).axes[0].collections
    assert left.get_label() == "draws that show the baseline"
    assert left.get_segments()[0][:, 0].tolist() == pytest.approx([0.5, 2.0])


PARTED = {name: test_run._replace(written_mb={"log pool": test_run.written_mb["log"], "data": test_run.written_mb["data"]})
          for name, test_run in RUNS.items()}
MARKS = {"tpm": [], "log": [(1800, 40, "published")]}


@pytest.mark.slow
@pytest.mark.parametrize(("draw", "data"), [
    (pictures.over_time, (RUNS, "data", {})), (pictures.reads, (RUNS, [])),
    (pictures.one_checkpoint, (RUNS, 296, 70, 45, "ZFS")), (pictures.split, (PARTED, [])), (pictures.throughput, (RUNS, [])),
    (pictures.logs, (RUNS, RUNS["ZFS"], MARKS)), (pictures.targets, (TARGETS,)), (pictures.claims, (SCORES,))])
def test_every_figure_is_drawn_at_both_widths(draw, data):
    for width in drawing.WIDTHS_IN:
        assert render(draw, *data, width=width, formats=("png",))["png"].startswith(b"\x89PNG")


def test_a_dot_for_each_run_by_what_the_arc_would_have_to_hold():
    table = pd.DataFrame({"log_gib": [9.5, 9.5, 30.5], "of_arc": [0.5, 0.9, 1.4], "reads_mb": [0.0, 0.0, 7.0]})
    axes = pictures.memory(table).axes[0]
    assert sorted(x for line in axes.lines[:-1] for x in line.get_xdata()) == [0.5, 0.9, 1.4]
    assert list(axes.lines[-1].get_xdata()) == [1, 1]


def test_every_printed_number_that_is_searched_for_has_words():
    printed = {claim.predict.replace(" ", "/", 1) for claim in claims.read() if claim.id.startswith("pg-") and claim.predict
               and "read." not in claim.predict}
    words = pictures.in_words(printed)
    assert len(words) > 10
    assert not [number for number, text in words.items() if "_" in text or "." in text]
