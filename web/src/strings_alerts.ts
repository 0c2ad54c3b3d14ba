// Every word about alerts; loaded with what shows them.

import { count as counted, whole } from "./numbers";

/** `10,000+` where there are more than are counted. */
const count = (number: number, isMore: boolean): string => `${whole(number)}${isMore ? "+" : ""}`;

export const alertWords = {
  title: "Attention",
  count,
  notShown: (number: number, isMore: boolean) => `${count(number, isMore)} more, less urgent: they move up as these are seen to.`,
  nothing: "Nothing",
  past: "Earlier alerts",
  pastShort: "Earlier",
  noPast: "There was none yet.",
  older: "Older",
  putOff: "put off until",
  rules: {
    drain: "Drain",
    overspeed: "Speeding",
    dwell: "In a fence for too long",
    silentWhileMoving: "Silent while moving",
    licenseExpired: "Licence expired",
  },
  perhaps: "Perhaps a drain",
  notCertain: "not certain yet",
  insteadOf: (speed: string, limit: string) => `${speed} instead of ${limit}`,
  vehicles: (number: number) => counted(number, "vehicle"),
  since: "since",
  evidence: "Evidence",
  evidenceOf: (name: string) => `Evidence of the drain of ${name}`,
  replay: "Replay",
  replayOf: (name: string) => `Replay of ${name}`,
  call: (name: string, number: string) => `Call ${name}, ${number}`,
  seen: "Seen",
  seenLabel: (what: string) => `Seen: ${what}`,
  seenBy: (name: string) => `seen by ${name}`,
  operator: "an operator",
  here: "A new alert, in this browser",
  sound: "Rings",
  notification: "Is a notification of the system",
  notAllowed: "This browser does not let the page notify: it asks for https, and for your permission; some let no page, as on Android.",
  snooze: "Later",
  snoozeLabel: (what: string) => `Ask again in an hour: ${what}`,
} as const;
