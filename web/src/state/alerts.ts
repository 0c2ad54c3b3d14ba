// The alerts that ask for somebody's attention, shared by all who are signed in; their count stands in the title. Loaded after the
// page stands.

import { computed, effect, signal, untracked } from "@preact/signals";

import { api, slices } from "../api/client";
import { reached } from "../api/reach";
import { me } from "../api/session";
import type { Alert, AlertRule } from "../api/schema";
import { whole } from "../numbers";
import { call } from "./alerting";
import { now } from "./clock";
import { alertsTold, edits, organization, scope } from "./fleet";
import { notice } from "./notices";
import { once } from "./once";

/** As many as the server gives at once, and 10,000 of them: an urgent one may be older than many others. */
const SLICE = 200;
const MOST_SLICES = 50;
/** What happens together is asked for once; where they are many slices, as much later. */
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
export const alerts = computed<readonly Alert[]>(() => open.value
  .map((alert) => ({ alert, isSeen: Number(Boolean(alert.acknowledgedAt)), rank: RANKS.indexOf(alert.rule), at: Date.parse(alert.startedAt) }))
  .sort((a, b) => a.isSeen - b.isSeen || a.rank - b.rank || b.at - a.at)
  .map(({ alert }) => alert));

/** How many nobody has seen. */
export const unseen = computed(() => alerts.value.filter((alert) => !alert.acknowledgedAt).length);

let asked = 0;
/** What there was the last time; null before: what is there at the start calls nobody. */
let last: Seen | null = null;

interface Seen {
  readonly ids: ReadonlySet<string>;
  /** Whether that is all there was; else one that is not among them may be an old one, for which there was no room. */
  readonly isAll: boolean;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** Whether it asks for somebody since then: it was found, or is no longer put off. */
const isNewSince = ({ detectedAt, snoozedUntil }: Alert, { isAll, at }: Seen): boolean =>
  isAll || Date.parse(detectedAt) >= at || Date.parse(snoozedUntil ?? "") >= at;

const NOTHING = { data: [], pagination: { hasNextPage: false } };

/** How many slices there were the last time. */
let sliceCount = 1;

/** What was done here since the newest question for all of them: its answer may be from before. */
const done = new Map<string, Alert>();

const withDone = (list: readonly Alert[]): readonly Alert[] =>
  list.map((one) => done.get(one.id) ?? one).filter((one) => one.open);

/** Asks for all of them, one slice after the other; those of another organization count no more. */
const load = once(async () => {
  if (!me.peek() || !organization.peek()) return;
  const number = ++asked;
  done.clear();
  const [at, whose] = [now.peek(), scope.peek()];
  let isAll = true;
  const answered = await slices<Alert>(async (after) => {
    if (number !== asked) return NOTHING;
    const slice = await api.get("/v1/alerts", { query: { ...whose, open: true, limit: SLICE, after } });
    isAll = !slice.pagination.hasNextPage;
    return slice;
  }, MOST_SLICES);
  if (number !== asked) return;
  sliceCount = Math.max(1, Math.ceil(answered.length / SLICE));
  const found = withDone(answered);
  const before = last;
  const fresh = before ? found.filter((alert) => !alert.acknowledgedAt && !before.ids.has(alert.id) && isNewSince(alert, before)) : [];
  const ids = found.map(({ id }) => id);
  last = { ids: new Set(isAll ? ids : [...before?.ids ?? [], ...ids]), isAll, at };
  open.value = found;
  isKnown.value = true;
  isMore.value = !isAll;
  call(fresh);
});

/** Follows the alerts of the organization shown, from now on. */
export function followAlerts(): void {
  const title = document.title;
  let timer = 0;
  let due = Infinity;
  const soon = (afterMs: number) => {
    const at = performance.now() + afterMs;
    // what is told all the time would put it off for ever
    if (at >= due) return;
    due = at;
    clearTimeout(timer);
    timer = window.setTimeout(() => {
      due = Infinity;
      load().catch(notice);
      soon(AGAIN_MS);
    }, afterMs);
  };
  const whose = computed(() => `${me.value?.id ?? ""} ${organization.value?.id ?? ""}`);
  effect(() => {
    whose.value;
    asked += 1;
    done.clear();
    last = null;
    sliceCount = 1;
    isKnown.value = false;
    isMore.value = false;
    open.value = [];
    untracked(() => soon(0));
  });
  effect(() => {
    alertsTold.value;
    edits.value.alert;
    reached.value;
    untracked(() => soon(GATHER_MS * sliceCount));
  });
  effect(() => { document.title = unseen.value > 0 ? `(${whole(unseen.value)}${isMore.value ? "+" : ""}) ${title}` : title; });
}

/** Shows what was done with one, without asking for all of them. */
function take(alert: Alert): void {
  done.set(alert.id, alert);
  open.value = withDone(open.peek());
}

/** Says that one is seen. */
export async function acknowledge({ id }: Alert): Promise<void> {
  take(await api.post("/v1/alerts/{id}/acknowledge", { path: { id }, query: scope.peek() }));
}

/** Puts one off for an hour. */
export async function snooze({ id }: Alert, nowMs: number): Promise<void> {
  const until = new Date(nowMs + HOUR_MS).toISOString();
  take(await api.post("/v1/alerts/{id}/snooze", { path: { id }, query: scope.peek(), body: { until } }));
}
