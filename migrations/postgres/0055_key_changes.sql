-- Keys of system users are among the changes. Every edit writes its rows, and the track writer numbers them.
alter table change drop constraint change_resource_check;
alter table change add constraint change_resource_check check (resource in
    ('organization', 'vehicle', 'tracker', 'geofence', 'driver', 'user', 'systemUser', 'apiKey', 'assignment'));
