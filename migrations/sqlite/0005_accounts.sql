-- Programs that sign in: API accounts of an organization, or of none yet. `founded_organization_id` is the one
-- such an account made and is bound to once it is active. Written by ops/system_users and auth.
create table system_user (
    id blob not null,
    organization_id blob,
    founded_organization_id blob,
    name text not null,
    search_key text not null,
    email text not null,
    email_key text not null,
    password_hash text not null,
    scopes text not null,
    status text not null,
    email_verified_at integer,
    last_login_at integer,
    created_at integer not null,
    updated_at integer not null,
    deleted_at integer,
    constraint system_user_pkey primary key (id),
    constraint system_user_organization_fkey foreign key (organization_id) references organization (id),
    constraint system_user_founded_organization_fkey foreign key (founded_organization_id) references organization (id),
    constraint system_user_status_check check (status in ('pendingVerification', 'active', 'disabled'))
) strict;
create unique index system_user_email_key on system_user (email_key) where deleted_at is null;
create index system_user_organization_idx on system_user (organization_id);
create index system_user_founded_organization_idx on system_user (founded_organization_id);

-- Refresh tokens are held by people or by programs: SQLite makes the table anew for that.
create table refresh_token_of_both (
    token_hash blob not null,
    family_id blob not null,
    account_id blob,
    system_user_id blob,
    created_at integer not null,
    expires_at integer not null,
    ends_at integer not null,
    used_at integer,
    revoked_at integer,
    constraint refresh_token_pkey primary key (token_hash),
    constraint refresh_token_account_fkey foreign key (account_id) references account (id),
    constraint refresh_token_system_user_fkey foreign key (system_user_id) references system_user (id),
    constraint refresh_token_holder_check check ((account_id is null) <> (system_user_id is null))
) strict;
insert into refresh_token_of_both
    (token_hash, family_id, account_id, created_at, expires_at, ends_at, used_at, revoked_at)
    select token_hash, family_id, account_id, created_at, expires_at, ends_at, used_at, revoked_at from refresh_token;
drop table refresh_token;
alter table refresh_token_of_both rename to refresh_token;
create index refresh_token_family_idx on refresh_token (family_id);
create index refresh_token_account_idx on refresh_token (account_id);
create index refresh_token_system_user_idx on refresh_token (system_user_id);

-- A newer link of the same purpose took this one's place.
alter table one_time_token add column superseded_at integer;
create index one_time_token_subject_idx on one_time_token (purpose, subject_id);

-- Letters to be written and sent: what to say to whom, never the token of its link, which is made when the letter is
-- written. Without a subject somebody asked for one, and the writer looks whether there is a reason. Put in the
-- transaction of what causes the letter; worked off by mail.
create table mail_outbox (
    id blob not null,
    letter text not null,
    subject_id blob,
    recipient text not null,
    greeting text not null,
    about text,
    created_at integer not null,
    due_at integer not null,
    attempts integer not null,
    given_up_at integer,
    failure text,
    constraint mail_outbox_pkey primary key (id)
) strict;
create index mail_outbox_due_idx on mail_outbox (due_at) where given_up_at is null;
create index mail_outbox_given_up_idx on mail_outbox (given_up_at) where given_up_at is not null;
