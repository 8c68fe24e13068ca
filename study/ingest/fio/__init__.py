"""fio 2.0.10 to 3.42: JSON and JSON+, terse, for people, and the logs of bandwidth, response time, I/O rate and histograms.

    json    text may stand before the first brace; of several documents (--status-interval) the last counts
    terse   `--minimal`, versions 3 to 5; response times in us
    normal  for people, the default; rounded
    log     NAME_bw.N.log and others: ms, value, direction, block size, and what later versions add

In `clat_ns` (from 2.99 on) times are in ns, in `clat` before it in us. `bw` is in KiB/s. `timestamp` is the end of the run.
`group_reporting` merges jobs into the first one and leaves a job without a name, which is passed over.
Formats: HOWTO.rst and stat.c of fio.
"""
