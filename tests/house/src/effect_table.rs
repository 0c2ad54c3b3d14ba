//! The types whose members are set, and for each member a file in which it has its effect and the code that reads it
//! there. What is only kept for people is read where it is shown, or where it is stored.

/// A member, a file, and the code in it that reads the member.
pub(crate) type Effect = (&'static str, &'static str, &'static str);

/// A body's organization is read before the body.
pub(crate) const ORGANIZATION: Effect =
    ("organization_id", "src/domain/body.rs", "self.sent(\"organizationId\")");

/// Where a type is declared, its name, and its members.
pub(crate) const EFFECTS: &[(&str, &str, &[Effect])] = &[
    (
        "src/domain/organization_settings.rs",
        "Settings",
        &[
            ("timezone", "web/src/state/conventions.ts", "settings?.timezone"),
            ("locale", "web/src/state/conventions.ts", "settings?.locale"),
            ("units", "web/src/state/conventions.ts", "settings?.units"),
            ("geofence_defaults", "src/ops/geofences.rs", "settings.geofence_defaults"),
            ("stale_after_seconds", "src/store/organization.rs", "self.stale_after_seconds"),
            ("offline_after_seconds", "src/store/organization.rs", "self.offline_after_seconds"),
            ("assignment", "src/ops/assignments.rs", "settings.assignment"),
            ("retention", "src/store/retention.rs", "settings.retention"),
        ],
    ),
    (
        "src/domain/organization_settings.rs",
        "AssignmentSettings",
        &[
            ("block_on_expired_license", "src/ops/assignments.rs", "block_on_expired_license"),
            ("max_open_vehicles_per_driver", "src/ops/assignments.rs", "max_open_vehicles_per_driver"),
        ],
    ),
    (
        "src/domain/organization_settings.rs",
        "Retention",
        &[
            ("positions_days", "src/store/retention.rs", "retention.positions_days"),
            ("fuel_days", "src/store/retention.rs", "retention.fuel_days"),
            ("events_days", "src/store/retention.rs", "retention.events_days"),
        ],
    ),
    (
        "src/domain/organization_settings.rs",
        "Subscription",
        &[
            ("plan", "web/src/views/organization/OrganizationView.tsx", "words.plans[plan]"),
            ("status", "src/auth/holder.rs", "subscription.is_running(now)"),
            ("period_start", "src/domain/organization_settings.rs", "end <= start"),
            ("period_end", "src/auth/holder.rs", "subscription.is_running(now)"),
            ("limits", "src/ops/own_organization.rs", "subscription.limits"),
        ],
    ),
    (
        "src/domain/organization_settings.rs",
        "Limits",
        &[
            ("vehicles", "src/ops/own_organization.rs", "limits.vehicles"),
            ("drivers", "src/ops/own_organization.rs", "limits.drivers"),
            ("users", "src/ops/own_organization.rs", "limits.users"),
            ("geofences", "src/ops/own_organization.rs", "limits.geofences"),
        ],
    ),
    (
        "src/domain/organization.rs",
        "OrganizationIn",
        &[
            ("name", "src/ops/letters.rs", "name"),
            ("slug", "src/ops/organizations.rs", "attributes.slug"),
            ("contact_email", "src/ops/letters.rs", "contact_email"),
            (
                "contact_phone",
                "web/src/views/organization/OrganizationView.tsx",
                "words.contactPhone, contactPhone",
            ),
            ("address", "web/src/views/organization/OrganizationView.tsx", "words.address, address"),
            ("settings", "src/store/retention.rs", "settings.retention"),
            ("subscription", "src/auth/holder.rs", "subscription.is_running(now)"),
        ],
    ),
    (
        "src/domain/organization.rs",
        "CreateOrganization",
        &[("admin", "src/ops/organizations.rs", "&admin.email")],
    ),
    (
        "src/domain/organization.rs",
        "FirstAdminIn",
        &[
            ("email", "src/ops/organizations.rs", "&admin.email"),
            ("first_name", "src/ops/letters.rs", "first_name"),
            ("last_name", "web/src/views/users/UsersView.tsx", "lastName"),
        ],
    ),
    (
        "src/domain/organization.rs",
        "UpdateOrganization",
        &[("status", "src/auth/holder.rs", "organization_status")],
    ),
    (
        "src/domain/user.rs",
        "UserIn",
        &[
            ("email", "src/store/account.rs", "email_key"),
            ("first_name", "src/ops/letters.rs", "first_name"),
            ("last_name", "web/src/views/users/UsersView.tsx", "lastName"),
            ("phone", "web/src/views/users/UsersView.tsx", "/phone"),
            ("role", "src/auth/caller.rs", "action.allows(*role)"),
            ("locale", "web/src/state/conventions.ts", "me.value?.locale"),
            ("timezone", "web/src/state/conventions.ts", "me.value?.timezone"),
        ],
    ),
    ("src/domain/user.rs", "CreateUser", &[ORGANIZATION]),
    (
        "src/domain/user.rs",
        "UpdateUser",
        &[
            ("status", "src/auth/holder.rs", "AccountStatus::Active"),
            ("current_password", "src/ops/users.rs", "body.sent(\"currentPassword\")"),
        ],
    ),
    (
        "src/domain/vehicle.rs",
        "VehicleIn",
        &[
            ("name", "src/store/vehicle.rs", "search_key"),
            ("plate", "src/store/vehicle.rs", "plate_number"),
            ("vin", "src/store/vehicle.rs", "attributes.vin"),
            ("make", "web/src/views/vehicle/AsEntered.tsx", "vehicle.make"),
            ("model", "web/src/views/vehicle/AsEntered.tsx", "vehicle.model"),
            ("year", "web/src/views/vehicle/AsEntered.tsx", "vehicle.year"),
            ("color", "web/src/views/vehicle/AsEntered.tsx", "vehicle.color"),
            ("category", "web/src/views/vehicle/AsEntered.tsx", "vehicle.category"),
            ("status", "src/ops/assignments.rs", "VehicleStatus::Active"),
            ("fuel", "src/ops/vehicles.rs", "attributes.fuel"),
            ("tracking", "src/ops/vehicles.rs", "attributes.tracking"),
        ],
    ),
    (
        "src/domain/vehicle.rs",
        "Plate",
        &[
            ("number", "src/store/vehicle.rs", "plate_number"),
            ("country", "src/store/vehicle.rs", "plate_country"),
        ],
    ),
    (
        "src/domain/vehicle.rs",
        "Tracking",
        &[
            ("tracker_id", "src/ops/vehicles.rs", "tracker_id"),
            ("interval_seconds", "src/domain/vehicle.rs", "seconds(self.interval_seconds)"),
            ("stopped_interval_seconds", "src/domain/vehicle.rs", "seconds(self.stopped_interval_seconds)"),
            ("max_speed_kmh", "actors/src/tracking/motion.rs", "max_speed_kmh"),
            ("max_accuracy_meters", "actors/src/tracking/timeline.rs", "limits.max_accuracy_meters"),
            ("overspeed_kmh", "actors/src/tracking/overspeed.rs", "limits.overspeed_kmh"),
        ],
    ),
    (
        "src/domain/vehicle.rs",
        "CreateVehicle",
        &[ORGANIZATION, ("tracker", "src/ops/vehicles.rs", "tracker, ..")],
    ),
    ("src/domain/vehicle.rs", "NewTrackerIn", &[("unique_id", "src/ops/vehicles.rs", "unique_id")]),
    (
        "src/domain/vehicle_fuel.rs",
        "VehicleFuel",
        &[
            ("kind", "web/src/views/vehicle/AsEntered.tsx", "words.fuelKinds[fuel.kind]"),
            ("tank_capacity_liters", "src/ops/vehicles.rs", "tank_capacity_liters"),
            ("norm_liters_per_100_km", "web/src/views/vehicle/AsEntered.tsx", "fuel?.normLitersPer100Km"),
            ("sensor", "src/ops/vehicles.rs", "sensor"),
            ("effective_from", "src/ops/vehicles.rs", "effective_from.flatten()"),
        ],
    ),
    (
        "actors/src/model/sensor.rs",
        "Sensor",
        &[
            ("kind", "actors/src/fuel/level.rs", "sensor.kind"),
            ("tank_capacity_liters", "actors/src/fuel/level.rs", "sensor.tank_capacity_liters"),
            ("calibration", "actors/src/fuel/level.rs", "&sensor.calibration"),
            ("min_valid", "actors/src/fuel/level.rs", "sensor.min_valid"),
            ("max_valid", "actors/src/fuel/level.rs", "sensor.max_valid"),
            ("error_codes", "actors/src/fuel/level.rs", "sensor.error_codes"),
            ("window_seconds", "actors/src/fuel/tank.rs", "sensor.window_seconds"),
        ],
    ),
    (
        "actors/src/model/fence.rs",
        "Rules",
        &[
            ("exit_margin_meters", "actors/src/tracking/leaving.rs", "rules.exit_margin_meters"),
            ("min_inside_seconds", "actors/src/tracking/leaving.rs", "rules.min_inside_seconds"),
            ("min_outside_seconds", "actors/src/tracking/leaving.rs", "rules.min_outside_seconds"),
            ("infer_passages", "actors/src/tracking/passage.rs", "rules.infer_passages"),
            ("hold_while_standing", "actors/src/tracking/leaving.rs", "rules.hold_while_standing"),
            ("max_gap_seconds", "actors/src/tracking/crossing.rs", "rules.max_gap_seconds"),
            ("dwell_after_seconds", "actors/src/tracking/judge.rs", "rules.dwell_after_seconds"),
            ("speed_limit_kmh", "actors/src/tracking/overspeed.rs", "rules.speed_limit_kmh"),
        ],
    ),
    (
        "src/domain/geofence.rs",
        "GeofenceIn",
        &[
            ("name", "web/src/views/palette/targets.ts", "name, category"),
            ("description", "src/store/geofence.rs", "search_key"),
            ("category", "src/store/geofence.rs", "and category in"),
            ("color", "web/src/views/fences/FencesView.tsx", "background: color"),
            ("enabled", "src/store/geofence.rs", "enabled"),
            ("shape", "src/ops/geofences.rs", "attributes.shape"),
            ("rules", "actors/src/tracking/leaving.rs", "version.rules"),
        ],
    ),
    (
        "src/domain/geofence.rs",
        "UpdateGeofence",
        &[("effective_from", "src/ops/geofences.rs", "in_effect(effective_from, now)")],
    ),
    (
        "src/domain/geofence.rs",
        "CreateGeofence",
        &[ORGANIZATION, ("effective_from", "src/ops/geofences.rs", "in_effect(effective_from, now)")],
    ),
    (
        "src/domain/tracker.rs",
        "TrackerIn",
        &[
            ("unique_id", "src/store/tracker.rs", "unique_id in ("),
            ("model", "web/src/views/trackers/TrackerDetail.tsx", "tracker.model"),
            ("status", "src/auth/tracker.rs", "TrackerStatus::Active"),
            ("speed_unit", "src/ingest/intake.rs", "tracker.speed_unit"),
            ("installations", "src/ops/trackers.rs", "attributes.installations"),
        ],
    ),
    (
        "src/domain/tracker.rs",
        "Installation",
        &[
            ("vehicle_id", "src/store/tracker.rs", "stay.vehicle_id"),
            ("from", "src/store/tracker.rs", "stay.from"),
            ("to", "src/store/tracker.rs", "stay.to"),
        ],
    ),
    (
        "src/domain/tracker.rs",
        "CreateTracker",
        &[ORGANIZATION, ("vehicle_id", "src/ops/trackers.rs", "tracker.moved(vehicle_id")],
    ),
    (
        "src/domain/tracker.rs",
        "UpdateTracker",
        &[("vehicle_id", "src/ops/trackers.rs", "tracker, vehicle_id")],
    ),
    (
        "src/domain/webhook.rs",
        "WebhookIn",
        &[
            ("url", "src/webhooks/client.rs", ".post(url)"),
            ("description", "web/src/views/webhooks/names.ts", "description ?? "),
            ("event_types", "src/webhooks/message.rs", "self.event_types.matches"),
            ("vehicle_ids", "src/webhooks/message.rs", "set(&of.vehicle_ids)"),
            ("geofence_ids", "src/webhooks/message.rs", "set(&of.geofence_ids)"),
            ("enabled", "src/store/webhook.rs", "enabled"),
        ],
    ),
    ("src/domain/alert.rs", "SnoozeAlert", &[("until", "src/ops/alerts.rs", "until")]),
    ("src/domain/webhook.rs", "CreateWebhook", &[ORGANIZATION]),
    ("src/domain/webhook.rs", "ResendWebhook", &[("since", "src/ops/webhooks.rs", "{ since }")]),
    (
        "src/domain/driver.rs",
        "Person",
        &[
            ("first_name", "src/store/driver.rs", "first_name"),
            ("last_name", "src/store/driver.rs", "last_name"),
            ("date_of_birth", "web/src/views/drivers/DriverDetail.tsx", "driver.dateOfBirth"),
            ("license", "src/ops/assignments.rs", "license"),
        ],
    ),
    (
        "src/domain/license.rs",
        "License",
        &[
            ("number", "web/src/views/drivers/DriverDetail.tsx", "license.number"),
            ("country", "web/src/views/drivers/DriverDetail.tsx", "license.country"),
            ("categories", "web/src/views/drivers/DriverDetail.tsx", "license?.categories"),
            ("issued_at", "web/src/views/drivers/DriverForm.tsx", "/license/issuedAt"),
            ("expires_at", "web/src/views/drivers/DriverDetail.tsx", "license.expiresAt"),
            ("issuing_authority", "src/store/driver.rs", "row.license"),
        ],
    ),
    (
        "src/domain/driver.rs",
        "Profile",
        &[
            ("email", "web/src/views/drivers/DriverDetail.tsx", "driver.email"),
            ("cards", "src/ops/drivers.rs", "profile.cards"),
            ("phone", "web/src/views/drivers/DriverDetail.tsx", "driver.phone"),
            ("employee_code", "web/src/views/drivers/DriverDetail.tsx", "driver.employeeCode"),
            ("notes", "web/src/views/drivers/DriverDetail.tsx", "driver.notes"),
            ("documents", "src/ops/drivers.rs", "profile.documents"),
            ("cards", "src/ops/drivers.rs", "profile.cards"),
            ("status", "src/ops/assignments.rs", "DriverStatus::Active"),
        ],
    ),
    (
        "src/domain/driver_document.rs",
        "Document",
        &[
            ("id", "src/ops/drivers.rs", ".id"),
            ("kind", "src/store/driver_profile.rs", "documents"),
            ("number", "src/store/driver_profile.rs", "documents"),
            ("issued_at", "src/domain/driver_document.rs", "date(\"issuedAt\")"),
            ("expires_at", "src/domain/driver_document.rs", "date(\"expiresAt\")"),
            ("note", "src/store/driver_profile.rs", "documents"),
            ("file", "src/ops/driver_files.rs", ".file"),
        ],
    ),
    (
        "src/domain/share.rs",
        "CreateShare",
        &[
            ORGANIZATION,
            ("name", "src/ops/shares.rs", "new.name"),
            ("vehicle_ids", "src/ops/shares.rs", "new.vehicle_ids"),
            ("ends_at", "src/ops/shares.rs", "new.ends_at"),
            ("geofence_id", "src/ops/shares.rs", "new.geofence_id"),
        ],
    ),
    ("src/domain/driver.rs", "CreateDriver", &[ORGANIZATION, ("lock", "src/ops/drivers.rs", "lock, ..")]),
    (
        "src/domain/driver.rs",
        "LockIn",
        &[ORGANIZATION, ("reason", "src/ops/driver_lock.rs", "reason.as_deref()")],
    ),
    ("src/domain/driver.rs", "UnlockIn", &[ORGANIZATION]),
    (
        "src/domain/assignment.rs",
        "AssignVehicle",
        &[
            ORGANIZATION,
            ("vehicle_id", "src/ops/assignments.rs", "wish.vehicle_id"),
            ("started_at", "src/ops/assignments.rs", "wish.started_by(now)"),
            ("force", "src/ops/assignments.rs", "wish.force"),
        ],
    ),
    (
        "src/domain/assignment.rs",
        "CorrectionIn",
        &[
            ("started_at", "src/ops/assignment_history.rs", "attributes.started_at"),
            ("ended_at", "src/ops/assignment_history.rs", "attributes.ended_at"),
        ],
    ),
    (
        "src/domain/system_user.rs",
        "SystemUserIn",
        &[
            ("name", "web/src/views/programs/ProgramsView.tsx", "one.name"),
            ("scopes", "src/auth/caller.rs", "user.scopes"),
        ],
    ),
    (
        "src/domain/system_user.rs",
        "CreateSystemUser",
        &[
            ("name", "web/src/views/programs/ProgramsView.tsx", "one.name"),
            ("email", "src/store/system_user.rs", "email_key(email)"),
            ("password", "src/ops/system_users.rs", "new.password"),
            ("scopes", "src/auth/caller.rs", "user.scopes"),
            ORGANIZATION,
        ],
    ),
    (
        "src/domain/system_user.rs",
        "UpdateSystemUser",
        &[
            ("status", "src/auth/holder.rs", "SystemUserStatus::Active"),
            (
                "password",
                "src/ops/system_users.rs",
                "hash_password(&request_context::peer().address, password)",
            ),
        ],
    ),
];
