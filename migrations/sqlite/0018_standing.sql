-- Fences and defaults of before `holdWhileStanding` have it, as new ones do.
update geofence set rules = json_set(rules, '$.holdWhileStanding', json('true'))
    where json_type(rules, '$.holdWhileStanding') is null;
update geofence_version set rules = json_set(rules, '$.holdWhileStanding', json('true'))
    where json_type(rules, '$.holdWhileStanding') is null;
update organization set settings = json_set(settings, '$.geofenceDefaults.holdWhileStanding', json('true'))
    where json_type(settings, '$.geofenceDefaults') = 'object'
    and json_type(settings, '$.geofenceDefaults.holdWhileStanding') is null;
