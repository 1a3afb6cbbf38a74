-- Whether a visitor is kept for its whole time: it has left something in the app, or came in a way that
-- it cannot come again. What was there before may have. Of the others the newest of an app are kept.
alter table participants add column lasting integer not null default 1;
create index participants_fresh on participants (app_id, kind, id) where lasting = 0;
