-- What a human has minted or approved and nobody has fetched yet is found when the human signs out.
-- Pairs with migrations/postgres/0016_codes_by_human.sql.
create index claims_human on claims (human) where redeemed_by is null;
create index devices_human on devices (human) where state = 1;
