-- Devices that reported for an organization and are no trackers of it yet: the 200 of each that were heard last. Written by the
-- server every few seconds (src/store/pending_tracker.rs); gone when such a tracker is made and has its fixes.
create table pending_tracker (
    id uuid not null,
    organization_id uuid not null,
    unique_id text not null,
    input text not null,
    first_seen_at timestamptz not null,
    last_seen_at timestamptz not null,
    constraint pending_tracker_pkey primary key (id),
    constraint pending_tracker_organization_fkey foreign key (organization_id) references organization (id)
);
create unique index pending_tracker_name_key on pending_tracker (organization_id, unique_id);

-- Their last twenty fixes, as JSON. Written with the above.
create table pending_fix (
    pending_id uuid not null,
    id uuid not null,
    recorded_at timestamptz not null,
    fix bytea not null,
    constraint pending_fix_pkey primary key (pending_id, id),
    constraint pending_fix_pending_fkey foreign key (pending_id) references pending_tracker (id) on delete cascade
);
