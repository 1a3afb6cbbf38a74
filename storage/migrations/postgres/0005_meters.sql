-- What apps and accounts used, and how their pages were seen: sums by the hour or day of UTC.
--
-- Nothing here says who a visitor was. Sketches hold keyed hashes of one day; they and the day's
-- salt are deleted when the day is over.

create table app_hours (
    app_id     bytea    not null,
    hour       bigint not null,
    requests   bigint not null,
    row_writes bigint not null,
    feed_polls bigint not null,
    page_views bigint not null,
    bytes_out  bigint not null,
    visitors   bigint not null,
    primary key (app_id, hour)
);
create index app_hours_age on app_hours (hour);

create table app_days (
    app_id   bytea    not null,
    day      bigint not null,
    visitors bigint not null,
    primary key (app_id, day)
);
create index app_days_age on app_days (day);

-- Where views came from. Kind 0: country, 1: referrer.
create table app_sources (
    app_id     bytea    not null,
    day        bigint not null,
    kind       bigint not null,
    name       text    collate "C" not null,
    page_views bigint not null,
    visitors   bigint not null,
    primary key (app_id, day, kind, name)
);
create index app_sources_age on app_sources (day);

-- What an account's apps used while they were the account's. It outlives them.
create table account_hours (
    human_id   bytea    not null,
    hour       bigint not null,
    requests   bigint not null,
    row_writes bigint not null,
    feed_polls bigint not null,
    page_views bigint not null,
    bytes_out  bigint not null,
    primary key (human_id, hour)
);
create index account_hours_age on account_hours (hour);

-- Kind 0: of a day, 1: of an hour.
create table visitor_sketches (
    app_id bytea    not null,
    kind   bigint not null,
    period bigint not null,
    day    bigint not null,
    state  bytea    not null,
    primary key (app_id, kind, period)
);
create index visitor_sketches_age on visitor_sketches (day);

create table visitor_salts (
    day  bigint not null primary key,
    salt bytea    not null
);
