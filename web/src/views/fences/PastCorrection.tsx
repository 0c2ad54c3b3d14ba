// What of the past a fence that was dated back still changes, looked at until nothing is left.

import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";

import { api } from "../../api/client";
import type { PastCorrection as Waiting } from "../../api/schema";
import { useEvery } from "../../parts/Listing";
import { Newest } from "../../parts/newest";
import { scope } from "../../state/fleet";
import { notice } from "../../state/notices";
import { strings } from "../../strings";

const words = strings.manage.fences;
const LOOK_EVERY_MS = 2000;

export function PastCorrection({ id, version }: { id: string; version: string | undefined }) {
  const waiting = useSignal<Waiting | null>(null);
  const newest = useMemo(() => new Newest(), []);
  const look = async () => {
    const counts = newest.ask();
    const fence = await api.get("/v1/geofences/{id}", { path: { id }, query: scope.peek() });
    if (counts()) waiting.value = fence.pastCorrection ?? null;
  };
  useEffect(() => { look().catch(notice); }, [version]);
  useEvery(LOOK_EVERY_MS, async () => { if (waiting.peek()) await look(); });
  if (!waiting.value) return null;
  const { vehicleCount } = waiting.value;
  return <p role="status" class="quiet">{vehicleCount == null ? words.pastLookedUp : words.pastWaits(vehicleCount)}</p>;
}
