-- Long-lived keys of system users: what a program signs in with that nobody signs in by password. A revoked key is
-- gone; the audit remembers it. Written by ops/api_keys, ops/system_users and, for its last use, by auth.
create table api_key (
    id blob not null,
    system_user_id blob not null,
    name text not null,
    scopes text not null,
    token_hash blob not null,
    expires_at integer,
    last_used_at integer,
    created_at integer not null,
    updated_at integer not null,
    constraint api_key_pkey primary key (id),
    constraint api_key_system_user_fkey foreign key (system_user_id) references system_user (id)
) strict;
create unique index api_key_token_hash_key on api_key (token_hash);
create index api_key_system_user_idx on api_key (system_user_id);
