-- What is left of the draws by the baseline of a claim, and which condition tells most of the outcome among them; NULL where
-- a prediction is of no ensemble, or of a record of before.

ALTER TABLE predictions ADD COLUMN left_draws INTEGER;
ALTER TABLE predictions ADD COLUMN left_of INTEGER;          -- draws that have the outcome
ALTER TABLE predictions ADD COLUMN left_low DOUBLE;          -- 5 %, or the least; NULL where no draw is left
ALTER TABLE predictions ADD COLUMN left_middle DOUBLE;
ALTER TABLE predictions ADD COLUMN left_high DOUBLE;         -- 95 %, or the most
ALTER TABLE predictions ADD COLUMN told_by VARCHAR;          -- the condition that tells most; '' where none is told
ALTER TABLE predictions ADD COLUMN told_share DOUBLE;        -- of the variance of the outcome
ALTER TABLE predictions ADD COLUMN told_groups DOUBLE[][];   -- least and most of the outcome in each group that it makes
