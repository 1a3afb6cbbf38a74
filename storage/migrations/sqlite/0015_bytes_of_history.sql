-- What an app keeps beside its rows: bytes of its feed's events and of the answers that
-- idempotency keys replay, each with what an entry costs beside its content. At least what is
-- there: pruning, which it leads to, counts anew.
-- Pairs with migrations/postgres/0015_bytes_of_history.sql.
alter table app_head add column history_bytes integer not null default 0;
update app_head set history_bytes =
    (select coalesce(sum(256 + coalesce(octet_length(data), 0)), 0)
     from events where events.app_id = app_head.app_id)
    + (select coalesce(sum(256 + octet_length(body)), 0)
       from idempotency where idempotency.app_id = app_head.app_id);
