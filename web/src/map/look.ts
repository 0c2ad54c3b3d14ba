// Where somebody moved a map to, in the address of its view: a link shows a colleague the same.

import { effect, signal } from "@preact/signals";

import type { Camera } from "../state/camera";
import { inAddress } from "../state/route";
import type { FleetMap } from "./fleet_map";

function cameraOf(text: string): Camera | null {
  const [latitude = NaN, longitude = NaN, zoom = NaN, ...more] = text.split(",").map(Number);
  const isPlace = Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180 && zoom >= 0 && zoom <= 24;
  return isPlace && more.length === 0 ? { latitude, longitude, zoom } : null;
}

/** A camera as the address has it. */
export const lookText = ({ latitude, longitude, zoom }: Camera): string => `${latitude.toFixed(5)},${longitude.toFixed(5)},${zoom.toFixed(2)}`;

export class Look {
  /** Latitude, longitude, zoom; empty until somebody moved the map. */
  readonly #place = signal("");

  /** Of the map of a view, one for each. */
  constructor(view: string) {
    inAddress(view, "map", this.#place, "", (text) => cameraOf(text) !== null);
  }

  get isSaid(): boolean {
    return this.#place.peek() !== "";
  }

  forget(): void {
    this.#place.value = "";
  }

  /** The map goes where the address says; where somebody moves it, the address says so from then on, but while it follows something. */
  keep(map: FleetMap, isFollowing: () => boolean = () => false): () => void {
    let own = "";
    map.map.on("moveend", ({ originalEvent }: { originalEvent?: unknown }) => {
      if ((!originalEvent && !this.isSaid) || isFollowing()) return;
      const { lng, lat } = map.map.getCenter().wrap();
      own = lookText({ latitude: lat, longitude: lng, zoom: map.map.getZoom() });
      this.#place.value = own;
    });
    return effect(() => {
      const place = this.#place.value === own ? null : cameraOf(this.#place.value);
      own = this.#place.value;
      if (place) map.lookAt(place);
    });
  }
}
