-- The keys of the rows that a kept answer quotes, as a JSON array, where it is not the one row of
-- `row_key`: a purge forgets the answers that quote the purged row, and no others.
alter table idempotency add column row_keys text;
