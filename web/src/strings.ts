// Every word the page shows, in one place. English first; another language is another object of this type.

import { manage } from "./strings_manage";

const count = (number: number, one: string, many = `${one}s`) => `${number.toLocaleString()} ${number === 1 ? one : many}`;

export const strings = {
  product: "Waypost",
  navigation: "Main",
  skip: "Skip to content",
  signIn: {
    title: "Sign in",
    purpose: "Where the fleet is, and what just happened.",
    email: "E-mail",
    password: "Password",
    action: "Sign in",
    forgot: "Forgot password",
    letterSent: "If there is such an account, a letter with a link is on its way.",
    emailFirst: "Write your e-mail address first.",
    ended: "The session has ended. Sign in again.",
    linkSpent: "This link was used or is too old. Sign in, or start the demo again for a new link.",
    signOut: "Sign out",
  },
  problem: {
    status: (status: number) => `The server answered ${status}.`,
    unreachable: "The server cannot be reached.",
    dismiss: "Dismiss",
  },
  connection: {
    connecting: "Connecting …",
    live: "Live",
    reconnecting: "Reconnecting …",
    stale: "Stale: nothing heard for a while",
    off: "Not connected",
  },
  theme: { label: "Colours", auto: "As the system", light: "Light", dark: "Dark" },
  organization: { label: "Organization", none: "There is no active organization yet. Create one with POST /v1/organizations." },
  live: {
    title: "Live",
    map: "Map",
    moving: (number: number) => `${number.toLocaleString()} moving`,
    stopped: (number: number) => `${number.toLocaleString()} stopped`,
    silent: (number: number) => `${number.toLocaleString()} silent`,
  },
  vehicles: {
    title: "Vehicles",
    count: (number: number) => count(number, "vehicle"),
    empty: "No vehicle has reported yet",
    emptyNext: "Create a vehicle with its tracker under Vehicles, and let it report: the page shows the token and a line to try.",
    name: "Vehicle",
    state: "State",
    age: "Heard",
    speed: "km/h",
    states: { moving: "Moving", stopped: "Stopped", unknown: "Seen", stale: "Silent", offline: "Offline" },
  },
  inside: {
    title: "Inside now",
    empty: "Nobody is inside a fence",
    emptyNext: "Vehicles show up here as they enter one.",
    noFences: "There is no fence yet",
    noFencesNext: "Draw one under Fences.",
    since: (time: string) => `since ${time}`,
  },
  events: {
    title: "Events",
    empty: "Nothing has happened yet",
    emptyNext: "An entry in or exit from a fence shows here at once.",
    words: { entry: "entered", exit: "left", dwell: "stayed in" },
    takenBack: "taken back",
  },
  map: {
    loading: "Loading the map …",
    noWebgl: "This browser cannot draw the map: WebGL2 is missing or switched off. Lists, events and who is inside work without it.",
    failed: (reason: string) => `The map cannot be shown: ${reason}`,
    retry: "Reload the page",
    attribution: "Natural Earth",
  },
  manage,
  view: { unknown: "There is no such view." },
  units: {
    seconds: (seconds: number) => `${Math.max(0, Math.round(seconds))} s`,
    minutes: (minutes: number) => `${Math.floor(minutes)} min`,
    hours: (hours: number) => `${Math.floor(hours)} h`,
    days: (days: number) => `${Math.floor(days)} d`,
  },
};
