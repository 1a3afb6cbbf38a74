-- Browsers that want to be told: web push subscriptions (RFC 8030). Pairs with
-- migrations/sqlite/0008_push.sql.

-- A browser is known by its endpoint. It is told things only while the session lasts in which it
-- asked for that. `sealed` holds endpoint and keys.
create table push_subscriptions (
    hash bytea primary key not null, -- SHA-256 of the endpoint
    human bytea not null references humans (id),
    session bytea not null references sessions (id) on delete cascade,
    sealed text not null,
    created_at bigint not null,
    updated_at bigint not null,
    expires_at bigint
);
create index push_subscriptions_human on push_subscriptions (human, updated_at, hash);
create index push_subscriptions_session on push_subscriptions (session);
create index push_subscriptions_expires on push_subscriptions (expires_at)
    where expires_at is not null;
