// The vehicles as they are entered, and entering one. Each has its page beside the map.

import { useComputed, useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";

import { may } from "../../api/permissions";
import { byName, fullName } from "../../format";
import { Desk, Detail } from "../../parts/Desk";
import { Listing } from "../../parts/Listing";
import { type Issued, TokenDialog } from "../../parts/TokenDialog";
import { isListed, loadVehicle, vehicles } from "../../state/fleet";
import { href } from "../../state/route";
import { strings } from "../../strings";
import { VehicleForm } from "../vehicle/VehicleForm";

const words = strings.manage.vehicles;

export function VehiclesView({ parts: [open] }: { parts: readonly string[] }) {
  const issued = useSignal<Issued | null>(null);
  const made = useSignal<string | null>(null);
  // an address that somebody kept from when a vehicle had a second page here
  useLayoutEffect(() => { if (open && open !== "new") location.replace(href("live", open)); }, [open]);
  const show = () => { location.hash = href("live", made.peek() ?? ""); };
  const saved = async (id: string) => {
    made.value = id;
    await loadVehicle(id);
    // its token is read first
    if (!issued.peek()) show();
  };
  // sorting ten thousand names takes its time: not with each letter of a search
  const sorted = useComputed(() => [...vehicles.value.values()].sort((a, b) => byName(a.name, b.name)));
  const items = isListed.value ? sorted.value : null;
  const list = (
    <Listing
      title={words.title} note={words.count} items={items} current={undefined}
      id={({ id }) => id} text={(one) => `${one.name} ${one.plate?.number ?? ""} ${one.vin ?? ""}`} address={(id) => href("live", id)}
      empty={[words.empty, may("writeVehicles") ? words.emptyNext : words.emptyNextRead]}
      columns={[
        { title: words.name, cell: ({ name }) => name },
        { title: words.plate, cell: ({ plate }) => plate?.number },
        { title: words.category, cell: ({ category }) => words.categories[category ?? "other"] },
        { title: words.driver, cell: ({ driver }) => driver && fullName(driver) },
        { title: words.status, cell: ({ status = "active" }) => <span class="mark" data-mark={status === "active" ? "good" : "none"}>{words.statuses[status]}</span> },
      ]}
      actions={may("writeVehicles") && <a class="button primary" href={href("fleet", "new")}>{words.new}</a>}
    />
  );
  return (
    <Desk list={list}>
      {open === "new" && may("writeVehicles") && (
        <Detail key="new" title={words.new} back={href("fleet")}>
          <VehicleForm vehicle={null} onSaved={saved} onToken={(token) => { issued.value = token; }} />
        </Detail>
      )}
      {issued.value && <TokenDialog {...issued.value} onClose={show} />}
    </Desk>
  );
}
