// A new link to vehicles: which, until when, until they enter what.

import { api } from "../../api/client";
import type { CreateShareBody, ShareWithToken } from "../../api/schema";
import { instantOf, localTime } from "../../format";
import { FindField } from "../../parts/FindField";
import { PickField } from "../../parts/PickField";
import { Form, TextField, useDraft } from "../../parts/form";
import { now } from "../../state/clock";
import { fenceName, scope, vehicleName, vehicles } from "../../state/fleet";
import { route } from "../../state/route";
import { shareWords as words } from "../../strings_shares";

const DAY_MS = 86_400_000;

export function NewShare({ onMade }: { onMade: (made: ShareWithToken) => Promise<void> }) {
  const draft = useDraft(() => ({
    vehicleIds: route.peek().query.getAll("vehicle"),
    // to the minute, as people say it
    endsAt: localTime(now.peek() + DAY_MS).slice(0, 16),
    geofenceId: null,
  }));
  const make = async () => {
    const { endsAt, ...body } = draft.value.peek();
    const share = { ...body, ...scope.peek(), endsAt: new Date(instantOf(String(endsAt))).toISOString() };
    await onMade(await api.post("/v1/shares", { body: share as unknown as CreateShareBody }));
  };
  const findFences = async (q: string, limit: number) => (await api.get("/v1/geofences", { query: { ...scope.peek(), q, limit, geometry: "none", sort: "name" } })).data;
  return (
    <Form draft={draft} label={words.new} action={words.make} work={make}>
      <PickField of="/vehicleIds" label={words.vehicles} hint={words.vehiclesHint} things={vehicles.value} name={vehicleName} />
      <TextField of="/endsAt" label={words.until_} type="datetime-local" hint={words.untilHint} required />
      <FindField of="/geofenceId" label={words.fence} hint={words.fenceHint} none={words.anyPlace} find={findFences} name={fenceName} />
      <TextField of="/name" label={words.name} hint={words.nameHint} />
    </Form>
  );
}
