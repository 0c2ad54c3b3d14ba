-- Requests for activation by mail, as superAdmins list them. `expired` is no state of its own: it is told by
-- expires_at. The token itself is a hash in one_time_token. Written by ops/organizations.
create table activation_request (
    id uuid not null,
    organization_id uuid not null,
    email text collate "C" not null,
    email_key text not null,
    status text not null,
    requested_at timestamptz not null,
    last_sent_at timestamptz,
    sent_count bigint not null,
    expires_at timestamptz not null,
    updated_at timestamptz not null,
    constraint activation_request_pkey primary key (id),
    constraint activation_request_organization_fkey foreign key (organization_id) references organization (id),
    constraint activation_request_status_check check (status in ('pending', 'verified', 'superseded', 'manuallyActivated'))
);
create unique index activation_request_pending_key on activation_request (organization_id) where status = 'pending';
create index activation_request_organization_idx on activation_request (organization_id);

-- Users are searched and listed.
alter table account add column search_key text not null default '';
update account set search_key = lower(first_name || ' ' || last_name || ' ' || email);
alter table account alter column email type text collate "C";
alter table account alter column first_name type text collate "C";
alter table account alter column last_name type text collate "C";
