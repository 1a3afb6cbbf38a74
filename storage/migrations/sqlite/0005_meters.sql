-- What apps and accounts used, and how their pages were seen: sums by the hour or day of UTC.
--
-- Nothing here says who a visitor was. Sketches hold keyed hashes of one day; they and the day's
-- salt are deleted when the day is over.

create table app_hours (
    app_id     blob    not null,
    hour       integer not null,
    requests   integer not null,
    row_writes integer not null,
    feed_polls integer not null,
    page_views integer not null,
    bytes_out  integer not null,
    visitors   integer not null,
    primary key (app_id, hour)
) strict;
create index app_hours_age on app_hours (hour);

create table app_days (
    app_id   blob    not null,
    day      integer not null,
    visitors integer not null,
    primary key (app_id, day)
) strict;
create index app_days_age on app_days (day);

-- Where views came from. Kind 0: country, 1: referrer.
create table app_sources (
    app_id     blob    not null,
    day        integer not null,
    kind       integer not null,
    name       text    not null,
    page_views integer not null,
    visitors   integer not null,
    primary key (app_id, day, kind, name)
) strict;
create index app_sources_age on app_sources (day);

-- What an account's apps used while they were the account's. It outlives them.
create table account_hours (
    human_id   blob    not null,
    hour       integer not null,
    requests   integer not null,
    row_writes integer not null,
    feed_polls integer not null,
    page_views integer not null,
    bytes_out  integer not null,
    primary key (human_id, hour)
) strict;
create index account_hours_age on account_hours (hour);

-- Kind 0: of a day, 1: of an hour.
create table visitor_sketches (
    app_id blob    not null,
    kind   integer not null,
    period integer not null,
    day    integer not null,
    state  blob    not null,
    primary key (app_id, kind, period)
) strict;
create index visitor_sketches_age on visitor_sketches (day);

create table visitor_salts (
    day  integer not null primary key,
    salt blob    not null
) strict;
