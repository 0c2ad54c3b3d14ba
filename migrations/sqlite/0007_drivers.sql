-- People who drive: of the whole platform, not of one organization. Who holds the lock keeps a driver, and
-- while nobody does its creator; store/driver.rs says what each may see. Written by ops/drivers.
create table driver (
    id blob not null,
    creator_organization_id blob not null,
    lock_organization_id blob,
    locked_at integer,
    lock_reason text,
    first_name text not null,
    last_name text not null,
    search_key text not null,
    email text,
    phone text,
    employee_code text,
    date_of_birth text,
    license text,
    license_country text,
    license_key text,
    license_expires_at text,
    documents text not null,
    status text not null,
    created_at integer not null,
    updated_at integer not null,
    deleted_at integer,
    constraint driver_pkey primary key (id),
    constraint driver_creator_fkey foreign key (creator_organization_id) references organization (id),
    constraint driver_lock_fkey foreign key (lock_organization_id) references organization (id),
    constraint driver_lock_check check ((lock_organization_id is null) = (locked_at is null)),
    constraint driver_license_check check ((license_country is null) = (license_key is null)),
    constraint driver_status_check check (status in ('active', 'inactive', 'suspended'))
) strict;
create index driver_keeper_idx on driver ((coalesce(lock_organization_id, creator_organization_id)), created_at);
create unique index driver_license_key on driver (license_key, license_country) where deleted_at is null;

-- Who drove what when: from started_at, inclusive, to ended_at, exclusive; one without an end is open. Ended
-- ones never change. Written by ops/assignments, ops/driver_lock, ops/drivers and ops/vehicles.
create table assignment (
    id blob not null,
    organization_id blob not null,
    driver_id blob not null,
    vehicle_id blob not null,
    started_at integer not null,
    ended_at integer,
    assigned_by blob not null,
    ended_by blob,
    end_reason text,
    created_at integer not null,
    updated_at integer not null,
    constraint assignment_pkey primary key (id),
    constraint assignment_organization_fkey foreign key (organization_id) references organization (id),
    constraint assignment_driver_fkey foreign key (driver_id) references driver (id),
    constraint assignment_vehicle_fkey foreign key (vehicle_id) references vehicle (id),
    constraint assignment_order_check check (ended_at >= started_at),
    constraint assignment_end_check check ((ended_at is null) = (end_reason is null)),
    constraint assignment_end_reason_check
        check (end_reason in ('unassigned', 'reassigned', 'driverDeleted', 'driverUnlocked', 'vehicleDeleted'))
) strict;
create unique index assignment_open_key on assignment (vehicle_id) where ended_at is null;
create index assignment_vehicle_idx on assignment (vehicle_id, started_at);
create index assignment_driver_idx on assignment (driver_id, started_at);

-- Nobody drives what another one drives, past or present. PostgreSQL has an exclusion constraint for this.
create trigger assignment_overlap_insert before insert on assignment
when exists (
    select 1 from assignment a where a.vehicle_id = new.vehicle_id
        and (a.ended_at is null or (a.ended_at > new.started_at and a.ended_at > a.started_at))
        and (new.ended_at is null or (new.ended_at > a.started_at and new.ended_at > new.started_at))
)
begin
    select raise(abort, 'assignment_overlap');
end;
create trigger assignment_overlap_update before update of vehicle_id, started_at, ended_at on assignment
when exists (
    select 1 from assignment a where a.vehicle_id = new.vehicle_id and a.id <> new.id
        and (a.ended_at is null or (a.ended_at > new.started_at and a.ended_at > a.started_at))
        and (new.ended_at is null or (new.ended_at > a.started_at and new.ended_at > new.started_at))
)
begin
    select raise(abort, 'assignment_overlap');
end;
