-- Browsers that want to be told: web push subscriptions (RFC 8030). Pairs with
-- migrations/postgres/0008_push.sql.

-- A browser is known by its endpoint. It is told things only while the session lasts in which it
-- asked for that. `sealed` holds endpoint and keys.
create table push_subscriptions (
    hash blob primary key not null, -- SHA-256 of the endpoint
    human blob not null references humans (id),
    session blob not null references sessions (id) on delete cascade,
    sealed text not null,
    created_at integer not null,
    updated_at integer not null,
    expires_at integer
) strict;
create index push_subscriptions_human on push_subscriptions (human, updated_at, hash);
create index push_subscriptions_session on push_subscriptions (session);
create index push_subscriptions_expires on push_subscriptions (expires_at)
    where expires_at is not null;
