-- What somebody imported: numbers over time, distributions, transactions, and how far each import can be trusted.

CREATE TABLE imports (             -- a row a tool of an imported run
    run_id   VARCHAR NOT NULL,
    tool     VARCHAR NOT NULL,
    dialect  VARCHAR NOT NULL,     -- of the tool's format
    version  VARCHAR NOT NULL,     -- of the tool; '' where its files do not say
    load     VARCHAR NOT NULL,     -- 'open', 'closed' or 'unknown'
    rows_read BIGINT NOT NULL,
    rows_refused BIGINT NOT NULL,
    PRIMARY KEY (run_id, tool)
);

CREATE TABLE import_notes (        -- what an import is to be read with
    run_id   VARCHAR NOT NULL,
    tool     VARCHAR NOT NULL,
    kind     VARCHAR NOT NULL,     -- 'problem', 'missing', 'warning', 'refused'
    file     VARCHAR,
    line     BIGINT,
    text     VARCHAR NOT NULL
);

CREATE TABLE import_checks (       -- what was counted beside what the tool printed
    run_id   VARCHAR NOT NULL,
    tool     VARCHAR NOT NULL,
    name     VARCHAR NOT NULL,
    counted  DOUBLE NOT NULL,
    printed  DOUBLE NOT NULL,
    unit     VARCHAR NOT NULL,
    agrees   BOOLEAN NOT NULL,
    note     VARCHAR NOT NULL      -- why the two may differ
);

CREATE TABLE import_series (       -- the clock of each series
    run_id   VARCHAR NOT NULL,
    series   VARCHAR NOT NULL,
    tool     VARCHAR NOT NULL,
    starts   TIMESTAMP,            -- UTC, when t is 0; NULL where no clock is known
    uncertainty_s DOUBLE,          -- to either side
    clock    VARCHAR NOT NULL,     -- where that is from
    interval_s DOUBLE,
    first_s  DOUBLE,               -- t of the first point and of the last one
    last_s   DOUBLE,
    points   BIGINT NOT NULL,      -- different times
    gaps     BIGINT NOT NULL,      -- steps of more than 1.5 intervals
    PRIMARY KEY (run_id, series)
);

CREATE TABLE observations (        -- tidy: one number a row
    run_id   VARCHAR NOT NULL,
    series   VARCHAR NOT NULL,
    subject  VARCHAR NOT NULL,     -- device, vdev, job or thread; '' for the whole
    t        DOUBLE NOT NULL,      -- s since the series starts: the end of the interval that the number is of
    utc      TIMESTAMP,            -- the same by the clock of import_series
    name     VARCHAR NOT NULL,
    value    DOUBLE NOT NULL,
    unit     VARCHAR NOT NULL,
    statistic VARCHAR NOT NULL     -- count, rate, sum, mean, deviation, percentile, minimum, maximum, instant, share
);

CREATE TABLE histograms (          -- how many operations took how long, or were how large
    run_id   VARCHAR NOT NULL,
    series   VARCHAR NOT NULL,
    subject  VARCHAR NOT NULL,
    t        DOUBLE,               -- NULL for the whole run
    name     VARCHAR NOT NULL,
    low      DOUBLE NOT NULL,      -- ends of the bin
    high     DOUBLE NOT NULL,
    value    DOUBLE NOT NULL,      -- in the bin
    unit     VARCHAR NOT NULL,     -- of low and high
    "of"     VARCHAR NOT NULL      -- unit of the value
);

CREATE TABLE transactions (        -- each by itself
    run_id   VARCHAR NOT NULL,
    utc      TIMESTAMP NOT NULL,   -- when it ended
    response_us BIGINT,            -- NULL where it was skipped or failed
    client   BIGINT NOT NULL,
    script   VARCHAR NOT NULL,
    outcome  VARCHAR NOT NULL,     -- 'ok', 'skipped', 'failed', 'serialization', 'deadlock', 'other'
    lag_us   BIGINT,               -- from when it was due until it was begun
    retries  BIGINT
);
