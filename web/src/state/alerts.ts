// The alerts that ask for somebody's attention, shared by all who are signed in; their count stands in the title. Loaded after the
// page stands.

import { computed, effect, signal, untracked } from "@preact/signals";

import { api } from "../api/client";
import { reached } from "../api/reach";
import { me } from "../api/session";
import type { Alert, AlertRule } from "../api/schema";
import { call } from "./alerting";
import { alertsTold, edits, organization, scope } from "./fleet";
import { notice } from "./notices";

/** As many as one may want to read; whoever has more has another problem. */
const MOST = 50;
/** What happens together is asked for once. */
const GATHER_MS = 300;
/** What was put off asks again, and a drain is a day old, without a word of the feed. */
const AGAIN_MS = 60_000;
const HOUR_MS = 3_600_000;

/** The most urgent first. */
const RANKS: readonly AlertRule[] = ["drain", "silentWhileMoving", "overspeed", "licenseExpired", "dwell"];

const open = signal<readonly Alert[]>([]);
/** Whether they are known: before, nobody can say that there is none. */
export const isKnown = signal(false);
/** Whether there are more than are held. */
export const isMore = signal(false);

/** Those that nobody has seen first, the more urgent rule first, the newest first. */
export const alerts = computed(() => [...open.value].sort((a, b) =>
  Number(Boolean(a.acknowledgedAt)) - Number(Boolean(b.acknowledgedAt))
  || RANKS.indexOf(a.rule) - RANKS.indexOf(b.rule)
  || Date.parse(b.startedAt) - Date.parse(a.startedAt)));

/** How many nobody has seen. */
export const unseen = computed(() => alerts.value.filter((alert) => !alert.acknowledgedAt).length);

let asked = 0;
/** Those there were the last time; null before: what is there at the start calls nobody. */
let known: ReadonlySet<string> | null = null;

async function load(): Promise<void> {
  const number = ++asked;
  const found = await api.get("/v1/alerts", { query: { ...scope.peek(), open: true, limit: MOST } });
  if (number !== asked) return;
  const isNew = ({ id, acknowledgedAt }: Alert) => known !== null && !known.has(id) && !acknowledgedAt;
  const fresh = found.data.filter(isNew);
  known = new Set(found.data.map(({ id }) => id));
  open.value = found.data;
  isKnown.value = true;
  isMore.value = found.pagination.hasNextPage;
  call(fresh);
}

/** Follows the alerts of the organization shown, from now on. */
export function followAlerts(): void {
  const title = document.title;
  let timer = 0;
  const soon = (afterMs: number) => {
    clearTimeout(timer);
    timer = window.setTimeout(() => {
      if (me.peek() && organization.peek()) load().catch(notice);
      soon(AGAIN_MS);
    }, afterMs);
  };
  const whose = computed(() => `${me.value?.id ?? ""} ${organization.value?.id ?? ""}`);
  effect(() => {
    whose.value;
    asked += 1;
    known = null;
    isKnown.value = false;
    open.value = [];
    untracked(() => soon(0));
  });
  effect(() => {
    alertsTold.value;
    edits.value.alert;
    reached.value;
    untracked(() => soon(GATHER_MS));
  });
  effect(() => { document.title = unseen.value > 0 ? `(${unseen.value}) ${title}` : title; });
}

/** Says that one is seen. */
export async function acknowledge({ id }: Alert): Promise<void> {
  await api.post("/v1/alerts/{id}/acknowledge", { path: { id }, query: scope.peek() });
  await load();
}

/** Puts one off for an hour. */
export async function snooze({ id }: Alert, nowMs: number): Promise<void> {
  const until = new Date(nowMs + HOUR_MS).toISOString();
  await api.post("/v1/alerts/{id}/snooze", { path: { id }, query: scope.peek(), body: { until } });
  await load();
}
