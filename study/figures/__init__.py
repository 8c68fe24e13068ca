"""Figures, one module for each subject. `study.drawing` holds the style and draws them into files.

    00  audit                               08  ladders
    01  filebench_oltp, vdev_cache          09  checkpoints
    02  sequential_reads                    10  advice
    03  free_space                          13  dedup
    04  order_entry                         14  alignment
    05  correlation                         15  tiers
    06  exchange                            90  vdev_cache, allocator, disks
    07  ladders                             91  trials

`captions` makes first sentences of captions. `predictions` has what notebooks with an ensemble share. `what_if` has two
changes of 2007 that were never built, for `01`. `short_runs` is for sliders of `01` and `02`.
"""
