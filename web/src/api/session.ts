// Who is signed in: kept in this browser, shared by its tabs, renewed when the access token runs out.

import { computed, signal } from "@preact/signals";

import { type Prepared, prepare, send } from "./http";
import { isSignedOut } from "./problem";
import type { PersonPrincipal, Role, SignedIn, User } from "./schema";
import { inTurn } from "./turn";

const KEY = "waypost.session";
/** A tab that was faster has its answer by then, and has stored it; it is looked for so often. */
const OTHERS_MS = 1000;
const LOOK_MS = 50;

function stored(): SignedIn | null {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "null");
  } catch {
    return null;
  }
}

const session = signal<SignedIn | null>(stored());

/** Why nobody is signed in any more, for the sign-in view; empty at first. */
export const endedBecause = signal("");

/** Who is signed in, as text: the same after the tokens were renewed, so that nothing is drawn again then. */
const person = computed(() => {
  if (!session.value) return "null";
  const { accessToken: _, refreshToken: __, expiresIn: ___, ...who } = session.value;
  return JSON.stringify(who);
});
/** The person who is signed in. */
export const me = computed((): PersonPrincipal | null => JSON.parse(person.value));

/** Whether a platform operator is signed in, who has no organization of their own. */
export const isOperator = computed(() => me.value !== null && (me.value.role === "superAdmin" || me.value.role === "admin"));

function keep(signedIn: SignedIn | null): void {
  if (signedIn) localStorage.setItem(KEY, JSON.stringify(signedIn));
  else localStorage.removeItem(KEY);
  session.value = signedIn;
}

// Another tab has signed in, renewed or signed out. Somebody else: nothing on this page is theirs.
addEventListener("storage", (event) => {
  if (event.key !== KEY) return;
  const now = stored();
  const same = (now as PersonPrincipal | null)?.id === me.value?.id;
  session.value = now;
  if (!same) location.reload();
});

/** Signs in by address and password. */
export async function signIn(email: string, password: string): Promise<void> {
  keep(await send<SignedIn>(prepare("post", "/v1/auth/login", { body: { email, password } }), undefined));
  endedBecause.value = "";
}

/** Signs in by a link that works once. */
export async function signInByLink(token: string): Promise<void> {
  keep(await send<SignedIn>(prepare("post", "/v1/auth/sign-in-link/{token}", { path: { token } }), undefined));
  endedBecause.value = "";
}

/** Asks for a letter with a link to choose a new password; never says whether there is such an account. */
export async function forgotPassword(email: string): Promise<void> {
  await send(prepare("post", "/v1/auth/forgot-password", { body: { email } }), undefined);
}

/** Signs out, here and on the server. */
export async function signOut(): Promise<void> {
  const refreshToken = session.value?.refreshToken;
  end("");
  // whoever signs out offline is signed out here at least
  if (refreshToken) await send(prepare("post", "/v1/auth/logout", { body: { refreshToken } }), undefined).catch(() => {});
}

/** What is said of the one signed in was changed, by themselves or an administrator. */
export function knowSelf({ firstName, lastName, locale, timezone, role }: User): void {
  if (!session.value) return;
  const { locale: _, timezone: __, ...others } = session.value as SignedIn & PersonPrincipal;
  keep({ ...others, firstName, lastName, role, ...(locale ? { locale } : {}), ...(timezone ? { timezone } : {}) } as SignedIn);
}

/** Forgets the session, and says why. */
export function end(reason: string): void {
  endedBecause.value = reason;
  keep(null);
}

let renewing: Promise<void> | null = null;

/** A refresh token works once: tabs take turns, and read in theirs what the others stored. */
async function renew(spent: string): Promise<void> {
  const kept = stored();
  if (!kept) return;
  if (kept.accessToken !== spent) {
    session.value = kept; // another tab was first
    return;
  }
  try {
    keep(await send<SignedIn>(prepare("post", "/v1/auth/refresh", { body: { refreshToken: kept.refreshToken } }), undefined));
  } catch (problem) {
    const theirs = isSignedOut(problem) ? await newerThan(kept) : null;
    if (!theirs) throw problem;
    session.value = theirs;
  }
}

/** What another tab got for the token that was refused here, once its answer is there too; null where there is none. */
async function newerThan({ refreshToken }: SignedIn): Promise<SignedIn | null> {
  for (const last = Date.now() + OTHERS_MS; ; await new Promise((again) => setTimeout(again, LOOK_MS))) {
    const now = stored();
    if (now?.refreshToken !== refreshToken) return now;
    if (Date.now() > last) return null;
  }
}

/** Sends a request as the one signed in; a token that has run out is renewed, once for all who wait. */
export async function sendSignedIn<T>(request: Prepared, read?: (answer: Response) => Promise<T>): Promise<T> {
  const token = session.value?.accessToken;
  try {
    return await send<T>(request, token, read);
  } catch (problem) {
    if (!isSignedOut(problem) || !token) throw problem;
  }
  renewing ??= inTurn(KEY, () => renew(token)).finally(() => { renewing = null; });
  await renewing;
  return send<T>(request, session.value?.accessToken, read);
}

/** Whether the one signed in has one of these roles. */
export const hasRole = (...roles: readonly Role[]): boolean => me.value !== null && roles.includes(me.value.role);
