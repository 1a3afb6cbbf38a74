-- SHA-256 of the agent's key that a test session was made with, where one was: it is good for as
-- long as that key is.
alter table session_grants add column minted_by blob;
alter table participants add column minted_by blob;
