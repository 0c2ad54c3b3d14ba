// What a shape was before, step by step, and what it was again after that. Knows neither map nor form.

import { type Signal, computed, signal } from "@preact/signals";

import type { ShapeSpec } from "../../api/schema";

/** A number that is being typed is one step: what follows sooner belongs to the same. */
const STEP_MS = 400;
const MOST_STEPS = 200;

type Steps = Signal<readonly ShapeSpec[]>;

const same = (a: ShapeSpec, b: ShapeSpec) => JSON.stringify(a) === JSON.stringify(b);

export class ShapeHistory {
  readonly #before = signal<readonly ShapeSpec[]>([]);
  readonly #after = signal<readonly ShapeSpec[]>([]);
  #now: ShapeSpec | null = null;
  /** Until when what follows belongs to the step that was taken last, by `performance.now`. */
  #stepEndsAt = 0;
  #isHeld = false;
  readonly canUndo = computed(() => this.#before.value.length > 0);
  readonly canRedo = computed(() => this.#after.value.length > 0);

  /** Begins anew: another shape is open, or none. */
  begin(shape: ShapeSpec | null): void {
    this.#now = shape;
    this.#isHeld = false;
    this.#stepEndsAt = 0;
    this.#before.value = [];
    this.#after.value = [];
  }

  /** A hand has the shape: all that becomes of it is one step, however long it takes, until `letGo`. */
  hold(): void {
    if (this.#isHeld) return;
    this.#isHeld = true;
    this.#stepEndsAt = 0;
  }

  /** The hand has let go. */
  letGo(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#stepEndsAt = 0;
  }

  /** The shape has become this one, by hand or by number. */
  take(shape: ShapeSpec): void {
    const before = this.#now;
    if (!before || same(before, shape)) return;
    const now = performance.now();
    if (now > this.#stepEndsAt) this.#before.value = [...this.#before.peek(), before].slice(-MOST_STEPS);
    this.#stepEndsAt = this.#isHeld ? Infinity : now + STEP_MS;
    this.#now = shape;
    this.#after.value = [];
  }

  /** What it was before; null if it always was what it is. */
  undo(): ShapeSpec | null {
    return this.#step(this.#before, this.#after);
  }

  /** What it was before it was undone. */
  redo(): ShapeSpec | null {
    return this.#step(this.#after, this.#before);
  }

  #step(from: Steps, to: Steps): ShapeSpec | null {
    const shape = from.peek().at(-1);
    if (!shape || !this.#now) return null;
    from.value = from.peek().slice(0, -1);
    to.value = [...to.peek(), this.#now];
    this.#now = shape;
    this.#stepEndsAt = 0;
    return shape;
  }
}
