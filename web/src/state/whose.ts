// Whose the address is, with what they searched and looked at: who comes after them in this tab begins anew.

import { signOut } from "../api/session";
import { camera } from "./camera";
import { notices } from "./notices";
import { forgetAddress } from "./route";

/** Through reloads, in this tab: another tab may be where they signed out. */
const WHOSE = "waypost.whose";
/** The address at which their session ended, until somebody is signed in again. */
const LEFT = "waypost.left";

let isTaken = false;

/** Somebody is signed in: what somebody else left in the address goes, what they left themselves and a link opened since then stay. */
export function takeAddress(id: string): void {
  const last = sessionStorage.getItem(WHOSE);
  const left = sessionStorage.getItem(LEFT);
  if (last !== null && last !== id) forget(left !== null && left !== location.hash);
  sessionStorage.removeItem(LEFT);
  sessionStorage.setItem(WHOSE, id);
  isTaken = true;
}

/** Nobody is signed in, or nobody any more: what the address does not say is in no link that is opened now. */
export function leaveAddress(): void {
  if (!isTaken) return;
  isTaken = false;
  sessionStorage.setItem(LEFT, location.hash);
  forgetAddress(true);
}

/** Signs out, and leaves nothing in the address; a link that is opened after that is somebody's own. */
export function leave(): void {
  sessionStorage.removeItem(WHOSE);
  forget(false);
  void signOut();
}

function forget(isAddressTheirs: boolean): void {
  forgetAddress(isAddressTheirs);
  camera.value = null;
  notices.value = [];
}
