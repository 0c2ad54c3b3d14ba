//! Imports many geofences at once: the good ones are created in one transaction, the others reported one by one.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use waypost_actors::model::GeofenceId;

use super::change::Change;
use super::error::OpError;
use super::geofences::new_geofence;
use super::own_organization::{Counted, require_room, settings_of};
use super::scoped::Scoped;
use crate::auth::Action;
use crate::context::Context;
use crate::domain::body::Params;
use crate::domain::field::{FieldError, MOST_ERRORS};
use crate::domain::geofence::{Geofence, UpdateGeofence};
use crate::store::geofence;

/// A feature to import: the members of a geofence, or the reasons why there are none.
pub type Feature = Result<Value, Vec<FieldError>>;

/// What became of an import. What was made is in force; what was not can be mended and sent again by itself.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Imported {
    /// How many were made.
    pub created: usize,
    /// How many were not.
    pub failed: usize,
    /// One for each feature, in their order.
    pub results: Vec<ImportResult>,
}

/// What became of a feature.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportResult {
    /// Which, from 0.
    pub index: usize,
    /// The geofence that was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<GeofenceId>,
    /// Why none was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<ImportProblem>,
}

/// Why no geofence was made of a feature.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportProblem {
    /// As of other problems: `/problems` explains it.
    #[schema(example = "validationFailed")]
    pub code: String,
    /// What happened.
    pub detail: String,
    /// Every member that is wrong, by its place in the body.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
}

/// Features to import, read one at a time because they take far more memory than their geofences.
pub struct Features<F, T> {
    /// The number of features.
    pub count: usize,
    /// Reads a feature.
    pub feature: F,
    /// The right to process them, given back when all are read.
    pub turn: T,
}

/// Creates geofences from features. `place` translates a pointer into a feature to the request body.
pub async fn import_geofences<F: AsyncFn(usize) -> Feature, T>(
    context: &Context,
    by: &Scoped,
    features: Features<F, T>,
    place: impl Fn(usize, &str) -> String,
) -> Result<Imported, OpError> {
    let scope = by.scope(context, Action::WriteGeofences).await?;
    let settings = settings_of(context, &scope).await?;
    let now = context.clock.now();
    let Features { count, feature, turn } = features;
    let mut read: Vec<Result<Geofence, ImportProblem>> = Vec::with_capacity(count);
    for index in 0..count {
        let feature = feature(index).await;
        let made = match feature {
            Ok(members) => {
                new_geofence(&scope, &settings, Params::<UpdateGeofence>::from(members), now).await
            }
            Err(errors) => Err(OpError::Invalid(errors)),
        };
        read.push(match made {
            Ok(geofence) => Ok(geofence),
            Err(OpError::Invalid(errors)) => Err(invalid(errors, |pointer| place(index, pointer))),
            Err(error) => return Err(error),
        });
    }
    drop((feature, turn));
    let mut change = Change::within(context, Some(&by.caller), Some(scope)).await?.at(now);
    let mut recorded = change.as_before();
    for item in &mut read {
        let Ok(geofence) = item.as_ref() else { continue };
        match require_room(change.tx(), &scope, Counted::Geofences).await {
            Ok(()) => {
                geofence::insert(change.tx(), &scope, geofence).await?;
                recorded = change.created(geofence).await?;
            }
            Err(OpError::PlanLimit { what, limit }) => {
                let detail = format!("the plan allows {limit} {what}");
                *item =
                    Err(ImportProblem { code: "planLimitReached".to_owned(), detail, errors: Vec::new() });
            }
            Err(error) => return Err(error),
        }
    }
    change.commit(recorded, imported(read)).await
}

fn invalid(mut errors: Vec<FieldError>, place: impl Fn(&str) -> String) -> ImportProblem {
    errors.truncate(MOST_ERRORS);
    for error in &mut errors {
        error.pointer = place(&error.pointer);
    }
    let detail =
        errors.first().map(|error| format!("{} {}", error.pointer, error.detail)).unwrap_or_default();
    ImportProblem { code: "validationFailed".to_owned(), detail, errors }
}

fn imported(read: Vec<Result<Geofence, ImportProblem>>) -> Imported {
    let (count, created) = (read.len(), read.iter().flatten().count());
    let results = read.into_iter().enumerate().map(|(index, item)| match item {
        Ok(geofence) => ImportResult { index, id: Some(geofence.id), problem: None },
        Err(problem) => ImportResult { index, id: None, problem: Some(problem) },
    });
    Imported { created, failed: count - created, results: results.collect() }
}
