"""pgbench of PostgreSQL 8.3 to 19: summary, `-P` progress, log of transactions (`-l`), log of intervals.

    summary, progress   lines of standard output and standard error, in one file or two
    log                 client transaction us script epoch_s epoch_us [lag us] [retries]; a file a thread
    aggregate           epoch_s n and sums over an interval; 6, 10 or 11 columns up to 14, 15 up to 18, 16 in 19

The time in a log is when the transaction ended. With `-R` its response time counts from when it was due.
The seventh column of a log is a lag or a count of retries; the summary or a line `pgbench …` tells which.
`importer` puts together what the four modules read.
Format: doc/src/sgml/ref/pgbench.sgml and src/bin/pgbench/pgbench.c of PostgreSQL.
"""
