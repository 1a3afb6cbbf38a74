-- Slugs of apps that were destroyed, and the account that owned each of them last: nobody else gets it, for
-- what the app left in browsers (a service worker, storage) is bound to its origin, which is the slug's.
-- Pairs with migrations/postgres/0017_former_slugs.sql.
create table former_slugs (
    slug text primary key not null,
    owner blob not null references humans (id)
) strict, without rowid;
