-- The highest version of the purged rows whose tombstones the feed's pruning has dropped: a row
-- that comes anew under a key of its caller's begins above it, so that no version and no entity tag
-- ever stands for two contents.
alter table app_head add column version_floor bigint not null default 0;
