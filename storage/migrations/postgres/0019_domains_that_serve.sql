-- Whether requests for a proven domain arrive, as the edge provider said last: only then is it its app's
-- address. What has served so far goes on until somebody looks. Pairs with
-- migrations/sqlite/0019_domains_that_serve.sql.
alter table domains add column serves bigint not null default 0;
update domains set serves = 1 where proven_at is not null and edge_id is not null;
