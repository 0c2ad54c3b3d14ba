// A clock that can be stopped, set and run faster than time.

import { signal } from "@preact/signals";

export const SPEEDS = [1, 2, 5, 10, 30, 60] as const;

/** Pictures a second at most: more are no smoother to look at, and cost. */
const FRAME_MS = 33;

/** Runs from `from` to `to`, milliseconds since 1970. */
export class Playback {
  readonly at = signal(0);
  readonly isPlaying = signal(false);
  readonly speed = signal<number>(10);
  #from = 0;
  #to = 0;
  #frame = 0;
  #last = 0;

  /** Sets both ends, and the clock to `at`. */
  load(from: number, to: number, at: number): void {
    this.pause();
    this.#from = from;
    this.#to = to;
    this.seek(at);
  }

  seek(at: number): void {
    this.at.value = Math.min(this.#to, Math.max(this.#from, at));
  }

  play(): void {
    if (this.isPlaying.value) return;
    if (this.at.value >= this.#to) this.seek(this.#from);
    this.isPlaying.value = true;
    this.#last = performance.now();
    this.#frame = requestAnimationFrame(this.#step);
  }

  pause(): void {
    cancelAnimationFrame(this.#frame);
    this.isPlaying.value = false;
  }

  readonly #step = (now: number): void => {
    const passed = now - this.#last;
    if (passed >= FRAME_MS) {
      this.#last = now;
      this.seek(this.at.value + passed * this.speed.value);
    }
    if (this.at.value >= this.#to) this.pause();
    else this.#frame = requestAnimationFrame(this.#step);
  };
}
