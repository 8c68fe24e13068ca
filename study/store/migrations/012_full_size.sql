-- Whether what is left of the draws is at full size, where the ensemble is to scale; NULL where nothing is said of it.

ALTER TABLE predictions ADD COLUMN left_full_size BOOLEAN;
