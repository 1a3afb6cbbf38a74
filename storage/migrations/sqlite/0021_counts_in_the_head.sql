-- The counts of an app's collections stand in its head, so that describing an app that sleeps looks
-- at none of its rows. `[[name, live, in the trash, detached], ...]`: the collections that the
-- manifest in force declares, then removed ones that still have rows. Pairs with
-- migrations/postgres/0021_counts_in_the_head.sql.
alter table app_head add column collections text not null default '[]';
with counted as materialized (
    select app_id, collection as name, count(case when state = 0 then 1 end) as live,
           count(case when state = 1 then 1 end) as trashed,
           count(case when state = 3 then 1 end) as detached
    from rows where state <> 2 group by app_id, collection
), declared as materialized (
    select a.id as app_id, one.key as name
    from apps a join versions v on v.app_id = a.id and v.number = a.version,
         json_each(case when json_valid(v.manifest) then v.manifest else '{}' end, '$.collections')
             as one
), listed as (
    select d.app_id, d.name, coalesce(c.live, 0) as live, coalesce(c.trashed, 0) as trashed,
           coalesce(c.detached, 0) as detached, 0 as removed
    from declared d left join counted c on c.app_id = d.app_id and c.name = d.name
    union all
    select c.app_id, c.name, c.live, c.trashed, c.detached, 1
    from counted c left join declared d on d.app_id = c.app_id and d.name = c.name
    where d.name is null
)
update app_head set collections = found.collections
from (select app_id,
             json_group_array(json_array(name, live, trashed, detached) order by removed, name)
                 as collections
      from listed group by app_id) as found
where found.app_id = app_head.app_id;
