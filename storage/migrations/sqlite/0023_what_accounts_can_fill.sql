-- What one account can fill is counted by account: the organizations that it founded, whoever is billed
-- for them by now, and the visits that it has open. Pairs with
-- migrations/postgres/0023_what_accounts_can_fill.sql.
alter table orgs add column founder blob references humans (id);
update orgs set founder = billing;
create index orgs_founder on orgs (founder);
drop index orgs_billing;
drop index participants_human;
create index participants_human on participants (human, id, minted_by) where human is not null;
