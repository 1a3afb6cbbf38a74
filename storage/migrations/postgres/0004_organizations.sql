-- Organizations and offers of ownership. Pairs with migrations/sqlite/0004_organizations.sql.

create table orgs (
    id bytea primary key not null,
    name text not null,
    billing bytea not null references humans (id),
    created_at bigint not null,
    updated_at bigint not null
);
create index orgs_billing on orgs (billing);

-- Who was removed stays here, so that removing them again is the same as removing them once.
create table org_members (
    org_id bytea not null references orgs (id),
    human bytea not null references humans (id),
    role bigint not null, -- 0 member, 1 admin
    created_at bigint not null,
    removed_at bigint,
    primary key (org_id, human)
);
create index org_members_human on org_members (human);

alter table apps add column org_id bytea;
create index apps_org on apps (org_id, created_at, id) where org_id is not null;

-- Pending offers only: one that was accepted, declined or withdrawn is gone.
create table transfers (
    id bytea primary key not null,
    app_id bytea not null unique,
    email text not null,
    offered_by bytea not null references humans (id),
    created_at bigint not null
);
create index transfers_email on transfers (email, created_at, id);
