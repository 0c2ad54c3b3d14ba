// The types of events that a webhook can be sent, as src/domain/webhook_event.rs has them, and beginnings of them.

import { strings } from "../../strings";

const words = strings.manage.webhooks.types;

/** What happens, by the first part of its types. */
export const GROUPS = Object.entries(words.groups).map(([beginning, { title, types }]) => ({
  title,
  all: `${beginning}.*`,
  types: Object.entries(types).map(([type, word]) => ({ type: `${beginning}.${type}`, word })),
}));

export const EVERYTHING = "*";
export const ALL_CHANGES = "change.*";
export const KINDS = Object.entries(words.kinds).map(([kind, word]) => ({ kind, word }));

/** Changes of master data, by what is changed. */
export const CHANGES = Object.entries(words.resources).map(([resource, title]) => ({
  title,
  all: `change.${resource}.*`,
  types: KINDS.map(({ kind, word }) => ({ type: `change.${resource}.${kind}`, word })),
}));

const KNOWN = new Set([
  EVERYTHING, ALL_CHANGES, ...[...GROUPS, ...CHANGES].flatMap(({ all, types }) => [all, ...types.map(({ type }) => type)]),
]);

/** Whether a pattern says all that another one says, and is another one. */
export const covers = (pattern: string, other: string): boolean =>
  pattern !== other && pattern.endsWith("*") && other.startsWith(pattern.slice(0, -1));

/** With a pattern more, which makes those needless that it covers. */
export const withType = (types: readonly string[], more: string): string[] =>
  [...types.filter((one) => one !== more && !covers(more, one)), more].sort();

/** What a form writes: the patterns that have boxes, and the others as text. */
export const typeMembers = (types: readonly string[]) => ({
  types: types.filter((one) => KNOWN.has(one)),
  further: types.filter((one) => !KNOWN.has(one)).join(", "),
});

/** The patterns that a form says. */
export function typesOf({ types, further }: Readonly<Record<string, unknown>>): string[] {
  const others = String(further ?? "").split(",").map((text) => text.trim()).filter(Boolean);
  return [...(types as readonly string[]), ...others];
}
