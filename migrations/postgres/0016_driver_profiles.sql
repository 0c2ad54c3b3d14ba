-- A driver is a person of the platform, and what an organization has on record of one is its own: driver_profile.
-- The creator's data becomes the creator's profile; another organization that holds the driver begins with an
-- empty one. What a deleted organization had is deleted with it, and a person whom nobody else has on record.
-- Written by ops/drivers and ops/driver_lock.
create table driver_profile (
    driver_id uuid not null,
    organization_id uuid not null,
    email text,
    phone text,
    employee_code text,
    notes text,
    documents jsonb not null,
    status text not null,
    search_key text not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    constraint driver_profile_pkey primary key (driver_id, organization_id),
    constraint driver_profile_driver_fkey foreign key (driver_id) references driver (id),
    constraint driver_profile_organization_fkey foreign key (organization_id) references organization (id),
    constraint driver_profile_status_check check (status in ('active', 'inactive', 'suspended'))
);
create index driver_profile_organization_idx on driver_profile (organization_id, created_at);

-- The folded text that is searched began with the names; what followed was the creator's. Twice a space was folded to one.
insert into driver_profile (driver_id, organization_id, email, phone, employee_code, documents, status, search_key,
    created_at, updated_at, deleted_at)
select d.id, d.creator_organization_id, d.email, d.phone, d.employee_code, d.documents, d.status,
    substr(d.search_key, length(replace(d.first_name || d.last_name, '  ', ' ')) + 3),
    d.created_at, d.updated_at,
    coalesce(d.deleted_at, (select o.updated_at from organization o where o.id = d.creator_organization_id and o.status = 'deleted'))
from driver d;
insert into driver_profile (driver_id, organization_id, documents, status, search_key, created_at, updated_at)
select id, lock_organization_id, '[]', 'active', '', locked_at, locked_at
from driver where lock_organization_id <> creator_organization_id and deleted_at is null;

drop index driver_keeper_idx;
alter table driver drop column email, drop column phone, drop column employee_code, drop column documents, drop column status;
update driver set search_key = substr(search_key, 1, length(replace(first_name || last_name, '  ', ' ')) + 1);
update driver set deleted_at = updated_at
where deleted_at is null and not exists (select 1 from driver_profile p where p.driver_id = driver.id and p.deleted_at is null);
