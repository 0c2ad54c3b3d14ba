// The log of what a webhook was sent: newest first, what became of each, and sending it again.

import { useSignal, useSignalEffect } from "@preact/signals";
import { useMemo } from "preact/hooks";

import { api } from "../../api/client";
import { reached } from "../../api/reach";
import type { AttemptOutcome, Webhook, WebhookAttempt } from "../../api/schema";
import { instantOf, localTime, moment } from "../../format";
import { Dialog } from "../../parts/Dialog";
import { Form, TextField, useDraft } from "../../parts/form";
import { useEvery } from "../../parts/Listing";
import { Newest } from "../../parts/newest";
import { Time } from "../../parts/Time";
import { now } from "../../state/clock";
import { scope } from "../../state/fleet";
import { insist } from "../../state/needed";
import { notice } from "../../state/notices";
import { strings } from "../../strings";
import { webhookName } from "./names";

const words = strings.manage.webhooks;
const PAGE = 25;
const LOOK_EVERY_MS = 5000;
const HOUR_MS = 3_600_000;

type Filter = keyof typeof words.filters;

/** What each filter asks for; nothing is all. */
const OUTCOMES: Readonly<Record<Filter, readonly AttemptOutcome[]>> = {
  "": [], failed: ["failed", "givenUp"], givenUp: ["givenUp"], delivered: ["delivered"],
};

interface Props {
  readonly webhook: Webhook;
  /** The attempts that were made here: the log may not have them yet. */
  readonly tried: readonly WebhookAttempt[];
  readonly isSending: boolean;
  readonly resend: (attempt: WebhookAttempt) => void;
}

export function Attempts({ webhook, tried, isSending, resend }: Props) {
  const outcome = useSignal<Filter>("");
  const isAsking = useSignal(false);
  const said = useSignal("");
  const { attempts, hasMore, more } = useAttempts(webhook.id, outcome, tried);
  const resent = (since: string) => {
    said.value = words.resent(moment(since));
    isAsking.value = false;
  };
  return (
    <section class="part attempts" aria-label={words.attempts}>
      <header>
        <h3>{words.attempts}</h3>
        <span class="grow" />
        <select aria-label={words.filter} value={outcome} onChange={(event) => { outcome.value = event.currentTarget.value as Filter; }}>
          {Object.entries(words.filters).map(([value, word]) => <option key={value} value={value}>{word}</option>)}
        </select>
        <button type="button" onClick={() => { isAsking.value = true; }}>{words.resendAll}</button>
      </header>
      <p role="status" class="said">{said.value}</p>
      {attempts?.length === 0 && <p class="quiet">{outcome.value ? words.attemptsNone : words.attemptsEmpty}</p>}
      <ol class="lines">
        {attempts?.map((one) => (
          <li key={one.id}>
            <div class="attempt"><Outcome attempt={one} /></div>
            <button
              type="button" disabled={isSending} aria-label={words.resendOf(one.eventType, moment(one.attemptedAt))}
              onClick={() => resend(one)}
            >{words.resend}</button>
          </li>
        ))}
      </ol>
      {hasMore && <button type="button" onClick={() => more().catch(notice)}>{words.older}</button>}
      {isAsking.value && <ResendDialog webhook={webhook} onDone={resent} onClose={() => { isAsking.value = false; }} />}
    </section>
  );
}

/** The pages that were asked for, read again as long as it is one only: those behind it move on meanwhile. */
function useAttempts(id: string, outcome: { readonly value: Filter }, tried: readonly WebhookAttempt[]) {
  const pages = useSignal<readonly (readonly WebhookAttempt[])[] | null>(null);
  const total = useSignal(0);
  const newest = useMemo(() => new Newest(), []);
  const page = async (number: number) => {
    const only = outcome.value;
    const counts = newest.ask();
    const query = { ...scope.peek(), page: number, limit: PAGE, ...(only ? { outcome: OUTCOMES[only] } : {}) };
    const { data, pagination } = await api.get("/v1/webhooks/{id}/attempts", { path: { id }, query });
    if (outcome.value !== only) return;
    const isNewest = counts();
    // the first page read anew takes the place of all; each of the others follows those that are there
    if (number === 1 ? !isNewest : pages.peek()?.length !== number - 1) return;
    total.value = pagination.totalPages;
    pages.value = number === 1 ? [data] : [...(pages.peek() ?? []), data];
  };
  const reload = () => page(1);
  useSignalEffect(() => {
    outcome.value;
    reached.value;
    pages.value = null;
    return insist(reload);
  });
  useEvery(LOOK_EVERY_MS, async () => { if (pages.peek()?.length === 1) await reload(); });
  const read = pages.value?.length ?? 0;
  const wanted = OUTCOMES[outcome.value];
  const fits = (one: WebhookAttempt) => wanted.length === 0 || wanted.includes(ended(one));
  // what came meanwhile has moved some onto the next page
  const found = pages.value && new Map([...tried, ...pages.value.flat()].filter(fits).map((one) => [one.id, one]));
  const attempts = found && [...found.values()].sort((a, b) => b.attemptedAt.localeCompare(a.attemptedAt));
  return { attempts, hasMore: read > 0 && read < total.value, more: () => page(read + 1) };
}

/** A test is never sent again by itself: it has failed, and nothing is given up. */
const ended = ({ outcome, eventType }: WebhookAttempt): AttemptOutcome =>
  (outcome === "givenUp" && eventType === "webhook.test" ? "failed" : outcome);

const MARKS = { delivered: "good", failed: "warn", givenUp: "bad" } as const satisfies Record<AttemptOutcome, string>;

/** What became of an attempt: the receiver's status, how long it took, what it answered, why it failed. */
export function Outcome({ attempt: one }: { attempt: WebhookAttempt }) {
  const { eventType, attempt, attemptedAt, status, durationMs, detail, answer } = one;
  const outcome = ended(one);
  return (
    <div class="outcome" data-outcome={outcome}>
      <p>
        <span class="mark" data-mark={MARKS[outcome]}>{words.outcomes[outcome]}</span>
        {" "}<code>{eventType}</code>
      </p>
      <p class="quiet">
        <Time at={attemptedAt} /> · {status ?? words.noAnswer} · {words.took(durationMs)}{attempt > 1 && ` · ${words.nth(attempt)}`}
      </p>
      {detail && <p class="wrong">{detail}</p>}
      {answer && <details><summary>{words.answer}</summary><pre>{answer}</pre></details>}
    </div>
  );
}

function ResendDialog({ webhook, onDone, onClose }: { webhook: Webhook; onDone: (since: string) => void; onClose: () => void }) {
  const draft = useDraft(() => ({ since: localTime(now.peek() - HOUR_MS).slice(0, 16) }));
  const title = words.resendTitle(webhookName(webhook));
  const resend = async () => {
    const since = new Date(instantOf(String(draft.value.peek()["since"]))).toISOString();
    await api.post("/v1/webhooks/{id}/resend", { path: { id: webhook.id }, query: scope.peek(), body: { since } });
    onDone(since);
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <Form draft={draft} label={title} action={words.resendAction} work={resend} onCancel={onClose}>
        <p>{words.resendText}</p>
        <TextField of="/since" label={words.since} type="datetime-local" required />
      </Form>
    </Dialog>
  );
}
