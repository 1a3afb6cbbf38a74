-- Of what was revoked the newest are kept, and who was invited and never came is forgotten.
-- Pairs with migrations/postgres/0014_what_is_forgotten.sql.
create index grants_revoked on grants (app_id, revoked_at, id) where revoked_at is not null;
create index previews_revoked on previews (app_id, revoked_at, id) where revoked_at is not null;
create index credentials_revoked on credentials (app_id, updated_at, id) where status = 2;

-- When they were invited last.
alter table placeholders rename column created_at to invited_at;
create index placeholders_invited on placeholders (invited_at);

-- Who was removed has to be found as well.
drop index members_human;
create index members_human on members (human, created_at);
