// What the organization says of itself and sets for itself, and who changed what.

import { useSignal } from "@preact/signals";

import { api } from "../../api/client";
import { may } from "../../api/permissions";
import type { Organization, UpdateOrganizationBody } from "../../api/schema";
import { useAnswer } from "../../parts/answer";
import { Facts } from "../../parts/Desk";
import { Confirm } from "../../parts/Dialog";
import { CheckField, Form, Group, type Members, Row, SelectField, TextField, useDraft } from "../../parts/form";
import { NumberField } from "../../parts/NumberField";
import { edits, organization, organizations } from "../../state/fleet";
import { strings } from "../../strings";
import { RuleFields } from "../fences/RuleFields";
import { Audit } from "./Audit";

const words = strings.manage.organization;

export function OrganizationView() {
  const shown = organization.value;
  if (!shown) return null;
  return (
    <div class="settings">
      <section aria-label={words.settings}>
        <h2>{shown.name}</h2>
        <Plan key={shown.id} organization={shown} />
        {may("updateOrganization") ? <Settings key={shown.id} organization={shown} /> : <SettingsFacts organization={shown} />}
      </section>
      {may("readAudit") && <Audit key={`audit ${shown.id}`} />}
    </div>
  );
}

/** Lists do not count what is used: the organization by itself does. */
function Plan({ organization: { id } }: { organization: Organization }) {
  const found = useAnswer(() => {
    edits.value;
    return api.get("/v1/organizations/organization/{id}", { path: { id } });
  });
  if (!found.value?.subscription) return null;
  const { plan, usage, limits } = found.value.subscription;
  const manage = strings.manage;
  return (
    <Facts facts={[
      [words.plan, words.plans[plan]],
      [manage.vehicles.title, usage && words.of(usage.vehicles, limits.vehicles)],
      [manage.drivers.title, usage && words.of(usage.drivers, limits.drivers)],
      [manage.fences.title, usage && words.of(usage.geofences, limits.geofences)],
      [manage.users.title, usage && words.of(usage.users, limits.users)],
    ]} />
  );
}

function Settings({ organization: shown }: { organization: Organization }) {
  const said = useSignal("");
  const { name, contactEmail, contactPhone, address, settings } = shown;
  const draft = useDraft(() => ({ name, contactEmail, contactPhone, address, settings }) as Members, shown.updatedAt);
  const asking = useSignal<Asking | null>(null);
  const isMeant = async () => {
    const shorter = shortened((settings?.retention ?? {}) as Days, (draft.at("/settings/retention") ?? {}) as Days);
    if (shorter.length === 0) return true;
    const isYes = await new Promise<boolean>((answer) => { asking.value = { shorter, answer }; });
    asking.value = null;
    return isYes;
  };
  const save = async () => {
    said.value = "";
    const changed = await api.put("/v1/organizations/organization/{id}", { path: { id: shown.id }, body: draft.changes() as UpdateOrganizationBody });
    organizations.value = organizations.value.map((one) => (one.id === changed.id ? changed : one));
    organization.value = changed;
    said.value = strings.manage.form.saved;
  };
  return (
    <>
      <Form draft={draft} label={words.settings} action={strings.manage.form.save} work={save} isMeant={isMeant} more={<span role="status" class="said">{said.value}</span>}>
        <TextField of="/name" label={words.name} required />
        <Row><TextField of="/contactEmail" label={words.contactEmail} type="email" required /><TextField of="/contactPhone" label={words.contactPhone} type="tel" /></Row>
        <TextField of="/address" label={words.address} />
        <Row>
          <TextField of="/settings/timezone" label={words.timezone} hint={words.timezoneHint} required />
          <TextField of="/settings/locale" label={words.locale} hint={words.localeHint} required />
          <SelectField of="/settings/units" label={words.units} options={words.unitsWords} />
        </Row>
        <Group title={words.liveness} open><Row><NumberField of="/settings/staleAfterSeconds" kind="whole" label={words.stale} required /><NumberField of="/settings/offlineAfterSeconds" kind="whole" label={words.offline} required /></Row></Group>
        <Group title={words.defaults}><RuleFields of="/settings/geofenceDefaults" /></Group>
        <Group title={words.drivers}>
          <CheckField of="/settings/assignment/blockOnExpiredLicense" label={words.blockExpired} />
          <NumberField of="/settings/assignment/maxOpenVehiclesPerDriver" kind="whole" label={words.maxVehicles} />
        </Group>
        <Group title={words.retention}>
          <Row>
            <NumberField of="/settings/retention/positionsDays" kind="whole" label={words.positionsDays} />
            <NumberField of="/settings/retention/eventsDays" kind="whole" label={words.eventsDays} />
            <NumberField of="/settings/retention/fuelDays" kind="whole" label={words.fuelDays} />
          </Row>
        </Group>
      </Form>
      {asking.value && <Shorter of={asking.value.shorter} answer={asking.value.answer} />}
    </>
  );
}

/** How many days of each kind are kept; null is for ever. */
type Days = Readonly<Partial<Record<Kept, number | null>>>;
type Kept = keyof typeof words.shorter;

/** What is kept for fewer days than before. */
function shortened(before: Days, now: Days): string[] {
  const kinds = Object.keys(words.shorter) as Kept[];
  return kinds.flatMap((kind) => {
    const days = now[kind];
    return days != null && days < (before[kind] ?? Infinity) ? [words.shorter[kind](days)] : [];
  });
}

interface Asking {
  readonly shorter: readonly string[];
  readonly answer: (isMeant: boolean) => void;
}

/** Asks before what is kept now is deleted. */
function Shorter({ of, answer }: { of: readonly string[]; answer: (isMeant: boolean) => void }) {
  return (
    <Confirm
      title={words.shorterTitle} text={words.shorterText(of.join(", "))} action={words.shorterAction}
      work={async () => answer(true)} onClose={() => answer(false)}
    />
  );
}

function SettingsFacts({ organization: { contactEmail, contactPhone, address, settings } }: { organization: Organization }) {
  return (
    <Facts facts={[
      [words.contactEmail, contactEmail],
      [words.contactPhone, contactPhone],
      [words.address, address],
      [words.timezone, settings?.timezone],
      [words.stale, settings?.staleAfterSeconds],
      [words.offline, settings?.offlineAfterSeconds],
    ]} />
  );
}
