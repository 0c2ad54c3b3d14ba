// Tabs of this page take turns, also where the browser knows no locks: a page that comes over plain http from another machine.

/** Whose turn it is, until when. */
interface Turn {
  readonly whose: string;
  readonly until: number;
}

/** A tab that vanished in its turn has it no longer than this. */
const TURN_MS = 10_000;
/** What one tab stores the others read by then. */
const TOLD_MS = 80;

const pause = (milliseconds: number) => new Promise<void>((end) => setTimeout(end, milliseconds));

function noted(key: string): Turn | null {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "null");
  } catch {
    return null;
  }
}

/** Does the work while no other tab does some of this name; without locks, for as long as a turn lasts. */
export async function inTurn(name: string, work: () => Promise<void>): Promise<void> {
  if (navigator.locks) {
    await navigator.locks.request(name, work);
    return;
  }
  const [key, own] = [`${name}.turn`, String(Math.random())];
  while (noted(key)?.whose !== own) {
    if ((noted(key)?.until ?? 0) < Date.now()) localStorage.setItem(key, JSON.stringify({ whose: own, until: Date.now() + TURN_MS } satisfies Turn));
    // who wrote at the same time and last has it
    await pause(TOLD_MS);
  }
  const leave = () => {
    if (noted(key)?.whose === own) localStorage.removeItem(key);
  };
  addEventListener("pagehide", leave, { once: true });
  try {
    await work();
  } finally {
    removeEventListener("pagehide", leave);
    leave();
  }
}
