-- What wrote this file: the program and its version.

CREATE TABLE made_by (
    program VARCHAR PRIMARY KEY,
    version VARCHAR NOT NULL
);
