-- The changes of master data, in the order of the records' numbers: to what, by which act; what it looks like is not kept.
-- Every edit writes its rows without a number, in its own transaction; the track writer gives them numbers. Kept 31 days.
create table change (
    id blob not null,
    shard integer not null default 0,
    sequence integer,
    organization_id blob,
    resource text not null,
    resource_id blob not null,
    kind text not null,
    changed_at integer not null,
    constraint change_pkey primary key (id),
    constraint change_sequence_key unique (shard, sequence),
    constraint change_resource_check check (resource in
        ('organization', 'vehicle', 'tracker', 'geofence', 'driver', 'user', 'systemUser', 'assignment')),
    constraint change_kind_check check (kind in ('created', 'updated', 'deleted'))
) strict;
create index change_waiting_idx on change (id) where sequence is null;
create index change_feed_idx on change (organization_id, shard, sequence);
