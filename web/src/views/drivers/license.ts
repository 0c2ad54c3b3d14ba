// What a driver's licence is called: one that has no expiry date is valid as far as anybody knows.

import type { Driver } from "../../api/types";
import { strings } from "../../strings";

const words = strings.manage.drivers;
type Status = NonNullable<Driver["licenseStatus"]>;

const isUndated = (status: Status, license: Driver["license"]): boolean => status === "valid" && !!license && !license.expiresAt;
const MARKS: Readonly<Record<Status, string>> = { valid: "good", expiring: "warn", expired: "bad", missing: "none" };

/** In words. */
export const licenseWord = (status: Status, license: Driver["license"]): string =>
  isUndated(status, license) ? words.licenseUndated : words.licenseStatuses[status];

/** As a mark of a list. */
export const licenseMark = (status: Status, license: Driver["license"]): string => (isUndated(status, license) ? "none" : MARKS[status]);
