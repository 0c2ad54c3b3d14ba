-- Days of `fuel_log` for charts and consumption (docs/store.md): of one vehicle, from midnight UTC on. `claim`: whoever packs
-- the day now, or packed it last; `levels`: null until it is packed. Claimed and packed by store/fuel_packing; a transaction that
-- changes a reading of such a day deletes its row.
create table fuel_day (
    vehicle_id blob not null,
    day integer not null,
    organization_id blob not null,
    claim blob not null,
    levels blob,
    constraint fuel_day_pkey primary key (vehicle_id, day)
) strict;
create index fuel_day_day_idx on fuel_day (day);
