-- Since which event others than the owner may read what they could not before: who follows an app's feed
-- from before it is not told what happened meanwhile. Pairs with
-- migrations/postgres/0024_what_was_closed.sql.
alter table apps add column opened_seq integer not null default 0;
