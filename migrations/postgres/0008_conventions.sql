-- Answers of requests that carried an Idempotency-Key, for a day. The key itself is hashed, and what it
-- locks (the answer may hold a token) opens with the key only. Written by ops/once, in the transaction of
-- what was made.
create table idempotency (
    key_hash bytea not null,
    fingerprint bytea not null,
    answer bytea not null,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    constraint idempotency_pkey primary key (key_hash)
);
create index idempotency_expires_idx on idempotency (expires_at);

-- Who changed what of the master data, with the members that changed. Only ever added to, by ops/audit,
-- in the transaction of the change.
create table audit (
    id uuid not null,
    organization_id uuid,
    actor_id uuid not null,
    actor_role text not null,
    action text not null,
    resource text not null,
    resource_id uuid not null,
    request_id text,
    before jsonb,
    after jsonb,
    occurred_at timestamptz not null,
    constraint audit_pkey primary key (id)
);
create index audit_organization_idx on audit (organization_id, id);
create function refuse_audit_change() returns trigger language plpgsql as
    $$ begin raise exception 'audit rows are never changed'; end $$;
create trigger audit_is_never_changed before update on audit
    for each row execute function refuse_audit_change();
