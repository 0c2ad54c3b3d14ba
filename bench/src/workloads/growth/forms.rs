//! The lists and charts that are asked of a grown store: those of everyday use, and those whose filter finds little.

use waypost_actors::clock;

use crate::systems::Ready;

/// An id that nothing has.
const NOBODY: &str = "01890000-0000-7000-8000-000000000000";

/// The paths of all requests, with what stands for the store's own ids and instants.
const FORMS: &[&str] = &[
    "/v1/vehicles?",
    "/v1/vehicles?limit=200",
    "/v1/vehicles?q=zzz",
    "/v1/vehicles?sort=-updatedAt",
    "/v1/vehicles?asOf={middle}",
    "/v1/vehicles/{vehicle}?",
    "/v1/vehicles/unassigned-active?",
    "/v1/drivers?",
    "/v1/drivers?q=d1",
    "/v1/drivers/{driver}/vehicles?",
    "/v1/geofences?",
    "/v1/geofences?limit=200",
    "/v1/trackers?",
    "/v1/positions?limit=200",
    "/v1/audit?",
    "/v1/audit?from={middle}&to={next}",
    "/v1/audit?resourceId={idle}",
    "/v1/audit?resourceId={vehicle}",
    "/v1/audit?action=delete",
    "/v1/audit?actorId={nobody}",
    "/v1/audit?resource=user",
    "/v1/geofence-events?",
    "/v1/geofence-events?limit=200",
    "/v1/geofence-events?vehicleId={vehicle}",
    "/v1/geofence-events?vehicleId={idle}",
    "/v1/geofence-events?vehicleId={vehicle}&sort=sequence",
    "/v1/geofence-events?vehicleId={idle}&sort=sequence",
    "/v1/geofence-events?geofenceId={depot}",
    "/v1/geofence-events?geofenceId={customer}",
    "/v1/geofence-events?geofenceId={unvisited}",
    "/v1/geofence-events?geofenceId={unvisited}&sort=sequence",
    "/v1/geofence-events?driverId={driver}",
    "/v1/geofence-events?driverId={spare}",
    "/v1/geofence-events?type=dwell",
    "/v1/geofence-events?type=dwell&from={middle}&to={month}",
    "/v1/geofence-events?cause=initial",
    "/v1/geofence-events?origin=backfill",
    "/v1/geofence-events?inferred=true",
    "/v1/geofence-events?status=retracted",
    "/v1/geofence-events?minDurationSeconds=10",
    "/v1/geofence-events?minDurationSeconds=720000",
    "/v1/geofence-events?minDurationSeconds=720000&vehicleId={vehicle}",
    "/v1/geofence-events?minDurationSeconds=720000&geofenceId={depot}",
    "/v1/geofence-events?from={middle}&to={next}",
    "/v1/geofence-events?sort=occurredAt",
    "/v1/geofence-events?sort=sequence",
    "/v1/geofence-events?sort=sequence&from={day}",
    "/v1/geofence-events?vehicleId={vehicle}&geofenceId={unvisited}",
    "/v1/geofence-events?vehicleId={vehicle}&geofenceId={depot}",
    "/v1/geofence-events/vehicle/{vehicle}?",
    "/v1/geofence-events/geofence/{depot}/vehicles?",
    "/v1/geofence-events/geofence/{depot}/vehicles?asOf={middle}",
    "/v1/geofence-events/geofence/{depot}/vehicles?asOf={middle}&limit=200",
    "/v1/geofence-events/geofence/{depot}/vehicles?asOf={driving}",
    "/v1/geofence-events/geofence/{unvisited}/vehicles?asOf={middle}",
    "/v1/visits?",
    "/v1/visits?limit=200",
    "/v1/visits?vehicleId={vehicle}",
    "/v1/visits?vehicleId={idle}",
    "/v1/visits?driverId={driver}",
    "/v1/visits?driverId={spare}",
    "/v1/visits?geofenceId={depot}",
    "/v1/visits?geofenceId={unvisited}",
    "/v1/visits?open=true",
    "/v1/visits?open=true&vehicleId={vehicle}",
    "/v1/visits?open=true&geofenceId={customer}",
    "/v1/visits?from={middle}&to={next}",
    "/v1/visits?from={day}&sort=enteredAt",
    "/v1/visits?from={now}",
    "/v1/visits?minDurationSeconds=720000",
    "/v1/visits?minDurationSeconds=720000&vehicleId={vehicle}",
    "/v1/visits?minDurationSeconds=720000&geofenceId={depot}",
    "/v1/trips?",
    "/v1/trips?vehicleId={vehicle}&from={middle}&to={next}",
    "/v1/stops?",
    "/v1/stops?vehicleId={idle}",
    "/v1/events?",
    "/v1/events?type=drain",
    "/v1/events?vehicleId={idle}",
    "/v1/alerts?",
    "/v1/alerts?open=true",
    "/v1/alerts?rule=drain",
    "/v1/changes?",
    "/v1/vehicles/{vehicle}/positions?",
    "/v1/vehicles/{vehicle}/positions?from={middle}&to={next}",
    "/v1/vehicles/{vehicle}/positions?from={middle}&to={month}&limit=1000",
    "/v1/vehicles/{idle}/positions?",
    "/v1/fuel?",
    "/v1/fuel?vehicleId={tank}",
    "/v1/fuel?vehicleId={idle}",
    "/v1/fuel?quality=sensorError",
    "/v1/fuel?quality=sensorError&vehicleId={tank}",
    "/v1/fuel?sort=recordedAt",
    "/v1/fuel?from={middle}&to={next}",
    "/v1/fuel/events?",
    "/v1/fuel/events?status=retracted",
    "/v1/fuel/events?sort=sequence",
    "/v1/fuel/chart?vehicleId={tank}&from={middle}&to={next}",
    "/v1/fuel/chart?vehicleId={tank}&from={first}&to={now}",
    "/v1/fuel/consumption?vehicleId={tank}&from={middle}&to={month}",
    "/v1/fuel/consumption?vehicleId={tank}&from={first}&to={now}",
];

/// The requests for a store with `days` of history.
pub(super) fn forms(ready: &Ready, days: u32) -> Vec<(&'static str, String)> {
    let ago = |days: f64| clock::now().plus_seconds(-86_400.0 * days).to_string();
    let midnight = clock::now().as_millis().rem_euclid(86_400_000) as f64 / 86_400_000.0;
    let days = f64::from(days);
    let middle = (days / 2.0).ceil() + midnight;
    let id = |all: &[String], index: usize| all.get(index).cloned().unwrap_or_default();
    let last = |all: &[String]| all.last().cloned().unwrap_or_default();
    let known = [
        ("{vehicle}", id(&ready.vehicles, 1)),
        ("{tank}", id(&ready.vehicles, 0)),
        ("{idle}", last(&ready.vehicles)),
        ("{driver}", id(&ready.drivers, 0)),
        ("{spare}", last(&ready.drivers)),
        ("{depot}", id(&ready.fences, 1)),
        ("{customer}", id(&ready.fences, 20)),
        ("{unvisited}", last(&ready.fences)),
        ("{nobody}", NOBODY.to_owned()),
        ("{first}", ago(days + 0.9)),
        ("{middle}", ago(middle)),
        ("{driving}", ago(middle - 8.1 / 24.0)),
        ("{next}", ago(middle - 1.0)),
        ("{month}", ago((middle - 30.0).max(0.0))),
        ("{day}", ago(1.0)),
        ("{now}", ago(0.0)),
    ];
    let path = |form: &str| {
        let path = known.iter().fold(form.to_owned(), |path, (name, value)| path.replace(name, value));
        path.replacen('?', &format!("?organizationId={}&", ready.organization), 1)
    };
    FORMS.iter().map(|form| (*form, path(form))).collect()
}
