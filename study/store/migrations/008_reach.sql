-- The least and the most of a quantity in all that was simulated, each condition by itself included; NULL where it is of no
-- ensemble, or of a record of before.

ALTER TABLE predictions ADD COLUMN reach_low DOUBLE;
ALTER TABLE predictions ADD COLUMN reach_high DOUBLE;
