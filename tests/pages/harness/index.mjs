// Everything a page test needs: a server, what is in it, a browser.

export { ADMIN, PASSWORD, Server } from "./server.mjs";
export { Client, Fleet, Vehicle } from "./fleet.mjs";
export { TileHost, archive } from "./tiles.mjs";
export { Wire } from "./wire.mjs";
export { isLive, isSettled, launch, open, picture, signIn } from "./browser.mjs";
export { sample, views } from "./sample.mjs";
