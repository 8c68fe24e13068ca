-- Series of benchmark runs, each with its statistics: what a notebook simulated, somebody imported or measured, told apart by
-- the `origin` of the run they belong to.

CREATE TABLE samples (
    run_id   VARCHAR NOT NULL,     -- the record that holds the series
    series   VARCHAR NOT NULL,
    run      INTEGER NOT NULL,     -- in the order of time
    name     VARCHAR NOT NULL,     -- '<subject>.<quantity>'
    value    DOUBLE NOT NULL,
    unit     VARCHAR NOT NULL
);
