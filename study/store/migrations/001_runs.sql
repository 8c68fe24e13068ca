-- The run store. Runs that were published, simulated, imported and measured stand side by side, told apart by `origin`.

CREATE TABLE ingested (            -- what the rows were made from: the store is brought up to date by comparing these
    source   VARCHAR PRIMARY KEY,  -- 'published/<document>', 'claims' or '<notebook>/<run_id>'
    digest   VARCHAR NOT NULL
);

CREATE TABLE runs (
    run_id   VARCHAR PRIMARY KEY,
    source   VARCHAR NOT NULL,     -- as in `ingested`
    origin   VARCHAR NOT NULL CHECK (origin IN ('published', 'simulated', 'imported', 'measured')),
    name     VARCHAR NOT NULL,     -- the document or the notebook
    label    VARCHAR NOT NULL,
    status   VARCHAR NOT NULL,     -- 'ok', 'failed', 'died', 'timed out', 'interrupted'; published runs are 'ok'
    reason   VARCHAR,              -- why it is not ok
    started  TIMESTAMP,            -- UTC
    seconds  DOUBLE                -- wall time
);

CREATE TABLE params (              -- parameters of a notebook, conditions of a published run
    run_id   VARCHAR NOT NULL,
    name     VARCHAR NOT NULL,
    value    VARCHAR NOT NULL,     -- JSON
    PRIMARY KEY (run_id, name)
);

CREATE TABLE metrics (             -- tidy: one number a row
    run_id   VARCHAR NOT NULL,
    t        DOUBLE,               -- seconds into the run; NULL when the number is of the whole run
    name     VARCHAR NOT NULL,     -- '<subject>.<quantity>'
    value    DOUBLE NOT NULL,
    unit     VARCHAR NOT NULL
);

CREATE TABLE figures (
    run_id   VARCHAR NOT NULL,
    name     VARCHAR NOT NULL,
    caption  VARCHAR NOT NULL,
    drawn_by VARCHAR NOT NULL,     -- the function in study/figures
    digest   VARCHAR NOT NULL,     -- SHA-256 of the SVG at column width
    PRIMARY KEY (run_id, name)
);
