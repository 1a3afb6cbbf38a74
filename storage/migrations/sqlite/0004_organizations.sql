-- Organizations and offers of ownership. Pairs with migrations/postgres/0004_organizations.sql.

create table orgs (
    id blob primary key not null,
    name text not null,
    billing blob not null references humans (id),
    created_at integer not null,
    updated_at integer not null
) strict;
create index orgs_billing on orgs (billing);

-- Who was removed stays here, so that removing them again is the same as removing them once.
create table org_members (
    org_id blob not null references orgs (id),
    human blob not null references humans (id),
    role integer not null, -- 0 member, 1 admin
    created_at integer not null,
    removed_at integer,
    primary key (org_id, human)
) strict, without rowid;
create index org_members_human on org_members (human);

alter table apps add column org_id blob;
create index apps_org on apps (org_id, created_at, id) where org_id is not null;

-- Pending offers only: one that was accepted, declined or withdrawn is gone.
create table transfers (
    id blob primary key not null,
    app_id blob not null unique,
    email text not null,
    offered_by blob not null references humans (id),
    created_at integer not null
) strict;
create index transfers_email on transfers (email, created_at, id);
