-- Custom domains of apps. Pairs with migrations/sqlite/0006_domains.sql.

-- Bindings, also those whose control nobody has proven yet: such a one keeps nobody else away.
create table domains (
    id         bytea   primary key not null,
    app_id     bytea   not null,
    name       text not null,
    token      text not null, -- what the TXT record has to hold
    edge_id    text,          -- the edge provider's own name for it
    created_at bigint not null,
    proven_at  bigint,
    unique (app_id, name)
);
create index domains_app on domains (app_id, created_at, id);

-- Who holds a name: the binding that proved control over it.
create table domain_names (
    name      text primary key not null,
    domain_id bytea not null unique
);

-- What the edge provider still has to forget: its own names for domains whose app was destroyed.
create table edge_leftovers (
    edge_id text primary key not null
);
