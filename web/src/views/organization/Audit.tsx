// Who changed what, newest first, a page at a time.

import { useSignal, useSignalEffect } from "@preact/signals";
import { useId, useMemo } from "preact/hooks";

import { all, api } from "../../api/client";
import { reached } from "../../api/reach";
import type { AuditEntry } from "../../api/schema";
import { dayAndTime, fullName } from "../../format";
import { Empty } from "../../parts/Empty";
import { useAnswer } from "../../parts/answer";
import { edits, fences, scope, vehicles } from "../../state/fleet";
import { insist } from "../../state/needed";
import { notice } from "../../state/notices";
import { strings } from "../../strings";

const words = strings.manage.organization;
const PAGE = 50;

export function Audit() {
  const id = useId();
  const entries = useSignal<readonly AuditEntry[] | null>(null);
  const after = useSignal<string | null>(null);
  const people = useAnswer(async () => {
    const lists = await Promise.all([
      all((page) => api.get("/v1/users", { query: { ...page, ...scope.peek() } })),
      all((page) => api.get("/v1/drivers", { query: { ...page, ...scope.peek() } })),
    ]);
    return new Map(lists.flat().map((person) => [person.id, fullName(person)]));
  });
  const atFirst = useMemo(() => edits.peek(), []);
  const ask = (from: string | null) => api.get("/v1/audit", { query: { ...scope.peek(), limit: PAGE, ...(from ? { after: from } : {}) } });
  const add = ({ data, pagination }: Awaited<ReturnType<typeof ask>>) => {
    entries.value = [...(entries.peek() ?? []), ...data];
    after.value = pagination.hasNextPage ? (pagination.endCursor ?? null) : null;
  };
  const loadOlder = async () => {
    const from = after.peek();
    const page = await ask(from);
    // whoever asks twice for the same page is shown it once
    if (after.peek() === from) add(page);
  };
  /** What was done since, above the rest; of more than a page of it, the rest is read anew. */
  const loadNewest = async () => {
    if (entries.peek() === null) return;
    const known = new Set(entries.peek()?.map(({ id }) => id));
    const { data, pagination } = await ask(null);
    const isJoined = data.some(({ id }) => known.has(id));
    // of two that were asked for at once, the second finds what the first has brought
    const now = new Set(entries.peek()?.map(({ id }) => id));
    entries.value = isJoined ? [...data.filter(({ id }) => !now.has(id)), ...(entries.peek() ?? [])] : data;
    if (!isJoined) after.value = pagination.hasNextPage ? (pagination.endCursor ?? null) : null;
  };
  useSignalEffect(() => (edits.value === atFirst ? undefined : insist(loadNewest)));
  useSignalEffect(() => {
    reached.value;
    return entries.peek() === null ? insist(() => ask(null), add) : undefined;
  });
  return (
    <section class="audit" aria-labelledby={id} tabIndex={0}>
      <h2 id={id}>{words.audit}</h2>
      {entries.value?.length === 0 && <Empty what={words.auditEmpty} next={words.auditEmptyNext} />}
      <ol class="lines">
        {entries.value?.map((entry) => (
          <li key={entry.id}>
            <time class="quiet" dateTime={entry.occurredAt}>{dayAndTime(entry.occurredAt)}</time>
            <span>
              <What entry={entry} people={people.value} />
              {entry.action === "update" && entry.after && <span class="quiet"> {Object.keys(entry.after).filter((member) => member !== "updatedAt").join(", ")}</span>}
            </span>
          </li>
        ))}
      </ol>
      {after.value && <button type="button" onClick={() => loadOlder().catch(notice)}>{words.older}</button>}
    </section>
  );
}

/** Who did what to whom. Who followed a letter's link did it to themselves: the letter was theirs. */
function What({ entry, people }: { entry: AuditEntry; people: ReadonlyMap<string, string> | null }) {
  const { actorId, actorRole, action, resource, resourceId } = entry;
  const whom = people?.get(resourceId) ?? subject(entry);
  const own = actorRole === "anonymous" && resource === "user" && whom ? words.ownActions[action] : undefined;
  if (own) return <><b>{whom}</b> {own}</>;
  const nobody = action === "create" ? words.whoSignedUp : action === "signInFailed" || action === "signInRefused" ? words.somebody : words.whoHadLetter;
  const who = people?.get(actorId) ?? (actorRole === "anonymous" ? nobody : role(actorRole));
  return <><b>{who}</b> {words.actions[action]} {(words.resources as Readonly<Partial<Record<AuditEntry["resource"], string>>>)[resource]} <b>{whom}</b></>;
}

const role = (word: string): string => (strings.manage.users.roles as Record<string, string>)[word] ?? word;

/** The name of what was changed: as the entry has it, or as it is called now. */
function subject({ before, after, resourceId }: AuditEntry): string {
  const said = { ...before, ...after } as Record<string, unknown>;
  const person = [said["firstName"], said["lastName"]].filter(Boolean).join(" ");
  const name = said["name"] ?? said["uniqueId"] ?? (person || said["email"]);
  return String(name ?? vehicles.peek().get(resourceId)?.name ?? fences.peek().get(resourceId)?.name ?? "");
}
