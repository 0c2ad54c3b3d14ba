-- Programs that sign in: API accounts of an organization, or of none yet. `founded_organization_id` is the one
-- such an account made and is bound to once it is active. Written by ops/system_users and auth.
create table system_user (
    id uuid not null,
    organization_id uuid,
    founded_organization_id uuid,
    name text not null,
    search_key text not null,
    email text not null,
    email_key text not null,
    password_hash text not null,
    scopes jsonb not null,
    status text not null,
    email_verified_at timestamptz,
    last_login_at timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    constraint system_user_pkey primary key (id),
    constraint system_user_organization_fkey foreign key (organization_id) references organization (id),
    constraint system_user_founded_organization_fkey foreign key (founded_organization_id) references organization (id),
    constraint system_user_status_check check (status in ('pendingVerification', 'active', 'disabled'))
);
create unique index system_user_email_key on system_user (email_key) where deleted_at is null;
create index system_user_organization_idx on system_user (organization_id);
create index system_user_founded_organization_idx on system_user (founded_organization_id);

-- Refresh tokens are held by people or by programs.
alter table refresh_token
    alter column account_id drop not null,
    add column system_user_id uuid,
    add constraint refresh_token_system_user_fkey foreign key (system_user_id) references system_user (id),
    add constraint refresh_token_holder_check check ((account_id is null) <> (system_user_id is null));
create index refresh_token_system_user_idx on refresh_token (system_user_id);

-- A newer link of the same purpose took this one's place.
alter table one_time_token add column superseded_at timestamptz;
create index one_time_token_subject_idx on one_time_token (purpose, subject_id);

-- Letters to be written and sent: what to say to whom, never the token of its link, which is made when the letter is
-- written. Without a subject somebody asked for one, and the writer looks whether there is a reason. Put in the
-- transaction of what causes the letter; worked off by mail.
create table mail_outbox (
    id uuid not null,
    letter text not null,
    subject_id uuid,
    recipient text not null,
    greeting text not null,
    about text,
    created_at timestamptz not null,
    due_at timestamptz not null,
    attempts bigint not null,
    given_up_at timestamptz,
    failure text,
    constraint mail_outbox_pkey primary key (id)
);
create index mail_outbox_due_idx on mail_outbox (due_at) where given_up_at is null;
create index mail_outbox_given_up_idx on mail_outbox (given_up_at) where given_up_at is not null;
