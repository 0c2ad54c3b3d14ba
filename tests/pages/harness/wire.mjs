// A wire between the browser and a server that can be cut without a word, and mended: what a pulled cable does.

import { once } from "node:events";
import { createServer, connect } from "node:net";

/** `url` leads to the server as long as the wire is whole. */
export class Wire {
  #listener;
  #pairs = new Set();
  #isCut = false;
  /** The browser's end of the newest live feed. */
  #feed;

  static async to(server) {
    const wire = new Wire();
    const { port } = new URL(server.url);
    wire.#listener = createServer((near) => wire.#join(near, Number(port)));
    wire.#listener.listen(0, "127.0.0.1");
    await once(wire.#listener, "listening");
    wire.url = `http://127.0.0.1:${wire.#listener.address().port}`;
    return wire;
  }

  #join(near, port) {
    const far = connect(port, "127.0.0.1");
    const pair = [near, far];
    this.#pairs.add(pair);
    near.once("data", (bytes) => { if (bytes.includes("GET /v1/ws/live")) this.#feed = near; });
    for (const [one, other] of [[near, far], [far, near]]) {
      one.on("data", (bytes) => { if (!this.#isCut) other.write(bytes); });
      one.on("error", () => {});
      one.on("close", () => {
        this.#pairs.delete(pair);
        other.destroy();
      });
    }
  }

  /** From now on nothing arrives, on either side, and nobody is told. */
  cut() {
    this.#isCut = true;
  }

  /** Says something on the live feed in the server's place: a text frame of fewer than 126 bytes, between two of its own. */
  say(words) {
    const text = Buffer.from(JSON.stringify(words));
    this.#feed.write(Buffer.concat([Buffer.from([0x81, text.length]), text]));
  }

  /** New connections work again; those that lost bytes are gone. */
  mend() {
    this.#isCut = false;
    for (const pair of this.#pairs) pair.forEach((end) => end.destroy());
  }

  async close() {
    this.mend();
    this.#listener.close();
    await once(this.#listener, "close");
  }
}
