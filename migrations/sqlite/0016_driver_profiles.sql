-- A driver is a person of the platform, and what an organization has on record of one is its own: driver_profile.
-- The creator's data becomes the creator's profile; another organization that holds the driver begins with an
-- empty one. What a deleted organization had is deleted with it, and a person whom nobody else has on record.
-- Written by ops/drivers and ops/driver_lock.
create table driver_profile (
    driver_id blob not null,
    organization_id blob not null,
    email text,
    phone text,
    employee_code text,
    notes text,
    documents text not null,
    status text not null,
    search_key text not null,
    created_at integer not null,
    updated_at integer not null,
    deleted_at integer,
    constraint driver_profile_pkey primary key (driver_id, organization_id),
    constraint driver_profile_driver_fkey foreign key (driver_id) references driver (id),
    constraint driver_profile_organization_fkey foreign key (organization_id) references organization (id),
    constraint driver_profile_status_check check (status in ('active', 'inactive', 'suspended'))
) strict;
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

-- A column with a check cannot be dropped: the table is made anew. Assignments and profiles refer to it; they are held
-- against it at the commit.
pragma defer_foreign_keys = on;
create temporary table driver_before as select * from driver;
drop table driver;
create table driver (
    id blob not null,
    creator_organization_id blob not null,
    lock_organization_id blob,
    locked_at integer,
    lock_reason text,
    first_name text not null,
    last_name text not null,
    search_key text not null,
    date_of_birth text,
    license text,
    license_country text,
    license_key text,
    license_expires_at text,
    created_at integer not null,
    updated_at integer not null,
    deleted_at integer,
    constraint driver_pkey primary key (id),
    constraint driver_creator_fkey foreign key (creator_organization_id) references organization (id),
    constraint driver_lock_fkey foreign key (lock_organization_id) references organization (id),
    constraint driver_lock_check check ((lock_organization_id is null) = (locked_at is null)),
    constraint driver_license_check check ((license_country is null) = (license_key is null))
) strict;
create unique index driver_license_key on driver (license_key, license_country) where deleted_at is null;
insert into driver (id, creator_organization_id, lock_organization_id, locked_at, lock_reason, first_name, last_name,
    search_key, date_of_birth, license, license_country, license_key, license_expires_at, created_at, updated_at, deleted_at)
select id, creator_organization_id, lock_organization_id, locked_at, lock_reason, first_name, last_name,
    substr(search_key, 1, length(replace(first_name || last_name, '  ', ' ')) + 1),
    date_of_birth, license, license_country, license_key, license_expires_at, created_at, updated_at, deleted_at
from driver_before;
drop table driver_before;
update driver set deleted_at = updated_at
where deleted_at is null and not exists (select 1 from driver_profile p where p.driver_id = driver.id and p.deleted_at is null);
