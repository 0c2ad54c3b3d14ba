-- Fences and defaults of before `holdWhileStanding` have it, as new ones do.
update geofence set rules = jsonb_set(rules, '{holdWhileStanding}', 'true')
    where rules -> 'holdWhileStanding' is null;
update geofence_version set rules = jsonb_set(rules, '{holdWhileStanding}', 'true')
    where rules -> 'holdWhileStanding' is null;
update organization set settings = jsonb_set(settings, '{geofenceDefaults,holdWhileStanding}', 'true')
    where jsonb_typeof(settings -> 'geofenceDefaults') = 'object'
    and settings -> 'geofenceDefaults' -> 'holdWhileStanding' is null;
