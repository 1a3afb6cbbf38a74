-- What is in the trash does not count towards an app's quota any more: its bytes have a sum of
-- their own, and `bytes` is that of the other rows.
alter table app_head add column trashed_bytes bigint not null default 0;
update app_head set trashed_bytes = coalesce(
    (select sum(octet_length(key) + octet_length(data)) from rows
     where rows.app_id = app_head.app_id and state = 1), 0)
where trashed > 0;
update app_head set bytes = bytes - trashed_bytes where trashed_bytes > 0;
