-- Where an organization is sent what happens. Written by ops/webhooks; how far each got (next_sequence and what follows it), by
-- the deliveries (store/webhook_delivery). The secrets are wrapped if there is a master key.
create table webhook (
    id uuid not null,
    organization_id uuid not null,
    url text not null,
    description text,
    event_types jsonb not null,
    vehicle_ids jsonb not null,
    geofence_ids jsonb not null,
    enabled boolean not null,
    disabled_reason text,
    system_user_id uuid,
    scopes jsonb,
    secret bytea not null,
    former_secret bytea,
    former_secret_until timestamptz,
    next_sequence bigint not null,
    moves bigint not null,
    failing_since timestamptz,
    failing_sequence bigint,
    failed_attempts bigint not null,
    next_attempt_at timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    constraint webhook_pkey primary key (id),
    constraint webhook_organization_fkey foreign key (organization_id) references organization (id),
    constraint webhook_system_user_fkey foreign key (system_user_id) references system_user (id)
);
create index webhook_organization_idx on webhook (organization_id, created_at);

-- Attempts to deliver, kept seven days and ten thousand of each webhook. Written by the deliveries (store/webhook_attempt).
create table webhook_attempt (
    id uuid not null,
    webhook_id uuid not null,
    message_id text not null,
    event_type text not null,
    sequence bigint,
    attempt bigint not null,
    attempted_at timestamptz not null,
    duration_ms bigint not null,
    status bigint,
    outcome text not null,
    detail text,
    answer text,
    constraint webhook_attempt_pkey primary key (id),
    constraint webhook_attempt_outcome_check check (outcome in ('delivered', 'failed', 'givenUp'))
);
create index webhook_attempt_webhook_idx on webhook_attempt (webhook_id, attempted_at);
create index webhook_attempt_attempted_at_idx on webhook_attempt (attempted_at);
