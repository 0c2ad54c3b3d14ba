-- One table for everything that is numbered: entries, exits, dwells, refuels and drains. What a kind tells beside the
-- columns is `detail`: what the vehicle did inside, of an exit; levels, of a refuel or a drain. `shard`: whose numbers
-- `sequence` is one of; there is one. Written by the track writer only.
alter table geofence_event rename to records;
alter table records rename column analytics to detail;
alter table records add column shard smallint not null default 0;
alter table records add column ended_at timestamptz;
alter table records alter column visit_id drop not null;
alter table records alter column geofence_id drop not null;
alter table records alter column geofence_version drop not null;
alter table records alter column time_uncertainty_seconds drop not null;
alter table records alter column cause drop not null;
alter table records alter column inferred drop not null;
alter table records alter column latitude drop not null;
alter table records alter column longitude drop not null;
alter table records alter column fix_recorded_at drop not null;
alter table records alter column fix_latitude drop not null;
alter table records alter column fix_longitude drop not null;
alter table records rename constraint geofence_event_pkey to records_pkey;
alter table records rename constraint geofence_event_status_check to records_status_check;
alter table records drop constraint geofence_event_kind_check;
alter table records drop constraint geofence_event_sequence_key;

insert into records (id, sequence, kind, status, revision, organization_id, vehicle_id, driver_id, occurred_at,
    ended_at, confirmed_at, detected_at, origin, latitude, longitude, detail)
    select id, sequence, kind, status, revision, organization_id, vehicle_id, driver_id, started_at,
    ended_at, confirmed_at, detected_at, origin, latitude, longitude,
    jsonb_build_object('levelBeforeLiters', level_before_liters, 'levelAfterLiters', level_after_liters,
        'volumeLiters', volume_liters, 'motion', motion, 'confidence', confidence, 'geofenceIds', geofence_ids,
        'calibrationVersion', calibration_version)
    from fuel_event;
drop table fuel_event;

alter table records add constraint records_sequence_key unique (shard, sequence);
alter table records add constraint records_kind_check
    check (kind in ('entry', 'exit', 'dwell', 'refuel', 'drain', 'overspeed'));

alter index geofence_event_organization_idx rename to records_organization_idx;
alter index geofence_event_vehicle_idx rename to records_vehicle_idx;
alter index geofence_event_lagging_idx rename to records_lagging_idx;
drop index geofence_event_geofence_idx;
create index records_geofence_idx on records (geofence_id, occurred_at, id) where geofence_id is not null;
drop index geofence_event_feed_idx;
create index records_feed_idx on records (organization_id, shard, sequence);
create index records_vehicle_feed_idx on records (vehicle_id, shard, sequence);
create index records_driver_idx on records (organization_id, driver_id, occurred_at, id) where driver_id is not null;

-- What few records are; lists say it in the same words.
create index records_dwell_idx on records (organization_id, occurred_at, id) where kind = 'dwell';
create index records_overspeed_idx on records (organization_id, occurred_at, id) where kind = 'overspeed';
create index records_fuel_idx on records (organization_id, occurred_at, id) where kind in ('refuel', 'drain');
create index records_vehicle_fuel_idx on records (vehicle_id, occurred_at, id) where kind in ('refuel', 'drain');
create index records_retracted_idx on records (organization_id, occurred_at, id) where status = 'retracted';
create index records_inferred_idx on records (organization_id, occurred_at, id) where inferred;
create index records_cause_idx on records (organization_id, occurred_at, id) where cause <> 'crossing';
create index records_origin_idx on records (organization_id, occurred_at, id) where origin <> 'live';
