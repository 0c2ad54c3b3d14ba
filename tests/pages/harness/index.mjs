// Everything a page test needs: a server, what is in it, a browser.

export { findings } from "./axe.mjs";
export { ADMIN, PASSWORD, Server } from "./server.mjs";
export { Client, Fleet, Vehicle, noonZone } from "./fleet.mjs";
export { Receiver, TO_THIS_COMPUTER } from "./receiver.mjs";
export { TileHost, archive } from "./tiles.mjs";
export { Wire } from "./wire.mjs";
export { hasMap, isLive, isSettled, picture, signIn, visit } from "./browser.mjs";
export { sample, setUpSample, views, webhookViews } from "./sample.mjs";
export { eventually, setUp } from "./stage.mjs";
