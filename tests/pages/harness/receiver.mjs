// A receiver of webhooks on this computer, which answers as a test says and keeps what it was sent.

import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";

/** Lets webhooks reach this computer: a flag of `Server.start`. */
export const TO_THIS_COMPUTER = ["--webhook-networks", "127.0.0.0/8"];

/** `url` is where to send; `got` has what came: id, type, data, and whether `isSignedBy(secret)`. */
export class Receiver {
  got = [];
  /** What is answered from now on. */
  answer = { status: 204, body: "" };
  #listener;

  static async start() {
    const receiver = new Receiver();
    receiver.#listener = createServer(async (request, answer) => {
      let text = "";
      for await (const part of request) text += part;
      const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures } = request.headers;
      const isSignedBy = (secret) => {
        const key = Buffer.from(secret.replace("whsec_", ""), "base64");
        return signatures.split(" ").includes(`v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${text}`).digest("base64")}`);
      };
      receiver.got.push({ id, isSignedBy, ...JSON.parse(text) });
      answer.writeHead(receiver.answer.status).end(receiver.answer.body);
    });
    receiver.#listener.listen(0, "127.0.0.1");
    await once(receiver.#listener, "listening");
    receiver.url = `http://127.0.0.1:${receiver.#listener.address().port}/hook`;
    return receiver;
  }

  async close() {
    this.#listener.closeAllConnections();
    this.#listener.close();
    await once(this.#listener, "close");
  }
}
