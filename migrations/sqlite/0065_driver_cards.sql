-- Cards of drivers: who has which, and what the readers in the vehicles said, of which assignments are made.

-- As the organization wrote them, a list of texts; written with the profile.
alter table driver_profile add column cards text not null default '[]';

-- Whose a card is in an organization, in the form in which cards are compared. Written with the profile.
create table driver_card (
    organization_id blob not null,
    card_key text not null,
    driver_id blob not null,
    constraint driver_card_pkey primary key (organization_id, card_key),
    constraint driver_card_driver_fkey foreign key (driver_id) references driver (id)
) strict;
create index driver_card_driver_idx on driver_card (driver_id);

-- For whom a card assigned vehicles, and when: while its driver was active and held. Written with the profile and the lock; the
-- track writer clears unsettled_from, since when the assignments may not be as it says, once they are.
create table card_holding (
    id blob not null,
    organization_id blob not null,
    card_key text not null,
    driver_id blob not null,
    held_from integer not null,
    held_until integer,
    unsettled_from integer,
    constraint card_holding_pkey primary key (id),
    constraint card_holding_driver_fkey foreign key (driver_id) references driver (id)
) strict;
create index card_holding_card_idx on card_holding (organization_id, card_key);
create index card_holding_driver_idx on card_holding (driver_id);
create index card_holding_waiting_idx on card_holding (id) where unsettled_from is not null;

-- From when on the reader of a vehicle said another card than before; an empty one: none. Until its next row, whatever fixes say
-- nothing of it. Written by the track writer, as the stored fixes say.
create table card_run (
    vehicle_id blob not null,
    reported_at integer not null,
    card_key text not null,
    constraint card_run_pkey primary key (vehicle_id, reported_at)
) strict;
create index card_run_card_idx on card_run (card_key, vehicle_id);

-- Vehicles whose fixes have to be read again for their cards, since a card came late: from when on, and up to the last late one.
-- Written by the track writer.
create table card_scan (
    vehicle_id blob not null,
    scan_from integer not null,
    scan_until integer not null,
    noted_at integer not null,
    constraint card_scan_pkey primary key (vehicle_id)
) strict;

-- Assignments have an origin, and nobody began one that a card made. SQLite cannot change a constraint, so the table is made anew.
alter table assignment rename to assignment_before;
create table assignment (
    id blob not null,
    organization_id blob not null,
    driver_id blob not null,
    vehicle_id blob not null,
    started_at integer not null,
    ended_at integer,
    assigned_by blob,
    ended_by blob,
    end_reason text,
    created_at integer not null,
    updated_at integer not null,
    origin text not null default 'manual',
    constraint assignment_pkey primary key (id),
    constraint assignment_organization_fkey foreign key (organization_id) references organization (id),
    constraint assignment_driver_fkey foreign key (driver_id) references driver (id),
    constraint assignment_vehicle_fkey foreign key (vehicle_id) references vehicle (id),
    constraint assignment_order_check check (ended_at >= started_at),
    constraint assignment_end_check check ((ended_at is null) = (end_reason is null)),
    constraint assignment_end_reason_check check (end_reason in
        ('unassigned', 'reassigned', 'driverDeleted', 'driverUnlocked', 'vehicleDeleted', 'cardEnded')),
    constraint assignment_origin_check check (origin in ('manual', 'card')),
    constraint assignment_assigned_by_check check ((origin = 'card') = (assigned_by is null))
) strict;
insert into assignment (id, organization_id, driver_id, vehicle_id, started_at, ended_at, assigned_by, ended_by, end_reason,
    created_at, updated_at)
select id, organization_id, driver_id, vehicle_id, started_at, ended_at, assigned_by, ended_by, end_reason, created_at, updated_at
from assignment_before;
drop table assignment_before;
create unique index assignment_open_key on assignment (vehicle_id) where ended_at is null;
create index assignment_vehicle_idx on assignment (vehicle_id, started_at);
create index assignment_driver_idx on assignment (driver_id, started_at);
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
