// How this browser calls somebody to a new alert, by their choice: a sound, a notification of the system. Kept in the browser, since
// who shares an account need not share a room.

import { type Signal, effect, signal } from "@preact/signals";

import type { Alert } from "../api/schema";
import { alertWords as words } from "../strings_alerts";
import { href } from "./route";

const NOTES_HZ = [880, 660] as const;
const NOTE_SECONDS = 0.18;

function kept(key: string): Signal<boolean> {
  const state = signal(localStorage.getItem(key) === "on");
  effect(() => localStorage.setItem(key, state.value ? "on" : "off"));
  return state;
}

/** Whether a new alert is heard. */
export const isHeard = kept("waypost.alerts.sound");
/** Whether a new alert is a notification of the system, where the browser lets this page make them. */
export const isNotified = kept("waypost.alerts.notification");

let audio: AudioContext | null = null;

/** Two short notes. A browser that heard no click in this page yet stays silent. */
export function ring(): void {
  audio ??= new AudioContext();
  void audio.resume();
  const begins = audio.currentTime;
  NOTES_HZ.forEach((frequency, index) => {
    if (!audio) return;
    const [tone, volume, at] = [audio.createOscillator(), audio.createGain(), begins + index * NOTE_SECONDS];
    tone.frequency.value = frequency;
    volume.gain.setValueAtTime(0.25, at);
    volume.gain.exponentialRampToValueAtTime(0.001, at + NOTE_SECONDS);
    tone.connect(volume).connect(audio.destination);
    tone.start(at);
    tone.stop(at + NOTE_SECONDS);
  });
}

/** A notification of the system; null where pages cannot make any, as on Android, where the constructor throws. */
function notification(title: string, options: NotificationOptions): Notification | null {
  try {
    return new Notification(title, options);
  } catch {
    return null;
  }
}

/** Asks the browser to let this page make notifications, unless it could make none; whether it does. One is tried only while none
 * would be shown: one that is closed at once stays on the screen all the same. */
export async function mayNotify(): Promise<boolean> {
  if (!("Notification" in window)) return false;
  if (Notification.permission === "granted") return true;
  return notification("", { silent: true }) !== null && (await Notification.requestPermission()) === "granted";
}

/** Calls somebody to alerts that are new. */
export function call(alerts: readonly Alert[]): void {
  if (alerts.length === 0) return;
  if (isHeard.peek()) ring();
  if (!isNotified.peek() || !("Notification" in window) || Notification.permission !== "granted") return;
  for (const { id, rule, vehicleId, vehicleName, vehicleIds } of alerts) {
    const who = vehicleIds.length > 1 ? words.vehicles(vehicleIds.length) : vehicleName;
    const shown = notification(words.rules[rule], { body: who, tag: id });
    if (!shown) {
      isNotified.value = false;
      return;
    }
    shown.onclick = () => {
      window.focus();
      location.hash = href("live", vehicleId);
    };
  }
}
