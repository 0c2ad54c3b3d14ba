// What lies under fences and vehicles: coasts that are part of the page, or tiles, a style or a file of streets that the
// server's settings name (src/http/background.rs).

import { type LayerSpecification, type SourceSpecification, type StyleSpecification, addProtocol } from "maplibre-gl";
import type { PMTiles } from "pmtiles";

import { loaded } from "../state/loading";
import { theme } from "../state/theme";
import { strings } from "../strings";
import { streets } from "./streets";

/** As `/map.json` says. */
interface Settings {
  readonly tiles?: string;
  readonly style?: string;
  readonly pmtiles: boolean;
  readonly attribution?: string;
}

/** Sources and layers under ours; or a style of somebody else's, by its address. */
export interface Background {
  readonly style?: string;
  readonly sources: Readonly<Record<string, SourceSpecification>>;
  /** Made anew for each theme. */
  readonly layers: () => LayerSpecification[];
}

const SOURCE = "background";
const FILE = "/map.pmtiles";

/** What the settings say; null for our coasts. Asked once: settings change with a new start of the server. */
export const background: Promise<Background | null> = find().catch(() => null);

async function find(): Promise<Background | null> {
  const answer = await fetch("/map.json");
  if (!answer.ok) return null;
  const settings = (await answer.json()) as Settings;
  if (settings.style) return { style: settings.style, sources: {}, layers: () => [] };
  const attribution = settings.attribution ?? "";
  if (settings.tiles) return pictures({ type: "raster", tiles: [settings.tiles], tileSize: 256, attribution });
  return settings.pmtiles ? file(attribution) : null;
}

function pictures(source: SourceSpecification): Background {
  // pictures are made for a bright page: a dark one dims them
  const dimmed = { "raster-brightness-max": 0.55, "raster-saturation": -0.35 };
  return { sources: { [SOURCE]: source }, layers: () => [{ id: SOURCE, type: "raster", source: SOURCE, paint: theme.peek() === "dark" ? dimmed : {} }] };
}

/** Reads the file by parts; of what it has inside, its head tells. */
async function file(attribution: string): Promise<Background> {
  const { PMTiles, Protocol, TileType } = await loaded(() => import("pmtiles"));
  const url = new URL(FILE, location.href).href;
  const archive = new PMTiles(url);
  const protocol = new Protocol();
  protocol.add(archive);
  addProtocol("pmtiles", protocol.tile);
  const { tileType } = await archive.getHeader();
  const shared = { url: `pmtiles://${url}`, attribution: attribution || (await makerOf(archive)) || strings.map.unknownMaker };
  if (tileType !== TileType.Mvt) return pictures({ type: "raster", tileSize: 256, ...shared });
  return { sources: { [SOURCE]: { type: "vector", ...shared } }, layers: () => streets(SOURCE) };
}

/** Who made an archive, as it says itself; its links are left out. */
async function makerOf(archive: PMTiles): Promise<string> {
  const { attribution } = (await archive.getMetadata().catch(() => null) ?? {}) as { attribution?: unknown };
  if (typeof attribution !== "string") return "";
  return new DOMParser().parseFromString(attribution, "text/html").body.textContent ?? "";
}

/** Another's style with ours on top of it; names keep its letters, as its letters' server knows no others. */
export function together(theirs: StyleSpecification, ours: StyleSpecification): StyleSpecification {
  const lettered = theirs.layers.find((layer) => layer.type === "symbol" && layer.layout?.["text-font"]);
  const font = lettered?.type === "symbol" ? lettered.layout?.["text-font"] : undefined;
  const own = ours.layers.map((layer): LayerSpecification => {
    if (layer.type !== "symbol" || !font || !theirs.glyphs) return layer;
    return { ...layer, layout: { ...layer.layout, "text-font": font } };
  });
  return { ...theirs, sources: { ...theirs.sources, ...ours.sources }, layers: [...theirs.layers, ...own] };
}
