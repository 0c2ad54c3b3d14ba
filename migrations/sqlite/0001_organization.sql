-- Tenants and the people who sign in. Written by ops/organizations, ops/users and auth.
create table organization (
    id blob not null,
    name text not null,
    slug text not null,
    search_key text not null,
    contact_email text not null,
    contact_phone text,
    address text,
    status text not null,
    email_verified_at integer,
    activated_at integer,
    activation_method text,
    settings text not null,
    subscription text not null,
    created_at integer not null,
    updated_at integer not null,
    constraint organization_pkey primary key (id),
    constraint organization_slug_key unique (slug),
    constraint organization_status_check check (status in ('pendingActivation', 'active', 'inactive', 'deleted')),
    constraint organization_activation_method_check check (activation_method in ('email', 'manual'))
) strict;

-- Platform operators (no organization) and the users of organizations. Written by ops/users and auth.
create table account (
    id blob not null,
    organization_id blob,
    email text not null,
    email_key text not null,
    first_name text not null,
    last_name text not null,
    phone text,
    role text not null,
    status text not null,
    password_hash text,
    locale text,
    timezone text,
    last_login_at integer,
    created_at integer not null,
    updated_at integer not null,
    constraint account_pkey primary key (id),
    constraint account_email_key unique (email_key),
    constraint account_organization_fkey foreign key (organization_id) references organization (id),
    constraint account_role_check check (role in ('superAdmin', 'admin', 'orgAdmin', 'dispatcher', 'viewer')),
    constraint account_status_check check (status in ('invited', 'active', 'disabled', 'locked')),
    constraint account_operator_check check ((organization_id is null) = (role in ('superAdmin', 'admin')))
) strict;
create index account_organization_idx on account (organization_id);

-- Refresh tokens, hashed; the reuse of a used one revokes its family. Each is good for a while
-- (expires_at), its family no longer than ends_at. Written by auth.
create table refresh_token (
    token_hash blob not null,
    family_id blob not null,
    account_id blob not null,
    created_at integer not null,
    expires_at integer not null,
    ends_at integer not null,
    used_at integer,
    revoked_at integer,
    constraint refresh_token_pkey primary key (token_hash),
    constraint refresh_token_account_fkey foreign key (account_id) references account (id)
) strict;
create index refresh_token_family_idx on refresh_token (family_id);
create index refresh_token_account_idx on refresh_token (account_id);

-- Failed sign-ins of an address, known or not, counted in a window. Written by auth.
create table login_attempt (
    email_key text not null,
    failures integer not null,
    window_ends_at integer not null,
    constraint login_attempt_pkey primary key (email_key)
) strict;
create index login_attempt_window_idx on login_attempt (window_ends_at);

-- One-time links (setup, sign-in of the demo), hashed. Written by auth.
create table one_time_token (
    token_hash blob not null,
    purpose text not null,
    subject_id blob,
    created_at integer not null,
    expires_at integer not null,
    used_at integer,
    constraint one_time_token_pkey primary key (token_hash)
) strict;

-- Secrets that sign access tokens and cursors. Written at the first start.
create table signing_key (
    kid text not null,
    secret blob not null,
    created_at integer not null,
    retired_at integer,
    constraint signing_key_pkey primary key (kid)
) strict;
