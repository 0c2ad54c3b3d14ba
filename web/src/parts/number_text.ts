// A number as people write it: with a comma for the point, but not with a separator of thousands, which looks the same. What could be
// either is refused: a thousand that is read as one deletes what was to be kept.

import { strings } from "../strings";

/** `whole` has no fraction, `measure` none of three digits behind a whole number, `degrees` any; all but the first two may be below zero. */
export type NumberKind = "whole" | "measure" | "signed" | "degrees";

const WHOLE = /^[-+]?\d+$/;
const DECIMAL = /^[-+]?(?:\d+\.?\d*|\.\d+)$/;
/** Thousands with something between them. */
const GROUPED = /^[-+]?\d{1,3}(?:[.,'’\s]\d{3})+$/;
/** Of these nobody can tell a fraction of three digits from thousands; `0,125` is no thousand. */
const AMBIGUOUS = /^[-+]?[1-9]\d{0,2}[.,]\d{3}$/;

/** What a text says: null nothing, NaN no number or one that could be two. */
export function numberOf(text: string, kind: NumberKind): number | null {
  const clean = text.trim().replace("\u2212", "-");
  if (clean === "") return null;
  if (kind === "whole") return WHOLE.test(clean) ? Number(clean) : NaN;
  if (kind !== "degrees" && AMBIGUOUS.test(clean)) return NaN;
  const plain = clean.replace(",", ".");
  return DECIMAL.test(plain) ? Number(plain) : NaN;
}

/** Why a text says no number, with how to write it; empty where it says one. */
export function whyNoNumber(text: string, kind: NumberKind): string {
  const words = strings.manage.form;
  const clean = text.trim();
  if (!Number.isNaN(numberOf(clean, kind))) return "";
  const plain = clean.replace(/[.,'’\s]/g, "");
  if (kind !== "whole" && AMBIGUOUS.test(clean)) return words.ambiguous(plain, `${clean}0`);
  if (GROUPED.test(clean)) return words.grouped(plain);
  return kind === "whole" ? words.whole : words.number;
}

/** A number as a field shows it, so that it is read as the same: with a zero where it would look like thousands. */
export function numberText(value: number, kind: NumberKind): string {
  const text = String(value);
  return kind !== "degrees" && AMBIGUOUS.test(text) ? `${text}0` : text;
}
