// Whose the address is, with what they searched and looked at: who comes after them in this tab begins anew.

import { signOut } from "../api/session";
import { camera } from "./camera";
import { forgetAddress } from "./route";

/** Through reloads, in this tab: another tab may be where they signed out. */
const WHOSE = "waypost.whose";

/** Somebody is signed in: what somebody else left in the address goes, what they left themselves stays. */
export function takeAddress(id: string): void {
  const last = sessionStorage.getItem(WHOSE);
  if (last !== null && last !== id) forget();
  sessionStorage.setItem(WHOSE, id);
}

/** Signs out, and leaves nothing in the address; a link that is opened after that is somebody's own. */
export function leave(): void {
  sessionStorage.removeItem(WHOSE);
  forget();
  void signOut();
}

function forget(): void {
  forgetAddress();
  camera.value = null;
}
