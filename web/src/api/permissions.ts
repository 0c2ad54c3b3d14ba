// What a role may do, as src/auth/permission.rs has it: what the page offers. The server decides.

import { me } from "./session";
import type { Role } from "./schema";

const operators = ["superAdmin", "admin"] as const;
const leaders = [...operators, "orgAdmin"] as const;

const ROLES = {
  writeVehicles: leaders,
  writeTrackers: leaders,
  writeDrivers: leaders,
  lockDrivers: leaders,
  assignDrivers: [...leaders, "dispatcher"],
  writeGeofences: [...leaders, "dispatcher"],
  handleAlerts: [...leaders, "dispatcher"],
  share: [...leaders, "dispatcher"],
  listUsers: [...leaders, "dispatcher"],
  writeUsers: leaders,
  updateOrganization: leaders,
  manageSystemUsers: leaders,
  manageWebhooks: leaders,
  manageSubscription: operators,
  readAudit: leaders,
} as const satisfies Record<string, readonly Role[]>;

/** Something that not everybody may do. */
export type Action = keyof typeof ROLES;

/** Whether the one signed in may do it. */
export function may(action: Action): boolean {
  const roles: readonly Role[] = ROLES[action];
  return me.value !== null && roles.includes(me.value.role);
}
