-- Vocabulary of the audit. Every printed figure stands for all numbers that print alike: a struct of low, mid and high,
-- half a unit of the last printed digit to either side. Arithmetic on these structs carries the rounding along, so that
-- no check needs a tolerance of its own.

CREATE OR REPLACE TEMP TABLE printed AS
SELECT m.run_id, m.name, m.t, m.unit, split_part(m.name, '.', 1) AS subject, split_part(m.name, '.', 2) AS quantity,
       {'low': m.value - step / 2, 'mid': m.value, 'high': m.value + step / 2} AS figure
FROM (SELECT metrics.*, CAST(json_extract(params.value, '$."' || metrics.name ||
             CASE WHEN t IS NULL THEN '' ELSE '@' || CAST(CAST(t AS BIGINT) AS VARCHAR) END || '"') AS DOUBLE) AS step
      FROM metrics JOIN params ON params.run_id = metrics.run_id AND params.name = 'printed_step') AS m;

CREATE OR REPLACE TEMP TABLE transcript AS         -- the four FileBench runs
SELECT * FROM (VALUES ('oltp', 'without the fix', 'kustarz-2007/oltp-without-fix'),
                      ('oltp', 'with the fix', 'kustarz-2007/oltp-with-fix'),
                      ('seqread', 'cache on', 'kustarz-2007/seqread-cache-on'),
                      ('seqread', 'cache off', 'kustarz-2007/seqread-cache-off')) AS t(workload, part, run_id);

CREATE OR REPLACE TEMP TABLE occupied AS          -- Little's law: how many processes are in a row, rate times time there
SELECT workload, part, run_id, subject,
       {'low': rate.figure.low * response.figure.low / 1000, 'mid': rate.figure.mid * response.figure.mid / 1000,
        'high': rate.figure.high * response.figure.high / 1000} AS processes
FROM transcript JOIN printed AS rate USING (run_id) JOIN printed AS response USING (run_id, subject)
WHERE rate.quantity = 'rate' AND response.quantity = 'response' AND subject <> 'summary' AND subject NOT LIKE 'limit%';

-- numbers
CREATE OR REPLACE TEMP MACRO exactly(x) AS {'low': CAST(x AS DOUBLE), 'mid': CAST(x AS DOUBLE), 'high': CAST(x AS DOUBLE)};
CREATE OR REPLACE TEMP MACRO at_least(x) AS {'low': CAST(x AS DOUBLE), 'high': CAST('infinity' AS DOUBLE)};
CREATE OR REPLACE TEMP MACRO at_most(x) AS {'low': CAST('-infinity' AS DOUBLE), 'high': CAST(x AS DOUBLE)};

-- a published figure, a condition of a run, and what a claim says
CREATE OR REPLACE TEMP MACRO fig(run, metric) AS (
    SELECT figure FROM printed WHERE printed.run_id = run AND printed.name = metric AND printed.t IS NULL);
CREATE OR REPLACE TEMP MACRO condition(run, what) AS (
    SELECT exactly(CAST(params.value AS DOUBLE)) FROM params WHERE params.run_id = run AND params.name = what);
CREATE OR REPLACE TEMP MACRO said(claim) AS (
    SELECT {'low': coalesce(claims.said_low, '-infinity'), 'high': coalesce(claims.said_high, 'infinity')}
    FROM claims WHERE claims.claim_id = claim AND claims.said_unit IS NOT NULL);

-- Arithmetic on figures that are not negative. A macro copies its arguments wherever it names them; naming them once, in
-- the list that a one-element comprehension runs over, keeps nested arithmetic from growing without end.
CREATE OR REPLACE TEMP MACRO plus(a, b) AS
    [{'low': x.a.low + x.b.low, 'mid': x.a.mid + x.b.mid, 'high': x.a.high + x.b.high} for x in [{'a': a, 'b': b}]][1];
CREATE OR REPLACE TEMP MACRO minus(a, b) AS
    [{'low': x.a.low - x.b.high, 'mid': x.a.mid - x.b.mid, 'high': x.a.high - x.b.low} for x in [{'a': a, 'b': b}]][1];
CREATE OR REPLACE TEMP MACRO times(a, b) AS
    [{'low': greatest(x.a.low, 0) * greatest(x.b.low, 0), 'mid': x.a.mid * x.b.mid, 'high': x.a.high * x.b.high}
     for x in [{'a': a, 'b': b}]][1];
CREATE OR REPLACE TEMP MACRO ratio(a, b) AS
    [{'low': x.a.low / x.b.high, 'mid': x.a.mid / x.b.mid, 'high': x.a.high / x.b.low} for x in [{'a': a, 'b': b}]][1];
CREATE OR REPLACE TEMP MACRO scaled(a, k) AS
    [{'low': x.a.low * x.k, 'mid': x.a.mid * x.k, 'high': x.a.high * x.k} for x in [{'a': a, 'k': k}]][1];
CREATE OR REPLACE TEMP MACRO total(all_of) AS
    [{'low': list_sum([y.low for y in x]), 'mid': list_sum([y.mid for y in x]), 'high': list_sum([y.high for y in x])}
     for x in [all_of]][1];
CREATE OR REPLACE TEMP MACRO percent_more(a, b) AS scaled(minus(ratio(a, b), exactly(1)), 100);
CREATE OR REPLACE TEMP MACRO percent_less(a, b) AS scaled(minus(exactly(1), ratio(a, b)), 100);

-- the rule: two statements agree when one number can be meant by both
CREATE OR REPLACE TEMP MACRO finding(said, shown) AS
    CASE WHEN said.low IS NULL OR shown.mid IS NULL THEN 'cannot be checked'
         WHEN shown.low <= said.high + 1e-9 * abs(said.high) AND shown.high >= said.low - 1e-9 * abs(said.low) THEN 'agrees'
         ELSE 'differs' END;
CREATE OR REPLACE TEMP MACRO rounding(said, shown) AS
    CASE WHEN finding(said, shown) = 'agrees' AND (shown.mid > said.high OR shown.mid < said.low)
         THEN 'only the ranges meet: the middle of what is shown lies outside what is said' END;
