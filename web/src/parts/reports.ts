// When a tracker was last heard and what was refused of it, looked at again and again as long as it is shown.

import { type ReadonlySignal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { api } from "../api/client";
import type { TrackerReports } from "../api/schema";
import { scope } from "../state/fleet";
import { notice } from "../state/notices";
import { useEvery } from "./Listing";

/** Null until the first answer. The feed tells nothing of reports. */
export function useReports(id: string, everyMs: number): ReadonlySignal<TrackerReports | null> {
  const reports = useSignal<TrackerReports | null>(null);
  const look = async () => {
    reports.value = await api.get("/v1/trackers/{id}/reports", { path: { id }, query: scope.peek() });
  };
  useEffect(() => { look().catch(notice); }, []);
  useEvery(everyMs, look);
  return reports;
}
