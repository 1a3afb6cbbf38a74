-- Where responses need room, those of visitors go before those of agents and service credentials (1): what a
-- visitor does must not have an agent's retry done twice. Pairs with
-- migrations/postgres/0025_whose_responses_go_first.sql.
alter table idempotency add column by_key integer not null default 1;
