//! A tracker that comes back with a large memory: late fixes over HTTP while everything else goes on.

use std::time::Duration;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::tour::{Area, Tour};
use crate::Api;
use crate::trace::Point;

/// Fixes in a request.
const ITEMS: usize = 500;
/// The backlog's tour is that of a vehicle number that no run has.
const NUMBER: u32 = u32::MAX;

/// The outcome of the backlog.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BacklogReport {
    /// Late fixes to send.
    pub fixes: u64,
    /// Of these, committed.
    pub accepted: u64,
    /// From the first request to the last answer, seconds.
    pub seconds: f64,
}

/// Sends `count` late fixes as one tracker, one request after another, through restarts of the server.
pub(super) async fn send(
    api: &Api,
    token: &str,
    area: Area,
    seed: u64,
    count: u32,
    reconnect_for: Duration,
) -> Result<BacklogReport> {
    let begun = Instant::now();
    // Older than every other made-up tour, so that all of it is late.
    let points: Vec<Point> = Tour::ending_before_all(area, seed, NUMBER, count).collect();
    let mut report = BacklogReport { fixes: points.len() as u64, ..BacklogReport::default() };
    for items in points.chunks(ITEMS) {
        let since = Instant::now();
        let answer = loop {
            match api.send_as(token, "/v1/positions", &json!({ "items": items })).await {
                Err(_) if since.elapsed() < reconnect_for => sleep(Duration::from_millis(200)).await,
                answer => break answer?,
            }
        };
        report.accepted += answer["accepted"].as_u64().context("an answer without accepted")?;
    }
    report.seconds = begun.elapsed().as_secs_f64();
    Ok(report)
}
