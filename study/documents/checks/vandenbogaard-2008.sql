-- check: arrays
-- question: Are the arrays as many as their two kinds together?
-- against: own figures
SELECT 'pg-arrays' AS claim_id, '' AS part, said('pg-arrays') AS said, '1' AS unit,
       plus(condition('vandenbogaard-2008/seven-arrays', 'small_caches'),
            condition('vandenbogaard-2008/seven-arrays', 'large_caches')) AS shown;

-- check: disks
-- question: Are the disks for the log and for the rest all the disks?
-- against: own figures
SELECT 'pg-disks' AS claim_id, '' AS part, said('pg-disks') AS said, '1' AS unit,
       plus(condition('vandenbogaard-2008/ufs-data-five-disks', 'log_disks'),
            condition('vandenbogaard-2008/ufs-data-five-disks', 'data_disks')) AS shown;

-- check: memory
-- question: Do shared buffers and the file cache fit in memory?
-- against: own figures
SELECT 'pg-memory' AS claim_id, '' AS part, 'GB' AS unit,
       at_most(said('pg-memory').high) AS said,
       plus(condition('vandenbogaard-2008/ufs-nine-disks', 'shared_buffers_gb'),
            scaled(times(condition('vandenbogaard-2008/ufs-nine-disks', 'memory_gb'),
                         condition('vandenbogaard-2008/ufs-nine-disks', 'segmap_percent')), 1 / 100)) AS shown;

-- check: five-times
-- question: How many times the bytes of UFS does ZFS write per second, on one stripe of nine disks?
-- against: own figures
SELECT 'pg-bytes' AS claim_id, '' AS part, said('pg-bytes') AS said, '1' AS unit,
       ratio(fig('vandenbogaard-2008/zfs-nine-disks-128k', 'write.bandwidth'),
             fig('vandenbogaard-2008/ufs-nine-disks', 'write.bandwidth')) AS shown;

-- check: bigger-when-split
-- question: Is the ratio bigger still where the log has disks of its own?
-- against: own figures
SELECT 'pg-split' AS claim_id, '' AS part, '1' AS unit,
       at_least(ratio(fig('vandenbogaard-2008/zfs-nine-disks-128k', 'write.bandwidth'),
                      fig('vandenbogaard-2008/ufs-nine-disks', 'write.bandwidth')).mid) AS said,
       ratio(fig('vandenbogaard-2008/zfs-data-five-disks-128k', 'write.bandwidth'),
             fig('vandenbogaard-2008/ufs-data-five-disks', 'write.bandwidth')) AS shown;

-- check: io-growth
-- question: More bytes in fewer writes: does a write grow as much as the record did, from 8K to 128K?
-- against: own figures
-- remark: if UFS wrote 8K at a time
SELECT 'pg-ios' AS claim_id, '' AS part, '1' AS unit,
       ratio(condition(zfs, 'record_size_kb'), condition(zfs, 'database_write_kb')) AS said,
       times(ratio(fig(zfs, 'write.bandwidth'), fig('vandenbogaard-2008/ufs-nine-disks', 'write.bandwidth')),
             fig(zfs, 'write.rate_divided_by')) AS shown
FROM (VALUES ('vandenbogaard-2008/zfs-nine-disks-128k')) AS r(zfs);

-- check: record-growth
-- question: If every write of 8 KB became one of 128 KB, did the bytes written to the data disks grow as much?
-- against: own figures
-- reading: differs only if each write goes to disk by itself; less is right if several fall on one record before
SELECT 'pg-record-mistake' AS claim_id, '' AS part, '1' AS unit,
       ratio(condition(zfs, 'record_size_kb'), condition(zfs, 'database_write_kb')) AS said,
       ratio(fig(zfs, 'write.bandwidth'), fig('vandenbogaard-2008/ufs-data-five-disks', 'write.bandwidth')) AS shown
FROM (VALUES ('vandenbogaard-2008/zfs-data-five-disks-128k')) AS r(zfs);

-- check: phase
-- question: Do the writes of a checkpoint end within half the time between checkpoints?
-- against: own figures
SELECT 'pg-phase' AS claim_id, part, 's' AS unit, fig(run_id, 'write.phase') AS shown,
       at_most(times(condition(run_id, 'checkpoint_timeout_s'),
                     condition(run_id, 'checkpoint_completion_target_percent')).mid / 100) AS said
FROM (VALUES ('UFS', 'vandenbogaard-2008/ufs-nine-disks'),
             ('ZFS', 'vandenbogaard-2008/zfs-nine-disks-128k')) AS r(part, run_id);

-- check: minutes
-- question: Are the minutes and seconds between checkpoints the same time?
-- against: own figures
SELECT claim_id, '' AS part, said(claim_id) AS said, unit, scaled(fig(run_id, metric), factor) AS shown
FROM (VALUES ('pg-checkpoint-900', 's', 'vandenbogaard-2008/checkpoint-900s', 'checkpoint.timeout_minutes', 60),
             ('pg-checkpoint-15min', 'min', 'vandenbogaard-2008/checkpoint-900s', 'checkpoint.timeout', 1 / 60),
             ('pg-checkpoint-300', 's', 'vandenbogaard-2008/zfs-300s-15', 'checkpoint.timeout_minutes', 60))
     AS c(claim_id, unit, run_id, metric, factor);

-- check: write-time
-- question: Is the completion target's share of the time between checkpoints as long as said?
-- against: own figures
SELECT 'pg-write-time' AS claim_id, '' AS part, said('pg-write-time') AS said, 's' AS unit,
       scaled(times(fig('vandenbogaard-2008/zfs-300s-15', 'checkpoint.timeout'),
                    fig('vandenbogaard-2008/zfs-300s-15', 'checkpoint.completion_target')), 1 / 100) AS shown;

-- check: burst
-- question: Does the burst of writes last as long as the completion target asks?
-- against: own figures
-- remark: the text takes it as met
SELECT 'pg-burst' AS claim_id, '' AS part, said('pg-burst') AS said, 's' AS unit,
       scaled(times(fig('vandenbogaard-2008/zfs-300s-15', 'checkpoint.timeout'),
                    fig('vandenbogaard-2008/zfs-300s-15', 'checkpoint.completion_target')), 1 / 100) AS shown;
