-- How many draws an interval is taken from; NULL where it is of no ensemble.

ALTER TABLE predictions ADD COLUMN draws INTEGER;
