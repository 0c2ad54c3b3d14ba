-- Keys of system users are among the changes. SQLite cannot change a constraint, so the table is made anew. Every edit writes its
-- rows, and the track writer numbers them.
alter table change rename to change_before;

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
        ('organization', 'vehicle', 'tracker', 'geofence', 'driver', 'user', 'systemUser', 'apiKey', 'assignment')),
    constraint change_kind_check check (kind in ('created', 'updated', 'deleted'))
) strict;

insert into change (id, shard, sequence, organization_id, resource, resource_id, kind, changed_at)
    select id, shard, sequence, organization_id, resource, resource_id, kind, changed_at from change_before;
drop table change_before;

create index change_waiting_idx on change (id) where sequence is null;
create index change_feed_idx on change (organization_id, shard, sequence);
