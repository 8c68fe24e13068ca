-- The claims of the documents, as `study/documents/claims.py` reads them. A claim's numbers: what the text says (`said_low` to
-- `said_high`, either NULL when the statement has no end there) and the published number to be predicted.

CREATE TABLE claims (
    claim_id        VARCHAR PRIMARY KEY,
    document        VARCHAR NOT NULL,
    place           VARCHAR NOT NULL,
    kind            VARCHAR NOT NULL,
    text            VARCHAR NOT NULL,      -- in our words
    printed         VARCHAR NOT NULL,      -- as printed
    relation        VARCHAR,
    said_low        DOUBLE,
    said_high       DOUBLE,
    said_unit       VARCHAR,
    published       DOUBLE,
    published_unit  VARCHAR,
    effect_none     DOUBLE,                -- the value that would mean "no effect"
    may_be_fitted   BOOLEAN NOT NULL,
    to_be_predicted BOOLEAN NOT NULL,
    notebook        VARCHAR                -- that grades it
);
