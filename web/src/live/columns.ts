// Vehicles as the feed says them, turned into columns of numbers. Runs in the worker.

import { CONNECTIONS, type FeedVehicle, MOTIONS, type Numbered } from "./protocol";

/** Numbers for ids: the same id has the same number as long as the worker lives. */
export class Numbering {
  readonly #numbers = new Map<string, number>();

  /** Columns of those vehicles that have a position. */
  columns(vehicles: readonly FeedVehicle[]): Numbered {
    const placed = vehicles.filter(({ position }) => position !== null);
    const count = placed.length;
    const newIds: string[] = [];
    const columns = {
      numbers: new Uint32Array(count),
      longitudes: new Float64Array(count),
      latitudes: new Float64Array(count),
      speedsKmh: new Float32Array(count),
      headingsDegrees: new Float32Array(count),
      recordedAt: new Float64Array(count),
      receivedAt: new Float64Array(count),
      motions: new Uint8Array(count),
      connections: new Uint8Array(count),
    };
    placed.forEach(({ vehicleId, position, motion, state }, row) => {
      if (!position) return;
      columns.numbers[row] = this.#number(vehicleId, newIds);
      columns.longitudes[row] = position.longitude;
      columns.latitudes[row] = position.latitude;
      columns.speedsKmh[row] = position.speedKmh ?? NaN;
      columns.headingsDegrees[row] = position.headingDegrees ?? NaN;
      columns.recordedAt[row] = Date.parse(position.recordedAt);
      columns.receivedAt[row] = Date.parse(position.receivedAt);
      columns.motions[row] = Math.max(0, MOTIONS.indexOf(motion));
      columns.connections[row] = Math.max(0, CONNECTIONS.indexOf(state));
    });
    return { ...columns, newIds };
  }

  #number(id: string, newIds: string[]): number {
    const known = this.#numbers.get(id);
    if (known !== undefined) return known;
    const number = this.#numbers.size;
    this.#numbers.set(id, number);
    newIds.push(id);
    return number;
  }
}

/** What may be handed over without a copy. */
export const buffersOf = ({ newIds: _, ...columns }: Numbered): ArrayBuffer[] => Object.values(columns).map((column) => column.buffer);
