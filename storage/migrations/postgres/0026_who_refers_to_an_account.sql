-- Whoever was only invited is forgotten some day, and the database looks then for what else refers to the
-- account: by an index, whichever table it is. Pairs with
-- migrations/sqlite/0026_who_refers_to_an_account.sql.
create index former_slugs_owner on former_slugs (owner);
create index transfers_offered_by on transfers (offered_by);
create index orgs_billing on orgs (billing);
create index session_grants_human on session_grants (human);
drop index claims_human;
create index claims_human on claims (human, redeemed_by);
drop index devices_human;
create index devices_human on devices (human, state) where human is not null;
