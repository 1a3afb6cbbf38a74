-- A mailed link that was used stays for a while, so that whoever opens it again is led where it was to
-- lead. Pairs with migrations/sqlite/0022_spent_links.sql.
alter table links add column spent bigint not null default 0;
