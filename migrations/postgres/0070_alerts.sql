-- Alerts: records that a dispatcher should look at. Written by the track writer only.
alter table records drop constraint records_kind_check;
alter table records add constraint records_kind_check check (kind in ('entry', 'exit', 'dwell', 'refuel', 'drain', 'overspeed',
    'online', 'stale', 'offline', 'trip', 'stop', 'alert'));

-- Alerts: of an organization, of a vehicle, as they were numbered, and those that go on. Their rule is the cause.
create index records_alert_idx on records (organization_id, occurred_at, id) where kind = 'alert';
create index records_alert_feed_idx on records (organization_id, shard, sequence) where kind = 'alert';
create index records_vehicle_alert_idx on records (vehicle_id, occurred_at, id) where kind = 'alert';
create index records_open_alert_idx on records (organization_id, occurred_at, id)
    where kind = 'alert' and status = 'active' and ended_at is null;

-- What is done with an alert is among the changes.
alter table change drop constraint change_resource_check;
alter table change add constraint change_resource_check check (resource in
    ('organization', 'vehicle', 'tracker', 'geofence', 'driver', 'user', 'systemUser', 'apiKey', 'assignment', 'alert'));

-- What dispatchers did with an alert: that somebody has seen it, and until when it is put off. Written by store/alert;
-- retention deletes the rows whose alert is gone.
create table alert_state (
    alert_id uuid not null,
    organization_id uuid not null,
    acknowledged_at timestamptz,
    acknowledged_by uuid,
    snoozed_until timestamptz,
    snoozed_by uuid,
    updated_at timestamptz not null,
    constraint alert_state_pkey primary key (alert_id),
    constraint alert_state_organization_fkey foreign key (organization_id) references organization (id)
);
create index alert_state_organization_idx on alert_state (organization_id);

-- Whose licences have expired.
create index driver_license_expiry_idx on driver (license_expires_at) where license_expires_at is not null;
