// One driver: facts, vehicles, lock.

import { useSignal } from "@preact/signals";

import { api } from "../../api/client";
import { may } from "../../api/permissions";
import type { Driver } from "../../api/types";
import { day, dayAndTime, fullName } from "../../format";
import { Confirm, Dialog } from "../../parts/Dialog";
import { Facts } from "../../parts/Desk";
import { Form, TextField, useDraft } from "../../parts/form";
import { lazy } from "../../parts/lazy";
import { scope } from "../../state/fleet";
import { strings } from "../../strings";
import { Assignments } from "./Assignments";
import { DriverForm } from "./DriverForm";
import { licenseWord } from "./license";

const words = strings.manage.drivers;
const Documents = lazy(async () => (await import("./Documents")).Documents);

interface Props {
  readonly driver: Driver;
  readonly reload: () => Promise<void>;
  readonly onGone: () => void;
}

export function DriverDetail({ driver, reload, onGone }: Props) {
  const asking = useSignal<"edit" | "lock" | "unlock" | "delete" | null>(null);
  const close = () => { asking.value = null; };
  const ask = (what: "edit" | "lock" | "unlock" | "delete") => () => { asking.value = what; };
  const name = fullName(driver);
  const path = { id: driver.id };

  if (asking.value === "edit") {
    const saved = async () => {
      await reload();
      close();
    };
    return <DriverForm driver={driver} onSaved={saved} onCancel={close} />;
  }
  const unlock = async () => {
    await api.post("/v1/drivers/{id}/unlock", { path, body: scope.peek() });
    await reload();
  };
  const remove = async () => {
    await api.delete("/v1/drivers/{id}", { path, query: scope.peek() });
    onGone();
  };
  return (
    <>
      {may("writeDrivers") && (
        <div class="tools">
          <button type="button" onClick={ask("edit")}>{strings.manage.form.edit}</button>
          {may("lockDrivers") && (driver.kept || !driver.lock.locked) && <button type="button" onClick={ask(driver.lock.locked ? "unlock" : "lock")}>{driver.lock.locked ? words.unlock : words.lock}</button>}
          <span class="grow" />
          <button type="button" class="danger" onClick={ask("delete")}>{strings.manage.form.delete}</button>
        </div>
      )}
      <DriverFacts driver={driver} />
      <Assignments driver={driver} reload={reload} />
      <Documents driver={driver} reload={reload} />
      {asking.value === "lock" && <LockDialog driver={driver} reload={reload} onClose={close} />}
      {asking.value === "unlock" && <Confirm title={words.unlockTitle(name)} text={words.unlockText} action={words.unlock} work={unlock} onClose={close} />}
      {asking.value === "delete" && <Confirm title={words.remove(name)} text={words.removeText} action={strings.manage.form.delete} work={remove} onClose={close} />}
    </>
  );
}

function DriverFacts({ driver: { lock, license, licenseStatus, ...driver } }: { driver: Driver }) {
  return (
    <Facts facts={[
      [words.status, words.statuses[driver.status ?? "active"]],
      [words.lock, lock.lockedAt ? words.lockedSince(dayAndTime(lock.lockedAt)) : lock.locked ? words.lockedElsewhere : words.unlocked],
      [words.reason, lock.reason],
      [words.employeeCode, driver.employeeCode],
      [words.phone, driver.phone && <a href={`tel:${driver.phone}`}>{driver.phone}</a>],
      [words.email, driver.email && <a href={`mailto:${driver.email}`}>{driver.email}</a>],
      [words.dateOfBirth, driver.dateOfBirth && day(driver.dateOfBirth)],
      [words.license, licenseStatus ? `${licenseWord(licenseStatus, license)}${license ? ` · ${license.country} ${license.number}` : ""}` : words.notKept],
      [words.licenseCategories, license?.categories?.join(", ")],
      [words.licenseExpires, license && (license.expiresAt ? day(license.expiresAt) : words.licenseNoExpiry)],
      [words.cards, driver.cards?.join(", ")],
      [words.notes, driver.notes],
    ]} />
  );
}

function LockDialog({ driver, reload, onClose }: { driver: Driver; reload: () => Promise<void>; onClose: () => void }) {
  const draft = useDraft(() => ({}));
  const lock = async () => {
    const reason = draft.at("/reason") as string | null | undefined;
    await api.post("/v1/drivers/{id}/lock", { path: { id: driver.id }, body: { ...scope.peek(), ...(reason ? { reason } : {}) } });
    await reload();
    onClose();
  };
  const title = words.lockTitle(fullName(driver));
  return (
    <Dialog title={title} onClose={onClose}>
      <Form draft={draft} label={title} action={words.lock} work={lock} onCancel={onClose}>
        <p>{words.lockText}</p>
        <TextField of="/reason" label={`${words.reason} (${strings.manage.form.optional})`} />
      </Form>
    </Dialog>
  );
}
