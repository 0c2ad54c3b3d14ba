// The words of a vehicle's day and of what its device reports.

import { count } from "./numbers";

const kinds = { trip: "Trip", stop: "Stop", silence: "Silent" } as const;

export const dayWords = {
  title: "The day",
  day: "Day",
  before: "The day before",
  after: "The day after",
  strip: (vehicle: string, day: string) => `Trips and stops of ${vehicle}, ${day}`,
  loading: "Loading the day …",
  kinds,
  /** What a part of the strip is called: from when to when stands in between. */
  part: (kind: keyof typeof kinds, when: string, more: string) => [kinds[kind], when, more].filter(Boolean).join(", "),
  legend: { trip: "trip", stop: "stop", silence: "silent", fence: "in a fence", over: "too fast" },
  goesOn: "goes on",
  soFar: (span: string) => `${span} so far`,
  silentWithin: (span: string) => `silent for ${span} of it`,
  fastest: (speed: string) => `up to ${speed}`,
  fromTo: (from: string, to: string) => `${from} → ${to}`,
  from: (fence: string) => `from ${fence}`,
  to: (fence: string) => `to ${fence}`,
  within: (fence: string) => `in ${fence}`,
  empty: "It did not report on this day.",
  emptyYet: "It has not reported today yet.",
  unknown: "It reported on this day, and no trip or stop is known of it.",
  unknownYet: "It has reported today; a trip or a stop is not certain yet.",
  sum: (trips: number, way: string, driving: string) => `${count(trips, "trip")}, ${way}, ${driving} driving`,
  sumOpen: (trips: number, way: string, driving: string) => `${count(trips, "trip")}, ${way} and ${driving} driving without the one that goes on`,
  showsWay: "Its way is on the map. Escape goes back.",
  replayIt: "Replay it",
  visits: "Visits that day",
  overspeeds: "Too fast that day",
};

export const reportedWords = {
  title: "Reported by the device",
  names: {
    alarm: "Alarm",
    ignition: "Ignition",
    odometerKm: "Odometer",
    altitudeMeters: "Altitude",
    accuracyMeters: "Accuracy",
    satellites: "Satellites",
    hdop: "HDOP",
    batteryPercent: "Its battery",
    batteryVolts: "Its battery",
    charging: "Charging",
    externalVolts: "Supply",
    inputs: "Inputs",
    temperatureCelsius: "Temperature",
    coolantCelsius: "Coolant",
    engineRpm: "Engine",
    driverCard: "Driver's card",
  },
  alarms: {
    sos: "SOS", powerCut: "Power cut", powerRestored: "Power restored", tamper: "Tampering", jamming: "Jamming", accident: "Accident",
    tow: "Towing", lowBattery: "Low battery", lowPower: "Low supply", vibration: "Vibration", overspeed: "Too fast", movement: "Movement",
    general: "Alarm", fault: "Fault", fallDown: "Fall", powerOff: "Switched off", powerOn: "Switched on", door: "Door", removing: "Removed",
    hardAcceleration: "Hard acceleration", hardBraking: "Hard braking", hardCornering: "Hard cornering", fatigueDriving: "Tired driver",
  },
  is: (isOn: boolean) => (isOn ? "on" : "off"),
  yes: (isSo: boolean) => (isSo ? "yes" : "no"),
  input: (place: number, isOn: boolean) => `${place} ${isOn ? "on" : "off"}`,
  volts: (volts: string) => `${volts} V`,
  rpm: (turns: string) => `${turns} rpm`,
  percent: (share: string) => `${share} %`,
  within: (length: string) => `± ${length}`,
  others: (number: number) => `${count(number, "other value")}, by the device's own names`,
};
