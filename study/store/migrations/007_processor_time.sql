-- What a run cost. Records of before have none.

ALTER TABLE runs ADD COLUMN cpu_seconds DOUBLE;     -- processor time of its kernel, user and system, children that ended included
