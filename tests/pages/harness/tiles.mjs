// Tiles to put under the map: a host that has them, and a PMTiles file with one.

import { once } from "node:events";
import { createServer } from "node:http";
import { deflateSync } from "node:zlib";

/** A picture of one colour, 8 × 8. */
function png(red, green, blue) {
  const chunk = (kind, data) => {
    const body = Buffer.concat([Buffer.from(kind), data]);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(data.length);
    const sum = Buffer.alloc(4);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(8, 0);
  head.writeUInt32BE(8, 4);
  head.set([8, 2], 8);
  const row = Buffer.from([0, ...Array(8).fill([red, green, blue]).flat()]);
  return Buffer.concat([
    Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]), chunk("IHDR", head), chunk("IDAT", deflateSync(Buffer.concat(Array(8).fill(row)))), chunk("IEND", Buffer.alloc(0)),
  ]);
}

function crc32(bytes) {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum >>> 0;
}

const STYLE = { version: 8, sources: {}, layers: [{ id: "theirs", type: "background", paint: { "background-color": "#334455" } }] };

/** A host with tiles at `/z/x/y.png` and a style at `/style.json`; `asked` has the paths. */
export class TileHost {
  asked = [];
  #listener;

  static async start() {
    const host = new TileHost();
    host.#listener = createServer((request, answer) => {
      host.asked.push(request.url);
      answer.setHeader("Access-Control-Allow-Origin", "*");
      if (request.url === "/style.json") answer.setHeader("Content-Type", "application/json").end(JSON.stringify(STYLE));
      else answer.setHeader("Content-Type", "image/png").end(png(40, 90, 160));
    });
    host.#listener.listen(0, "127.0.0.1");
    await once(host.#listener, "listening");
    host.url = `http://127.0.0.1:${host.#listener.address().port}`;
    return host;
  }

  async close() {
    this.#listener.closeAllConnections();
    this.#listener.close();
    await once(this.#listener, "close");
  }
}

/** A PMTiles archive (version 3) with one picture for the whole world, and what it says of itself. */
export function archive(about = {}) {
  const tile = png(160, 90, 40);
  const metadata = Buffer.from(JSON.stringify(about));
  // one entry: tile 0, run length 1, the tile's length, offset 0 (written as 1)
  const length = tile.length < 128 ? [tile.length] : [(tile.length & 127) | 128, tile.length >> 7];
  const directory = Buffer.from([1, 0, 1, ...length, 1]);
  const head = Buffer.alloc(127);
  head.write("PMTiles");
  head.writeUInt8(3, 7);
  const at = { directory: 127, metadata: 127 + directory.length, tiles: 127 + directory.length + metadata.length };
  const numbers = [at.directory, directory.length, at.metadata, metadata.length, at.tiles, 0, at.tiles, tile.length, 1, 1, 1];
  numbers.forEach((number, place) => head.writeBigUInt64LE(BigInt(number), 8 + place * 8));
  // clustered, directories and tiles as they are, pictures, zoom 0 only, the whole world
  head.set([1, 1, 1, 2, 0, 0], 96);
  [-1_800_000_000, -850_000_000, 1_800_000_000, 850_000_000].forEach((degrees, place) => head.writeInt32LE(degrees, 102 + place * 4));
  return Buffer.concat([head, directory, metadata, tile]);
}
