-- A mailed link knows the browser that spent it and the session that it opened there, so that the second
-- click of a double one signs in too. Pairs with
-- migrations/postgres/0027_where_a_link_was_spent.sql.
alter table links add column browser blob;
alter table links add column session blob;
