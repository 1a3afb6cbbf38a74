-- A database that is published for all tables (change data capture, an upgrade by logical replication)
-- refuses each update of a table whose rows have no identity, and these have unique indexes in place of
-- primary keys.

alter table rows replica identity using index rows_address;
alter table events replica identity using index events_seq;
alter table budgets replica identity using index budgets_counter;
alter table spent_challenges replica identity using index spent_challenges_id;
