// Where every vehicle is: columns of numbers that a map can hand to the graphics processor as they are.

import { signal } from "@preact/signals";

import { type Fixes, MOTIONS } from "../live/protocol";
import { bearing } from "../map/mercator";

const FIRST_CAPACITY = 256;
const WANDER_METERS = 15;
/** Below this a vehicle stands, also where its newest fix ends a way (docs/tracking.md, "Motion"). */
export const LEAST_MOVING_KMH = 3;
const MOVING = MOTIONS.indexOf("moving");
/** After a longer silence nobody knows where a vehicle was meanwhile; a shorter one is not worth a word: the server's own bound. */
export const SILENCE_MS = 600_000;
/** A shorter way is too short to tell a speed by. */
const LEAST_WAY_MS = 10_000;

/**
 * Vehicles that have reported, in rows 0 to `count` - 1. A vehicle's row may change when another one is removed: whoever
 * keeps a vehicle keeps its id. Unknown numbers are NaN. After changes `revision` is one more; read it to follow them.
 */
export class VehicleTable {
  readonly revision = signal(0);
  /** One more whenever rows come or go. */
  readonly membership = signal(0);
  readonly ids: string[] = [];
  /** Degrees, WGS 84. */
  longitudes = new Float64Array(FIRST_CAPACITY);
  latitudes = new Float64Array(FIRST_CAPACITY);
  /** What the tracker said; of one that moves and does not say it, by its last way. */
  speedsKmh = new Float32Array(FIRST_CAPACITY);
  /** Clockwise from north: what the tracker said, else the way it went. */
  headingsDegrees = new Float32Array(FIRST_CAPACITY);
  /** The device's clock at the newest fix, milliseconds since 1970. */
  recordedAt = new Float64Array(FIRST_CAPACITY);
  /** The server's clock when it arrived. */
  receivedAt = new Float64Array(FIRST_CAPACITY);
  /** Places in MOTIONS (live/protocol.ts). */
  motions = new Uint8Array(FIRST_CAPACITY);
  /** Places in CONNECTIONS: whether it is heard of, as the server tells. */
  connections = new Uint8Array(FIRST_CAPACITY);
  readonly #rows = new Map<string, number>();
  #members = 0;

  get count(): number {
    return this.ids.length;
  }

  /** The row of a vehicle, while nothing is removed. */
  row(id: string): number | undefined {
    return this.#rows.get(id);
  }

  /** Takes in what the feed says; says nothing of it until `changed`. */
  put(fixes: Fixes): void {
    fixes.ids.forEach((id, from) => {
      const row = this.#rows.get(id) ?? this.#add(id);
      const [longitude, latitude] = [fixes.longitudes[from] ?? NaN, fixes.latitudes[from] ?? NaN];
      const reported = fixes.headingsDegrees[from] ?? NaN;
      if (!Number.isNaN(reported)) this.headingsDegrees[row] = reported;
      else this.#head(row, longitude, latitude);
      const said = fixes.speedsKmh[from] ?? NaN;
      const isMute = Number.isNaN(said) && fixes.motions[from] === MOVING;
      this.speedsKmh[row] = isMute ? this.#wentKmh(row, longitude, latitude, fixes.recordedAt[from] ?? NaN) : said;
      this.longitudes[row] = longitude;
      this.latitudes[row] = latitude;
      this.recordedAt[row] = fixes.recordedAt[from] ?? NaN;
      this.receivedAt[row] = fixes.receivedAt[from] ?? NaN;
      this.motions[row] = fixes.motions[from] ?? 0;
      this.connections[row] = fixes.connections[from] ?? 0;
    });
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
    this.#members += 1;
  }

  clear(): void {
    this.ids.length = 0;
    this.#rows.clear();
    this.#members += 1;
  }

  /** Tells those who follow. */
  changed(): void {
    this.membership.value = this.#members;
    this.revision.value = this.revision.peek() + 1;
  }

  /** From where it was to where it is, if that is further than a parked receiver wanders. */
  #head(row: number, longitude: number, latitude: number): void {
    const from = { longitude: this.longitudes[row] ?? NaN, latitude: this.latitudes[row] ?? NaN };
    const { meters, degrees } = bearing(from.longitude, from.latitude, longitude, latitude);
    if (meters > WANDER_METERS) this.headingsDegrees[row] = degrees;
  }

  /** How fast it went from where it was to where it is; NaN where that says nothing. */
  #wentKmh(row: number, longitude: number, latitude: number, recordedAt: number): number {
    const tookMs = recordedAt - (this.recordedAt[row] ?? NaN);
    // told once more
    if (tookMs === 0) return this.speedsKmh[row] ?? NaN;
    const { meters } = bearing(this.longitudes[row] ?? NaN, this.latitudes[row] ?? NaN, longitude, latitude);
    const isTold = tookMs >= LEAST_WAY_MS && tookMs <= SILENCE_MS && meters > WANDER_METERS;
    const kmh = isTold ? (meters / tookMs) * 3600 : NaN;
    return kmh >= LEAST_MOVING_KMH ? kmh : NaN;
  }

  #columns() {
    const { longitudes, latitudes, speedsKmh, headingsDegrees, recordedAt, receivedAt, motions, connections } = this;
    return [longitudes, latitudes, speedsKmh, headingsDegrees, recordedAt, receivedAt, motions, connections];
  }

  #add(id: string): number {
    const row = this.ids.length;
    if (row === this.motions.length) this.#grow();
    // of another vehicle, which had this row before
    this.longitudes[row] = this.latitudes[row] = this.headingsDegrees[row] = this.recordedAt[row] = NaN;
    this.ids.push(id);
    this.#rows.set(id, row);
    this.#members += 1;
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
    this.connections = grown(this.connections, new Uint8Array(capacity));
  }
}
