// Where every vehicle is: columns of numbers that a map can hand to the graphics processor as they are.

import { signal } from "@preact/signals";

import type { Motion } from "../api/schema";
import type { FeedVehicle } from "../live/protocol";

export const MOTIONS: readonly Motion[] = ["unknown", "stopped", "moving"];

const FIRST_CAPACITY = 256;

/**
 * Vehicles that have reported, in rows 0 to `count` - 1. A vehicle's row may change when another one is removed: whoever
 * keeps a vehicle keeps its id. Unknown numbers are NaN. After changes `revision` is one more; read it to follow them.
 */
export class VehicleTable {
  readonly revision = signal(0);
  readonly ids: string[] = [];
  /** Degrees, WGS 84. */
  longitudes = new Float64Array(FIRST_CAPACITY);
  latitudes = new Float64Array(FIRST_CAPACITY);
  speedsKmh = new Float32Array(FIRST_CAPACITY);
  /** Clockwise from north. */
  headingsDegrees = new Float32Array(FIRST_CAPACITY);
  /** The device's clock at the newest fix, milliseconds since 1970. */
  recordedAt = new Float64Array(FIRST_CAPACITY);
  /** The server's clock when it arrived. */
  receivedAt = new Float64Array(FIRST_CAPACITY);
  /** Places in MOTIONS. */
  motions = new Uint8Array(FIRST_CAPACITY);
  readonly #rows = new Map<string, number>();

  get count(): number {
    return this.ids.length;
  }

  /** The row of a vehicle, while nothing is removed. */
  row(id: string): number | undefined {
    return this.#rows.get(id);
  }

  /** Takes in what the feed says; says nothing of it until `changed`. */
  put({ vehicleId, position, motion }: FeedVehicle): void {
    if (!position) return;
    const row = this.#rows.get(vehicleId) ?? this.#add(vehicleId);
    this.longitudes[row] = position.longitude;
    this.latitudes[row] = position.latitude;
    this.speedsKmh[row] = position.speedKmh ?? NaN;
    this.headingsDegrees[row] = position.headingDegrees ?? NaN;
    this.recordedAt[row] = Date.parse(position.recordedAt);
    this.receivedAt[row] = Date.parse(position.receivedAt);
    this.motions[row] = Math.max(0, MOTIONS.indexOf(motion));
  }

  /** Forgets a vehicle; the last row takes its place. */
  remove(id: string): void {
    const row = this.#rows.get(id);
    const lastId = this.ids.at(-1);
    if (row === undefined || lastId === undefined) return;
    const last = this.ids.length - 1;
    for (const column of this.#columns()) column[row] = column[last] ?? NaN;
    this.ids[row] = lastId;
    this.#rows.set(lastId, row);
    this.#rows.delete(id);
    this.ids.pop();
  }

  clear(): void {
    this.ids.length = 0;
    this.#rows.clear();
  }

  /** Tells those who follow. */
  changed(): void {
    this.revision.value = this.revision.peek() + 1;
  }

  #columns() {
    return [this.longitudes, this.latitudes, this.speedsKmh, this.headingsDegrees, this.recordedAt, this.receivedAt, this.motions];
  }

  #add(id: string): number {
    const row = this.ids.length;
    if (row === this.motions.length) this.#grow();
    this.ids.push(id);
    this.#rows.set(id, row);
    return row;
  }

  #grow(): void {
    const grown = <T extends Float64Array | Float32Array | Uint8Array>(old: T, now: T): T => {
      now.set(old);
      return now;
    };
    const capacity = this.motions.length * 2;
    this.longitudes = grown(this.longitudes, new Float64Array(capacity));
    this.latitudes = grown(this.latitudes, new Float64Array(capacity));
    this.speedsKmh = grown(this.speedsKmh, new Float32Array(capacity));
    this.headingsDegrees = grown(this.headingsDegrees, new Float32Array(capacity));
    this.recordedAt = grown(this.recordedAt, new Float64Array(capacity));
    this.receivedAt = grown(this.receivedAt, new Float64Array(capacity));
    this.motions = grown(this.motions, new Uint8Array(capacity));
  }
}
