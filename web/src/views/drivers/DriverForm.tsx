// Entering and changing a driver.

import { api } from "../../api/client";
import type { CreateDriverBody, UpdateDriverBody } from "../../api/schema";
import type { Driver } from "../../api/types";
import { CheckField, Form, Group, type Members, Row, SelectField, TextField, useDraft } from "../../parts/form";
import { scope } from "../../state/fleet";
import { strings } from "../../strings";

const words = strings.manage.drivers;

interface Props {
  /** Whom to change; null enters a new one. */
  readonly driver: Driver | null;
  readonly onSaved: (id: string) => Promise<void>;
  readonly onCancel?: () => void;
}

export function DriverForm({ driver, onSaved, onCancel }: Props) {
  const draft = useDraft(() => initial(driver), driver?.updatedAt);
  // who does not keep the driver changes its own profile only
  const isWhole = driver?.kept ?? true;
  const save = async () => {
    const all = draft.value.peek();
    const body = sent(driver ? draft.changes() : all, all);
    const { id } = driver
      ? await api.put("/v1/drivers/{id}", { path: { id: driver.id }, query: scope.peek(), body: body as UpdateDriverBody })
      : await api.post("/v1/drivers", { body: { ...body, ...scope.peek() } as CreateDriverBody });
    await onSaved(id);
  };
  return (
    <Form draft={draft} label={driver ? strings.manage.form.edit : words.new} action={strings.manage.form.save} work={save} {...(onCancel ? { onCancel } : {})}>
      {isWhole && <Row><TextField of="/firstName" label={words.firstName} required /><TextField of="/lastName" label={words.lastName} required /></Row>}
      <Row><TextField of="/employeeCode" label={words.employeeCode} /><SelectField of="/status" label={words.status} options={words.statuses} /></Row>
      <Row><TextField of="/phone" label={words.phone} type="tel" /><TextField of="/email" label={words.email} type="email" /></Row>
      <TextField of="/cards" label={words.cards} hint={words.cardsHint} />
      <TextField of="/notes" label={words.notes} rows={3} />
      {isWhole && (
        <>
          <TextField of="/dateOfBirth" label={words.dateOfBirth} type="date" />
          <Group title={words.license} open>
            <Row><TextField of="/license/number" label={words.licenseNumber} /><TextField of="/license/country" label={words.licenseCountry} /></Row>
            <TextField of="/license/categories" label={words.licenseCategories} hint={words.licenseCategoriesHint} />
            <Row><TextField of="/license/issuedAt" label={words.licenseIssued} type="date" /><TextField of="/license/expiresAt" label={words.licenseExpires} type="date" /></Row>
          </Group>
        </>
      )}
      {!driver && <CheckField of="/lock" label={words.lockNew} />}
    </Form>
  );
}

/** What the form writes: cards and categories are one line of text there. */
function initial(driver: Driver | null): Members {
  if (!driver) return { status: "active", lock: true };
  const { firstName, lastName, employeeCode, status, phone, email, notes, dateOfBirth, license, cards } = driver;
  return { firstName, lastName, employeeCode, status, phone, email, notes, dateOfBirth, cards: cards?.join(", "), license: license && { ...license, categories: license.categories?.join(", ") } };
}

/** What the server takes of some of all members: a licence without anything on it is none. */
function sent({ cards, license, ...profile }: Members, all: Members): Members {
  const members = cards === undefined ? profile : { ...profile, cards: listed(cards as string | null) };
  if (license === undefined) return members;
  if (!Object.values(all["license"] ?? {}).some(Boolean)) return { ...members, license: null };
  const said: Record<string, unknown> = { ...license as Members };
  if (said["country"]) said["country"] = String(said["country"]).toUpperCase();
  if ("categories" in said) said["categories"] = listed(said["categories"] as string | null);
  return { ...members, license: said };
}

function listed(text: string | null | undefined): string[] {
  return (text ?? "").split(",").map((one) => one.trim()).filter(Boolean);
}
