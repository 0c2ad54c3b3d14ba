-- Answers of requests that carried an Idempotency-Key, for a day. The key itself is hashed, and what it
-- locks (the answer may hold a token) opens with the key only. Written by ops/once, in the transaction of
-- what was made.
create table idempotency (
    key_hash blob not null,
    fingerprint blob not null,
    answer blob not null,
    created_at integer not null,
    expires_at integer not null,
    constraint idempotency_pkey primary key (key_hash)
) strict;
create index idempotency_expires_idx on idempotency (expires_at);

-- Who changed what of the master data, with the members that changed. Only ever added to, by ops/audit,
-- in the transaction of the change.
create table audit (
    id blob not null,
    organization_id blob,
    actor_id blob not null,
    actor_role text not null,
    action text not null,
    resource text not null,
    resource_id blob not null,
    request_id text,
    before text,
    after text,
    occurred_at integer not null,
    constraint audit_pkey primary key (id)
) strict;
create index audit_organization_idx on audit (organization_id, id);
create trigger audit_is_never_changed before update on audit
begin
    select raise(abort, 'audit rows are never changed');
end;
