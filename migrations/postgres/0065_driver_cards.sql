-- Cards of drivers: who has which, and what the readers in the vehicles said, of which assignments are made.

-- As the organization wrote them, a list of texts; written with the profile.
alter table driver_profile add column cards jsonb not null default '[]';

-- Whose a card is in an organization, in the form in which cards are compared. Written with the profile.
create table driver_card (
    organization_id uuid not null,
    card_key text not null,
    driver_id uuid not null,
    constraint driver_card_pkey primary key (organization_id, card_key),
    constraint driver_card_driver_fkey foreign key (driver_id) references driver (id)
);
create index driver_card_driver_idx on driver_card (driver_id);

-- For whom a card assigned vehicles, and when: while its driver was active and held. Written with the profile and the lock; the
-- track writer clears unsettled_from, since when the assignments may not be as it says, once they are.
create table card_holding (
    id uuid not null,
    organization_id uuid not null,
    card_key text not null,
    driver_id uuid not null,
    held_from timestamptz not null,
    held_until timestamptz,
    unsettled_from timestamptz,
    constraint card_holding_pkey primary key (id),
    constraint card_holding_driver_fkey foreign key (driver_id) references driver (id)
);
create index card_holding_card_idx on card_holding (organization_id, card_key);
create index card_holding_driver_idx on card_holding (driver_id);
create index card_holding_waiting_idx on card_holding (id) where unsettled_from is not null;

-- From when on the reader of a vehicle said another card than before; an empty one: none. Until its next row, whatever fixes say
-- nothing of it. Written by the track writer, as the stored fixes say.
create table card_run (
    vehicle_id uuid not null,
    reported_at timestamptz not null,
    card_key text not null,
    constraint card_run_pkey primary key (vehicle_id, reported_at)
);
create index card_run_card_idx on card_run (card_key, vehicle_id);

-- Vehicles whose fixes have to be read again for their cards, since a card came late: from when on, and up to the last late one.
-- Written by the track writer.
create table card_scan (
    vehicle_id uuid not null,
    scan_from timestamptz not null,
    scan_until timestamptz not null,
    noted_at timestamptz not null,
    constraint card_scan_pkey primary key (vehicle_id)
);

-- Assignments have an origin, and nobody began one that a card made.
alter table assignment add column origin text not null default 'manual';
alter table assignment alter column assigned_by drop not null;
alter table assignment drop constraint assignment_end_reason_check;
alter table assignment add constraint assignment_end_reason_check check (end_reason in
    ('unassigned', 'reassigned', 'driverDeleted', 'driverUnlocked', 'vehicleDeleted', 'cardEnded'));
alter table assignment add constraint assignment_origin_check check (origin in ('manual', 'card'));
alter table assignment add constraint assignment_assigned_by_check check ((origin = 'card') = (assigned_by is null));
