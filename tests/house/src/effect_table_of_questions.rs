//! The table of effects goes on: what is asked or found of what is recorded, and not kept as master data; and programs' keys.

use crate::effect_table::{Effect, ORGANIZATION};

/// Where a type is declared, its name, and its members.
pub(crate) const OF_QUESTIONS: &[(&str, &str, &[Effect])] = &[
    (
        "src/domain/dry_run.rs",
        "DryRunGeofence",
        &[
            ORGANIZATION,
            ("shape", "src/ops/geofence_dry_run.rs", "asked.shape"),
            ("rules", "src/ops/geofence_dry_run.rs", "asked.rules"),
            ("from", "src/ops/geofence_dry_run.rs", "asked.from"),
            ("to", "src/ops/geofence_dry_run.rs", "asked.to"),
            ("vehicle_ids", "src/ops/geofence_dry_run.rs", "&asked.vehicle_ids"),
        ],
    ),
    (
        "src/domain/fuel_verdict.rs",
        "FuelVerdictIn",
        &[
            ("outcome", "src/store/fuel_verdict.rs", "found.outcome"),
            ("note", "src/store/fuel_verdict.rs", "found.note"),
        ],
    ),
    (
        "src/domain/api_key.rs",
        "CreateApiKey",
        &[
            ("name", "web/src/views/programs/Keys.tsx", "key.name"),
            ("scopes", "src/auth/api_keys.rs", "key_scopes"),
            ("expires_at", "src/auth/api_keys.rs", "require_unexpired(expires_at"),
        ],
    ),
];
