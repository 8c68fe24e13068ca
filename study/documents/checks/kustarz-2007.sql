-- check: gain
-- question: By how many per cent did OLTP operations per second rise with the fix?
-- against: own figures
SELECT claim_id, '' AS part, said(claim_id) AS said, '%' AS unit,
       percent_more(fig('kustarz-2007/oltp-with-fix', 'summary.rate'),
                    fig('kustarz-2007/oltp-without-fix', 'summary.rate')) AS shown
FROM (VALUES ('oltp-gain'), ('oltp-gain-cr')) AS c(claim_id);

-- check: loss
-- question: By how many per cent did sequential reads fall with the cache off?
-- against: own figures
SELECT 'seqread-loss' AS claim_id, '' AS part, said('seqread-loss') AS said, '%' AS unit,
       percent_less(fig('kustarz-2007/seqread-cache-off', 'summary.rate'),
                    fig('kustarz-2007/seqread-cache-on', 'summary.rate')) AS shown;

-- check: loss-reversed
-- question: Is the loss right if it is taken the other way round, as the gain from off to on?
-- against: own figures
SELECT 'seqread-loss' AS claim_id, '' AS part, said('seqread-loss') AS said, '%' AS unit,
       percent_more(fig('kustarz-2007/seqread-cache-on', 'summary.rate'),
                    fig('kustarz-2007/seqread-cache-off', 'summary.rate')) AS shown;

-- check: quoted
-- question: Does the sentence quote the transcript's throughput?
-- against: own figures
-- remark: a number cut off rather than rounded differs by rule
SELECT claim_id, '' AS part, said(claim_id) AS said, 'MB/s' AS unit, fig(run_id, 'summary.bandwidth') AS shown
FROM (VALUES ('seqread-on', 'kustarz-2007/seqread-cache-on'),
             ('seqread-off', 'kustarz-2007/seqread-cache-off')) AS c(claim_id, run_id);

-- check: summary-rate
-- question: Is the rate in the IO Summary the sum of the rows that issue or await I/O?
-- against: own figures
-- remark: the summary counts waits for I/O as operations
SELECT workload || '-rate' AS claim_id, part, fig(run_id, 'summary.rate') AS said, 'op/s' AS unit,
       total(list(figure)) AS shown
FROM transcript JOIN printed USING (run_id)
WHERE quantity = 'rate' AND (subject IN ('shadowread', 'dbwrite-a', 'lg-write', 'dbwr-aiowait', 'lg-aiowait')
                             OR subject LIKE 'seqread_')
GROUP BY workload, part, run_id;

-- check: summary-bandwidth
-- question: Is the bandwidth in the IO Summary the sum of the rows that move data?
-- against: own figures
SELECT CASE workload WHEN 'oltp' THEN 'oltp-bandwidth' ELSE 'seqread-rate' END AS claim_id, part,
       fig(run_id, 'summary.bandwidth') AS said, 'MB/s' AS unit, total(list(figure)) AS shown
FROM transcript JOIN printed USING (run_id)
WHERE quantity = 'bandwidth' AND (subject IN ('shadowread', 'dbwrite-a', 'lg-write') OR subject LIKE 'seqread_')
GROUP BY workload, part, run_id;

-- check: summary-reads
-- question: Is the read rate in the IO Summary the sum of the rows that read?
-- against: own figures
SELECT CASE workload WHEN 'oltp' THEN 'oltp-reads-and-writes' ELSE 'seqread-rate' END AS claim_id, part,
       fig(run_id, 'summary.read_rate') AS said, 'op/s' AS unit, total(list(figure)) AS shown
FROM transcript JOIN printed USING (run_id)
WHERE quantity = 'rate' AND (subject = 'shadowread' OR subject LIKE 'seqread_')
GROUP BY workload, part, run_id;

-- check: summary-writes
-- question: Is the write rate in the IO Summary the sum of the rows that write?
-- against: own figures
SELECT 'oltp-reads-and-writes' AS claim_id, part, fig(run_id, 'summary.write_rate') AS said, 'op/s' AS unit,
       plus(fig(run_id, 'dbwrite-a.rate'), fig(run_id, 'lg-write.rate')) AS shown
FROM transcript WHERE workload = 'oltp';

-- check: summary-response
-- question: Is the latency in the IO Summary the mean over all operations that it counts?
-- against: own figures
-- remark: in the OLTP runs it is that of the reads alone
SELECT workload || '-response' AS claim_id, part, fig(run_id, 'summary.response') AS said, 'ms' AS unit,
       ratio(total(list(times(rate.figure, response.figure))), total(list(rate.figure))) AS shown
FROM transcript JOIN printed AS rate USING (run_id) JOIN printed AS response USING (run_id, subject)
WHERE rate.quantity = 'rate' AND response.quantity = 'response'
  AND (subject IN ('shadowread', 'dbwrite-a', 'lg-write', 'dbwr-aiowait', 'lg-aiowait') OR subject LIKE 'seqread_')
GROUP BY workload, part, run_id;

-- check: total-operations
-- question: Are all operations of a run the rate times the time between its first and last time stamp?
-- against: own figures
SELECT workload || '-ops' AS claim_id, part, fig(run_id, 'summary.ops') AS said, '1' AS unit,
       times(fig(run_id, 'summary.rate'), minus(fig(run_id, 'run.end'), fig(run_id, 'run.begin'))) AS shown
FROM transcript;

-- check: length
-- question: Does a run last as long as it says, if all operations are divided by their rate?
-- against: own figures
-- remark: the rate is taken over about a second more than the run is said to last
SELECT workload || '-length' AS claim_id, part, fig(run_id, 'run.length') AS said, 's' AS unit,
       ratio(fig(run_id, 'summary.ops'), fig(run_id, 'summary.rate')) AS shown
FROM transcript;

-- check: io-size
-- question: Is bandwidth the rate times the size of a read or write?
-- against: own figures
SELECT claim_id, part, fig(run_id, subject || '.bandwidth') AS said, 'MB/s' AS unit,
       scaled(times(fig(run_id, subject || '.rate'), condition(run_id, 'read_size_kb')), 1 / 1024) AS shown
FROM transcript JOIN (VALUES ('oltp', 'oltp-read-bandwidth', 'shadowread'), ('oltp', 'oltp-write-bandwidth', 'dbwrite-a'),
                             ('seqread', 'seqread-stream1', 'seqread1'), ('seqread', 'seqread-stream2', 'seqread2'),
                             ('seqread', 'seqread-stream3', 'seqread3'), ('seqread', 'seqread-stream4', 'seqread4'))
     AS c(workload, claim_id, subject) USING (workload);

-- check: log-bandwidth
-- question: Does one log write of 256 KB for 3200 reads give the bandwidth of the log?
-- against: the workload's script
-- remark: 256 KB and 3200 are from the workload's script, not from the document
SELECT 'oltp-log-bandwidth' AS claim_id, part, fig(run_id, 'lg-write.bandwidth') AS said, 'MB/s' AS unit,
       scaled(fig(run_id, 'shadow-post-lg.rate'), 0.25 / 3200) AS shown
FROM transcript WHERE workload = 'oltp';

-- check: reads-per-log-write
-- question: Is there one log write for 3200 reads?
-- against: the workload's script
-- remark: 3200 is from the workload's script, not from the document
SELECT 'oltp-log-rate' AS claim_id, part, fig(run_id, 'lg-write.rate') AS said, 'op/s' AS unit,
       scaled(fig(run_id, 'shadow-post-lg.rate'), 1 / 3200) AS shown
FROM transcript WHERE workload = 'oltp';

-- check: writes-per-read
-- question: Are there as many writes as reads?
-- against: the workload's script
-- remark: 1:1 by the workload's script; the ends of a run leave about two thousand reads without their writes
SELECT 'oltp-write-rate' AS claim_id, part, fig(run_id, 'shadowread.rate') AS said, 'op/s' AS unit,
       fig(run_id, 'dbwrite-a.rate') AS shown
FROM transcript WHERE workload = 'oltp';

-- check: writes-per-wake
-- question: Does a database writer write 100 times when it is woken?
-- against: the workload's script
-- remark: 100 is from the workload's script, not from the document
SELECT 'oltp-wake-rate' AS claim_id, part, exactly(100) AS said, '1' AS unit,
       ratio(fig(run_id, 'dbwrite-a.rate'), fig(run_id, 'dbwr-block.rate')) AS shown
FROM transcript WHERE workload = 'oltp';

-- check: posts-per-wake
-- question: Do 1000 posts wake each of the ten database writers once?
-- against: the workload's script
-- remark: 1000 and ten are from the workload's script, not from the document
SELECT 'oltp-wake-rate' AS claim_id, part, exactly(1000) AS said, '1' AS unit,
       scaled(ratio(fig(run_id, 'shadow-post-dbwr.rate'), fig(run_id, 'dbwr-block.rate')), 10) AS shown
FROM transcript WHERE workload = 'oltp';

-- check: little-shadows
-- question: Little's law: do the rows of a shadow process hold at most all of them, as rate times time in each row?
-- against: a law
-- remark: what is missing to 200 is time between the rows, which no row counts
SELECT 'oltp-processes' AS claim_id, part, at_most(fig(run_id, 'shadow.processes').mid) AS said, '1' AS unit,
       total(list(processes)) AS shown
FROM occupied WHERE subject IN ('shadowread', 'shadowhog', 'shadow-post-lg', 'shadow-post-dbwr') GROUP BY part, run_id;

-- check: little-writers
-- question: Little's law: do the rows of a database writer hold at most all ten?
-- against: a law
-- remark: ten writers: from the workload's script, not from the document
SELECT 'oltp-wake-time' AS claim_id, part, at_most(10) AS said, '1' AS unit, total(list(processes)) AS shown
FROM occupied WHERE subject IN ('dbwrite-a', 'dbwr-hog', 'dbwr-block', 'dbwr-aiowait') GROUP BY part;

-- check: little-log
-- question: Little's law: do the rows of the log writer hold at most the one there is?
-- against: a law
-- remark: one log writer: from the workload's script; a rate printed as 1 or 2 says little
SELECT 'oltp-log-block' AS claim_id, part, at_most(1) AS said, '1' AS unit, total(list(processes)) AS shown
FROM occupied WHERE subject IN ('lg-write', 'lg-block', 'lg-aiowait') GROUP BY part;

-- check: little-streams
-- question: Little's law: is each stream one thread that always reads?
-- against: a law
SELECT replace(subject, 'seqread', 'seqread-response') AS claim_id, part, '1' AS unit,
       exactly(fig(run_id, subject || '.threads').mid) AS said, processes AS shown
FROM occupied WHERE subject LIKE 'seqread_';

-- check: cpu-sum
-- question: Do the rows that are I/O use at most as many processors as the IO Summary says?
-- against: own figures
-- remark: the summary is what all processors did, less the rows that are no I/O, for each read and write (FileBench, stats.c)
SELECT workload || '-cpu' AS claim_id, part, '1' AS unit,
       at_most((scaled(times(fig(run_id, 'summary.cpu'), plus(fig(run_id, 'summary.read_rate'), fig(run_id, 'summary.write_rate'))), 1e-6)).high) AS said,
       scaled(total(list(times(rate.figure, cpu.figure))), 1e-6) AS shown
FROM transcript JOIN printed AS rate USING (run_id) JOIN printed AS cpu USING (run_id, subject)
WHERE rate.quantity = 'rate' AND cpu.quantity = 'cpu' AND subject NOT IN
      ('summary', 'shadowhog', 'shadow-post-lg', 'shadow-post-dbwr', 'dbwr-hog', 'dbwr-block', 'lg-block')
GROUP BY workload, part, run_id;

-- check: cpu-cores
-- question: Utilisation law: does the CPU time of all operations leave room on four cores?
-- against: a law
-- remark: four cores: from descriptions of the machine, not from the document; rows that are no I/O are not in the summary
SELECT workload || '-cpu' AS claim_id, part, at_most(4) AS said, '1' AS unit,
       plus(scaled(times(fig(run_id, 'summary.cpu'), plus(fig(run_id, 'summary.read_rate'), fig(run_id, 'summary.write_rate'))), 1e-6),
            scaled(total(list(CASE WHEN subject IN
                ('shadowhog', 'shadow-post-lg', 'shadow-post-dbwr', 'dbwr-hog', 'dbwr-block', 'lg-block')
                THEN times(rate.figure, cpu.figure) ELSE exactly(0) END)), 1e-6)) AS shown
FROM transcript JOIN printed AS rate USING (run_id) JOIN printed AS cpu USING (run_id, subject)
WHERE rate.quantity = 'rate' AND cpu.quantity = 'cpu' AND subject NOT LIKE 'limit%'
GROUP BY workload, part, run_id;

-- check: prealloc-clock
-- question: Did writing the files take as long as the transcript says, by its own time stamps?
-- against: own figures
-- remark: FileBench seems to round up to the next second
SELECT 'oltp-prealloc' AS claim_id, part, fig(run_id, 'datafiles.prealloc_time') AS said, 's' AS unit,
       minus(fig(run_id, 'datafiles.prealloc_end'), fig(run_id, 'datafiles.prealloc_begin')) AS shown
FROM transcript WHERE workload = 'oltp';

-- check: inflated
-- question: Is the largest read that the code inflates below the limit that is named?
-- against: the code
-- remark: sizes are whole sectors of 512 bytes; the code's limit is 2^14 bytes
-- reading: agrees if "under" takes the limit in, as the code does; differs if it leaves it out
SELECT 'cache-max' AS claim_id, '' AS part, 'KB' AS unit, at_most(said('cache-max').high - 0.5) AS said,
       exactly(pow(2, 14) / 1024) AS shown;

-- check: line
-- question: Is that the size of a line of the vdev cache?
-- against: the code
-- remark: the code's size is 2^16 bytes
SELECT 'cache-line' AS claim_id, '' AS part, 'KB' AS unit, said('cache-line') AS said, exactly(pow(2, 16) / 1024) AS shown;
