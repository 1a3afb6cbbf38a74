-- A human's own shelf: favorites, what was looked at last, and the answer about how it heard of
-- the service. Pairs with migrations/sqlite/0007_account.sql.

create table favorites (
    human bytea not null references humans (id),
    app_id bytea not null,
    created_at bigint not null,
    primary key (human, app_id)
);
create index favorites_app on favorites (app_id);

create table views (
    human bytea not null references humans (id),
    app_id bytea not null,
    viewed_at bigint not null,
    primary key (human, app_id)
);
create index views_app on views (app_id);

create table signup_sources (
    human bytea primary key not null references humans (id),
    source text not null,
    created_at bigint not null
);

-- Sign-ins by an identity provider. An account is bound by issuer and subject, never by address.
create table identities (
    issuer text not null,
    subject text not null,
    human bytea not null references humans (id),
    created_at bigint not null,
    primary key (issuer, subject)
);
create index identities_human on identities (human);

-- Sign-ins that are on their way through the provider. `sealed` holds nonce and PKCE verifier.
create table idp_flows (
    hash bytea primary key not null,
    sealed text not null,
    redirect_to text,
    created_at bigint not null,
    expires_at bigint not null
);
create index idp_flows_expires on idp_flows (expires_at);
