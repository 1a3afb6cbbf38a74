-- What the workers ask in every round is answered from indexes that were made for it. Pairs with
-- migrations/sqlite/0020_what_workers_ask.sql.
create index humans_closed on humans (id) where closed_at is not null;
create index credential_tokens_expires on credential_tokens (expires_at)
    where expires_at is not null;
drop index apps_purge;
create index apps_purge on apps (purge_at, id) where purge_at is not null;
create index apps_marked on apps (purge_at) where status = 3;
drop index blobs_seen;
create index blobs_seen on blobs (seen_at, sha256);

-- How many apps an account has is asked by their status.
drop index apps_counted;
create index apps_counted on apps (owner, status);

-- Whether the manifest in force or the owner bounds the rows of any collection. Of what is there
-- already, whatever may: it is exact from the next change of the app on.
alter table apps add column bounded bigint not null default 0;
update apps set bounded = 1 where retention <> '{}' or exists
    (select 1 from versions v where v.app_id = apps.id and v.number = apps.version
       and (v.manifest like '%retention%' or v.manifest like '%\u00%' escape '|'));
create index apps_bounded on apps (id) where bounded = 1;
