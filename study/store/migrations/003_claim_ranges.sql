-- What a claim allows where it is to be predicted (`published_high` is NULL where that has no end, as in *8 or more*), and
-- the claim whose prediction settles this one. Claims are read anew.

ALTER TABLE claims ADD COLUMN published_low DOUBLE;
ALTER TABLE claims ADD COLUMN published_high DOUBLE;
ALTER TABLE claims ADD COLUMN follows_from VARCHAR;
DELETE FROM claims;
DELETE FROM ingested WHERE source = 'claims';
