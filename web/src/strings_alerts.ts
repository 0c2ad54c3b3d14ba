// Every word about alerts; loaded with what shows them.

import { count, whole } from "./numbers";

export const alertWords = {
  title: "Attention",
  count: (number: number, isMore: boolean) => (isMore ? `more than ${whole(number)}` : whole(number)),
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
  vehicles: (number: number) => count(number, "vehicle"),
  since: "since",
  evidence: "Evidence",
  evidenceOf: (name: string) => `Evidence of the drain of ${name}`,
  replay: "Replay",
  replayOf: (name: string) => `Replay of ${name}`,
  call: (name: string) => `Call ${name}`,
  seen: "Seen",
  seenLabel: (what: string) => `Seen: ${what}`,
  seenBy: (name: string) => `seen by ${name}`,
  operator: "an operator",
  here: "A new alert, in this browser",
  sound: "Rings",
  notification: "Is a notification of the system",
  notAllowed: "This browser does not let the page notify: it asks for https, and for your permission.",
  snooze: "Later",
  snoozeLabel: (what: string) => `Ask again in an hour: ${what}`,
} as const;
