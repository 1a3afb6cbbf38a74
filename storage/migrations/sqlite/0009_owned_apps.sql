-- The apps that count towards an account's limit: how many there are is asked at every deployment
-- of a new app, and answered from this index alone.
create index apps_counted on apps (owner) where status <> 3;
