-- The two documents of March 2010, on the same change.

-- check: same-story
-- question: Do the two authors give the same gain?
-- against: another document
SELECT claim_id, '' AS part, said(claim_id) AS said, '%' AS unit, fig(run_id, metric) AS shown
FROM (VALUES ('roch-gain', 'lutz-2010/order-entry-change', 'throughput.gain'),
             ('roch-variability', 'lutz-2010/order-entry-change', 'variability.reduction'),
             ('exchange-gain', 'lutz-2010/order-entry-change', 'exchange.gain'),
             ('lutz-exchange', 'bourbonnais-2010/change', 'exchange.gain')) AS c(claim_id, run_id, metric);

-- check: threshold-accounts
-- question: Do the two authors give the same threshold for best fit?
-- against: another document
SELECT claim_id, '' AS part, said(claim_id) AS said, '%' AS unit, fig(run_id, 'best_fit.threshold_full') AS shown
FROM (VALUES ('lutz-threshold-before', 'bourbonnais-2010/rules-before'),
             ('lutz-threshold-after', 'bourbonnais-2010/rules-after'),
             ('threshold-before', 'lutz-2010/rules-before'),
             ('threshold-after', 'lutz-2010/rules-after')) AS c(claim_id, run_id);

-- check: doubling
-- question: Is the gain of Exchange in the text the doubling of the title?
-- against: own figures
-- reading: agrees if 200 % is what it became, twice what it was; differs if it is what was gained, as the text puts it
SELECT 'exchange-double' AS claim_id, '' AS part, said('exchange-double') AS said, '%' AS unit,
       fig('bourbonnais-2010/change', 'exchange.gain') AS shown;

-- check: slab-left
-- question: Is what is left of a slab all of it less the threshold?
-- against: own figures
SELECT 'slab-left' AS claim_id, '' AS part, said('slab-left') AS said, '%' AS unit,
       minus(exactly(100), fig('bourbonnais-2010/rules-after', 'best_fit.threshold_full')) AS shown;

-- check: slab-left-bytes
-- question: Is the share left of a slab of the size named as many megabytes as said?
-- against: own figures
SELECT 'slab-left-bytes' AS claim_id, '' AS part, said('slab-left-bytes') AS said, 'MB' AS unit,
       scaled(times(fig('bourbonnais-2010/rules-after', 'best_fit.left_free'),
                    fig('bourbonnais-2010/rules-after', 'slab.size')), 1000 / 100) AS shown;

-- check: slab-size
-- question: Is a terabyte in that many slabs as large a slab as said?
-- against: own figures
SELECT 'slab-size' AS claim_id, '' AS part, said('slab-size') AS said, 'GB' AS unit,
       ratio(exactly(1000), fig('bourbonnais-2010/rules-before', 'vdev.slabs')) AS shown;

-- check: slab-size-code
-- question: How large is a slab of a terabyte by the code's rule, the power of two above a 200th?
-- against: the code
-- remark: the rule is from the code of the time, not from the document
SELECT 'slab-size' AS claim_id, '' AS part, said('slab-size') AS said, 'GB' AS unit,
       exactly(pow(2, floor(log2(1e12 / 200)) + 1) / 1e9) AS shown;

-- check: slab-count-code
-- question: Into how many slabs does the code's rule divide a vdev, of 100 GB to 4 TB?
-- against: the code
-- remark: a slab is the power of two above a 200th, so there are 100 to 199 of them; a terabyte has 116
SELECT 'slab-count' AS claim_id, '' AS part, said('slab-count') AS said, '1' AS unit,
       {'low': min(slabs), 'mid': (min(slabs) + max(slabs)) / 2, 'high': max(slabs)} AS shown
FROM (SELECT floor(gb * 1e9 / pow(2, floor(log2(gb * 1e9 / 200)) + 1)) AS slabs FROM generate_series(100, 4000) AS v(gb));

-- check: slab-left-code
-- question: How much of a slab of a terabyte drive is left by the code's rule for its size?
-- against: the code
SELECT 'slab-left-bytes' AS claim_id, '' AS part, said('slab-left-bytes') AS said, 'MB' AS unit,
       scaled(fig('bourbonnais-2010/rules-after', 'best_fit.left_free'),
              pow(2, floor(log2(1e12 / 200)) + 1) / 1e6 / 100) AS shown;

-- check: bonus-code
-- question: How empty is a used slab whose weight, times its bonus, equals that of a fresh one?
-- against: the code
-- remark: bonus 2 before and 1.5 after are from the code; 1.5 asks for 67 % empty, or 33 % full
SELECT claim_id, '' AS part, said(claim_id) AS said, '%' AS unit, exactly(100 / bonus) AS shown
FROM (VALUES ('bonus-before', 2.0), ('bonus-after', 1.5)) AS c(claim_id, bonus);

-- check: bonus-as-shipped
-- question: And with the bonus that the code computes, 150 / 100 in integers?
-- against: the code
-- remark: the division gives 1, so that a used slab is preferred only when it is empty
SELECT 'bonus-after' AS claim_id, '' AS part, said('bonus-after') AS said, '%' AS unit, exactly(100 / (150 // 100)) AS shown;

-- check: checksum-bytes
-- question: Are that many bits that many bytes?
-- against: own figures
SELECT 'dedup-checksum' AS claim_id, '' AS part, said('dedup-checksum') AS said, 'B' AS unit,
       scaled(fig('bourbonnais-2010/dedup', 'checksum.bits'), 1 / 8) AS shown;

-- check: sha-time
-- question: How long does a checksum of the block take at the speed named?
-- against: own figures
-- remark: from all in units of 1024 to blocks in 1024 and speed in 1000; no one reading gives 1 ms and 64 us
SELECT claim_id, '' AS part, said(claim_id) AS said, unit,
       times(scaled(ratio(fig('bourbonnais-2010/dedup', block), fig('bourbonnais-2010/dedup', 'checksum.bandwidth')), factor),
             {'low': 1000 / 1024, 'mid': 1.0, 'high': 1024 / 1000}) AS shown
FROM (VALUES ('sha-128k', 'checksum.large_block', 'ms', 1), ('sha-8k', 'checksum.small_block', 'us', 1000),
             ('dedup-read-extra', 'checksum.large_block', 'ms', 1)) AS c(claim_id, block, unit, factor);

-- check: ddt-reach
-- question: For how much unique data does that memory hold entries?
-- against: own figures
SELECT claim_id, '' AS part, said(claim_id) AS said, 'TB' AS unit,
       scaled(ratio(times(fig('bourbonnais-2010/dedup', 'memory.size'), fig('bourbonnais-2010/dedup', block)),
                    fig('bourbonnais-2010/dedup', 'entry.size')), 1) AS shown
FROM (VALUES ('ddt-reach-128k', 'checksum.large_block'), ('ddt-reach-8k', 'checksum.small_block')) AS c(claim_id, block);

-- check: ddt-reach-limited
-- question: And if only the share of memory named for metadata may hold them?
-- against: own figures
-- reading: differs if the memory is the machine's; agrees if that much memory is for the table alone
SELECT claim_id, '' AS part, said(claim_id) AS said, 'TB' AS unit,
       scaled(ratio(times(times(fig('bourbonnais-2010/dedup', 'memory.size'), fig('bourbonnais-2010/dedup', block)),
                          fig('bourbonnais-2010/dedup', 'memory.metadata_share')),
                    fig('bourbonnais-2010/dedup', 'entry.size')), 1 / 100) AS shown
FROM (VALUES ('ddt-reach-128k', 'checksum.large_block'), ('ddt-reach-8k', 'checksum.small_block')) AS c(claim_id, block);

-- check: ddt-block
-- question: How many entries fit in one block of the table?
-- against: own figures
SELECT 'dedup-batch' AS claim_id, '' AS part, said('dedup-batch') AS said, '1' AS unit,
       ratio(scaled(fig('bourbonnais-2010/dedup', 'table_block.size'), 1024),
             fig('bourbonnais-2010/dedup', 'entry.size')) AS shown;

-- check: dedup-ratio-bound
-- question: Is the gain within what the ratio of the block sizes allows?
-- against: own figures
-- remark: a bound, not a prediction: where one block in a record has changed, small blocks gain this much at most
SELECT 'dedup-ratio' AS claim_id, '' AS part, said('dedup-ratio') AS said, '1' AS unit,
       {'low': 1.0, 'mid': bound.mid, 'high': bound.high} AS shown
FROM (SELECT ratio(fig('bourbonnais-2010/dedup', 'checksum.large_block'),
                   fig('bourbonnais-2010/dedup', 'checksum.small_block')) AS bound);

-- check: misaligned
-- question: Do two blocks in place of one, read and then written, give the slowdown?
-- against: own figures
SELECT 'alignment-loss' AS claim_id, part, fig('bourbonnais-2010/alignment', metric) AS said, '1' AS unit,
       scaled(fig('bourbonnais-2010/alignment', 'misaligned.blocks_per_access'), accesses) AS shown
FROM (VALUES ('read', 'misaligned.slowdown_low', 1), ('write', 'misaligned.slowdown_high', 2)) AS c(part, metric, accesses);

-- check: partition
-- question: Are that many sectors the block size?
-- against: own figures
SELECT 'alignment-partition' AS claim_id, '' AS part, said('alignment-partition') AS said, 'KB' AS unit,
       scaled(times(fig('bourbonnais-2010/alignment', 'partition.sectors'),
                    fig('bourbonnais-2010/alignment', 'sector.size')), 1 / 1024) AS shown;
