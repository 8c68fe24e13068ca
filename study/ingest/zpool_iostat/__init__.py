"""zpool iostat of OpenZFS 0.7 to 2.4: the default, `-v -l -q` together, `-w`, `-r`; human or `-p`, `-H`, `-T u`, `-T d`.

    default     alloc free, operations and bandwidth of reads and writes
    -l          0.7: 9 columns more; from 0.8 trim, from 2.2 rebuild beside scrub
    -q          10, 12 or 14 more: pending and active requests at the end of the interval
    -w, -r      histograms of waits and of request sizes; a first report of counts since the pool was imported, then rates

Fields are split at blanks, and their number tells the layout. `-w` labels are upper ends of a bucket, `-r` labels lower
ones. Human numbers are rounded down to a unit, so `-p` is better. The first report is kept as a series of its own.
Format: cmd/zpool/zpool_main.c of OpenZFS.
"""
