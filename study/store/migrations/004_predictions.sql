-- What notebooks predict of claims. A row without an interval says that the model leaves out what the claim is about.

CREATE TABLE predictions (
    run_id          VARCHAR NOT NULL,
    claim_id        VARCHAR NOT NULL,
    unfitted_low    DOUBLE,            -- 5 %, in the unit of the claim's published number
    unfitted_middle DOUBLE,
    unfitted_high   DOUBLE,            -- 95 %
    fitted_low      DOUBLE,            -- the same after fitting one constant on the claim's baseline
    fitted_middle   DOUBLE,
    fitted_high     DOUBLE,
    identified      BOOLEAN,           -- whether what was published decides
    reason          VARCHAR,           -- why there is no interval
    PRIMARY KEY (run_id, claim_id)
);
