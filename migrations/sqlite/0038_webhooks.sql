-- Where an organization is sent what happens. Written by ops/webhooks; how far each got (next_sequence and what follows it), by
-- the deliveries (store/webhook_delivery). The secrets are wrapped if there is a master key.
create table webhook (
    id blob not null,
    organization_id blob not null,
    url text not null,
    description text,
    event_types text not null,
    vehicle_ids text not null,
    geofence_ids text not null,
    enabled integer not null,
    disabled_reason text,
    system_user_id blob,
    scopes text,
    secret blob not null,
    former_secret blob,
    former_secret_until integer,
    next_sequence integer not null,
    moves integer not null,
    failing_since integer,
    failing_sequence integer,
    failed_attempts integer not null,
    next_attempt_at integer,
    created_at integer not null,
    updated_at integer not null,
    constraint webhook_pkey primary key (id),
    constraint webhook_organization_fkey foreign key (organization_id) references organization (id),
    constraint webhook_system_user_fkey foreign key (system_user_id) references system_user (id)
) strict;
create index webhook_organization_idx on webhook (organization_id, created_at);

-- Attempts to deliver, kept seven days and ten thousand of each webhook. Written by the deliveries (store/webhook_attempt).
create table webhook_attempt (
    id blob not null,
    webhook_id blob not null,
    message_id text not null,
    event_type text not null,
    sequence integer,
    attempt integer not null,
    attempted_at integer not null,
    duration_ms integer not null,
    status integer,
    outcome text not null,
    detail text,
    answer text,
    constraint webhook_attempt_pkey primary key (id),
    constraint webhook_attempt_outcome_check check (outcome in ('delivered', 'failed', 'givenUp'))
) strict;
create index webhook_attempt_webhook_idx on webhook_attempt (webhook_id, attempted_at);
create index webhook_attempt_attempted_at_idx on webhook_attempt (attempted_at);
