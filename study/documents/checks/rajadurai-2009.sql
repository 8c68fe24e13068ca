-- check: slide-3
-- question: Does the opening slide quote the ladder's own table?
-- against: own figures
SELECT claim_id, '' AS part, said(claim_id) AS said, 'TPS' AS unit, fig('rajadurai-2009/' || rung, 'transactions.rate') AS shown
FROM (VALUES ('pgbench-first-said', 'pgbench-1'), ('pgbench-last-said', 'pgbench-6'),
             ('sysbench-rw-first-said', 'sysbench-rw-1'), ('sysbench-rw-last-said', 'sysbench-rw-5'),
             ('sysbench-ro-first-said', 'sysbench-ro-1'), ('sysbench-ro-last-said', 'sysbench-ro-5')) AS c(claim_id, rung);

-- check: commit-revolution
-- question: Has every client time for a whole revolution of the log's disk in each transaction?
-- against: a law
-- remark: by Little's law the time of a transaction is clients over throughput
-- reading: differs only if every commit waits a whole revolution; the mean wait is half of one, and one flush can serve several
SELECT run.claim_id, '' AS part, 'ms' AS unit,
       at_least(60000 / condition(run_id, 'disk_rpm').mid) AS said,
       scaled(ratio(condition(run_id, 'clients'), fig(run_id, 'transactions.rate')), 1000) AS shown
FROM (SELECT claim_id, 'rajadurai-2009/' || claim_id AS run_id
      FROM (VALUES ('pgbench-1'), ('pgbench-2'), ('pgbench-3')) AS c(claim_id)) AS run;

-- check: log-read-only
-- question: Does a separate intent log leave a read-only test as it was?
-- against: a law
-- remark: such a test commits nothing that would have to reach a log
SELECT 'sysbench-ro-4' AS claim_id, '' AS part, exactly(1) AS said, '1' AS unit,
       ratio(fig('rajadurai-2009/sysbench-ro-4', 'transactions.rate'),
             fig('rajadurai-2009/sysbench-ro-3', 'transactions.rate')) AS shown;

-- check: read-only-faster
-- question: Is the read-only test at least as fast as the read-write test on the same rung?
-- against: a law
SELECT 'sysbench-rw-' || rung AS claim_id, '' AS part, 'TPS' AS unit,
       at_least(fig('rajadurai-2009/sysbench-rw-' || rung, 'transactions.rate').low) AS said,
       fig('rajadurai-2009/sysbench-ro-' || rung, 'transactions.rate') AS shown
FROM (VALUES ('1'), ('2'), ('3'), ('4'), ('5')) AS r(rung);

-- check: price
-- question: Does a device cost the same by its I/Os per second as by its gigabytes?
-- against: own figures
SELECT 'price-' || technology AS claim_id, '' AS part, '$' AS unit,
       times(fig('rajadurai-2009/price-table', technology || '.iops'),
             fig('rajadurai-2009/price-table', technology || '.price_per_iops')) AS said,
       times(fig('rajadurai-2009/price-table', technology || '.capacity'),
             fig('rajadurai-2009/price-table', technology || '.price_per_gb')) AS shown
FROM (VALUES ('capacity-hdd'), ('performance-hdd'), ('ssd-write'), ('ssd-read'), ('dram')) AS t(technology);

-- check: in-flight
-- question: Little's law: can the I/Os per second be had one at a time at the latency named?
-- against: a law
-- remark: shown is how many must be in flight
-- reading: agrees if the rate was taken with that many in flight, as a device may; differs if one at a time
SELECT 'speed-' || technology AS claim_id, '' AS part, at_most(1) AS said, '1' AS unit,
       scaled(times(fig('rajadurai-2009/price-table', technology || '.iops'),
                    fig('rajadurai-2009/price-table', technology || '.response')), 1e-6) AS shown
FROM (VALUES ('cloud'), ('capacity-hdd'), ('performance-hdd'), ('ssd-write'), ('ssd-read'), ('dram')) AS t(technology);

-- check: differential
-- question: Is that the factor between large disks and memory in the deck's own table?
-- against: own figures
-- reading: the slide does not say between which two, nor of what: latency gives more, the rate gives less
SELECT 'differential' AS claim_id, part, said('differential') AS said, '1' AS unit,
       CASE part WHEN 'latency' THEN ratio(fig('rajadurai-2009/price-table', 'capacity-hdd.response'),
                                           fig('rajadurai-2009/price-table', 'dram.response'))
                 ELSE ratio(fig('rajadurai-2009/price-table', 'dram.iops'),
                            fig('rajadurai-2009/price-table', 'capacity-hdd.iops')) END AS shown
FROM (VALUES ('latency'), ('I/Os per second')) AS p(part);

-- check: compression
-- question: Is the least saving the eighth that the code asks for?
-- against: the code
-- remark: the rule is from the code of the time, not from the document
SELECT 'compression-least' AS claim_id, '' AS part, said('compression-least') AS said, '%' AS unit, exactly(100 / 8) AS shown;
