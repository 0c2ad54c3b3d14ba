// How long an answer may take before silence means something, learnt from those that came. Pure arithmetic.

/** So long at least: a server or a machine may be busy for a moment. */
const LEAST_MS = 450;
const MOST_MS = 1450;
/** Answers that take longer are no measure of the way, but of a server or a browser that was busy. */
const LONGEST_ANSWER_MS = 500;

/** As TCP reckons it (RFC 6298): a long way is waited for, and so is one that is now short, now long, but a steady one not twice. */
export class Patience {
  #meanMs = 0;
  #spreadMs = 0;

  /** An answer has come after so long. */
  learn(tookMs: number): void {
    const took = Math.min(LONGEST_ANSWER_MS, tookMs);
    this.#spreadMs += (Math.abs(took - this.#meanMs) - this.#spreadMs) / 4;
    this.#meanMs += (took - this.#meanMs) / 8;
  }

  /** Milliseconds to wait for the next one. */
  get milliseconds(): number {
    return Math.min(MOST_MS, Math.max(LEAST_MS, this.#meanMs + 4 * this.#spreadMs));
  }
}
