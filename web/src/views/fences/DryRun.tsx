// What a fence would have recorded in the last week, while it is drawn and before it is saved.

import { useComputed, useSignal, useSignalEffect } from "@preact/signals";

import { api } from "../../api/client";
import { Problem } from "../../api/problem";
import type { DryRunResult, Rules, ShapeSpec } from "../../api/schema";
import { moment } from "../../format";
import { ringsOf } from "../../map/draw/rings";
import type { Draft } from "../../parts/form";
import { now } from "../../state/clock";
import { scope } from "../../state/fleet";
import { strings } from "../../strings";

const words = strings.manage.fences.dryRun;
const WEEK_MS = 7 * 86_400_000;
/** Nothing is asked while a hand still moves. */
const STILL_MS = 700;
/** A colleague's fence is being tried out: asked again after so long. */
const AGAIN_MS = 3_000;

export function DryRun({ draft, isNew }: { draft: Draft; isNew: boolean }) {
  const found = useSignal<DryRunResult | null>(null);
  const isRefused = useSignal(false);
  // what else is written in the form asks nothing
  const wanted = useComputed(() => {
    const { shape, rules } = draft.value.value as { shape?: ShapeSpec; rules?: Rules };
    const changes = draft.changes();
    const isTold = !isNew && !("shape" in changes) && !("rules" in changes);
    return isTold || !shape || ringsOf(shape).length === 0 ? null : JSON.stringify({ shape, rules });
  });
  useSignalEffect(() => {
    const asked = wanted.value;
    found.value = null;
    isRefused.value = false;
    if (asked === null) return;
    const abort = new AbortController();
    let timer = 0;
    const ask = () => {
      const to = now.peek();
      const body = { ...scope.peek(), ...JSON.parse(asked), from: new Date(to - WEEK_MS).toISOString(), to: new Date(to).toISOString() };
      api.post("/v1/geofences/dry-run", { body, signal: abort.signal }).then((result) => { found.value = result; }, (problem: unknown) => {
        if (abort.signal.aborted) return;
        if (problem instanceof Problem && problem.code === "busy") timer = window.setTimeout(ask, AGAIN_MS);
        // a shape that cannot be is told when it is saved
        else isRefused.value = true;
      });
    };
    timer = window.setTimeout(ask, STILL_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  });
  if (wanted.value === null || isRefused.value) return null;
  return <p class="quiet dry-run" aria-live="polite">{found.value ? sentence(found.value) : words.asking}</p>;
}

function sentence({ visitCount, vehicleCount, readThrough, isComplete }: DryRunResult): string {
  if (!isComplete) return words.upTo(visitCount, vehicleCount, moment(readThrough));
  return visitCount === 0 ? words.none : words.visits(visitCount, vehicleCount);
}
