// When a tracker was last heard and what was refused of it, looked at again and again as long as it is shown.

import { type ReadonlySignal, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";

import { api } from "../api/client";
import type { TrackerReports } from "../api/schema";
import { scope } from "../state/fleet";
import { notice } from "../state/notices";
import { useEvery } from "./Listing";
import { Newest } from "./newest";

/** Null until the first answer. The feed tells nothing of reports. */
export function useReports(id: string, everyMs: number): ReadonlySignal<TrackerReports | null> {
  const reports = useSignal<TrackerReports | null>(null);
  const newest = useMemo(() => new Newest(), []);
  const look = async () => {
    const counts = newest.ask();
    const found = await api.get("/v1/trackers/{id}/reports", { path: { id }, query: scope.peek() });
    if (counts()) reports.value = found;
  };
  useEffect(() => { look().catch(notice); }, []);
  useEvery(everyMs, look);
  return reports;
}
