// What the server refuses, as a sentence for people.

import type { Problem as ProblemBody } from "./schema";
import { strings } from "../strings";

/** A refusal by the server. */
export class Problem extends Error {
  readonly status: number;
  /** The word of the table of codes, `validationFailed`; `/problems/CODE` explains it. */
  readonly code: string;
  /** What is wrong with which member of the body: `/shape/radiusMeters` → sentence. */
  readonly fields: ReadonlyMap<string, string>;

  constructor(status: number, body: Partial<ProblemBody> | null) {
    const errors = body?.errors ?? [];
    const first = errors[0];
    super(body?.detail ?? first?.detail ?? body?.title ?? strings.problem.status(status));
    this.status = status;
    this.code = body?.code ?? "";
    this.fields = new Map(errors.map((error) => [error.pointer, error.detail]));
  }
}

/** Whether it was refused because nobody, or nobody any more, is signed in. */
export const isSignedOut = (error: unknown): boolean => error instanceof Problem && error.status === 401;

/** A sentence for whatever went wrong. */
export function sentence(error: unknown): string {
  if (error instanceof Problem) return error.message;
  // fetch says no more than this of a network that is away
  if (error instanceof TypeError) return strings.problem.unreachable;
  return error instanceof Error ? error.message : String(error);
}
