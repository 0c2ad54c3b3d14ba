// The vehicles as they are entered: names, plates, limits, trackers.

import { useSignal } from "@preact/signals";

import { may } from "../../api/permissions";
import { byName, fullName } from "../../format";
import { Desk, Detail } from "../../parts/Desk";
import { Listing } from "../../parts/Listing";
import { type Issued, TokenDialog } from "../../parts/TokenDialog";
import { feed, loadVehicles, vehicles } from "../../state/fleet";
import { href } from "../../state/route";
import { strings } from "../../strings";
import { VehicleDetail } from "./VehicleDetail";
import { VehicleForm } from "./VehicleForm";

const words = strings.manage.vehicles;

export function VehiclesView({ parts: [open] }: { parts: readonly string[] }) {
  const issued = useSignal<Issued | null>(null);
  const show = async (id: string | null) => {
    await loadVehicles();
    location.hash = id ? href("fleet", id) : href("fleet");
  };
  // until the feed runs, the list is not there yet
  const items = vehicles.value.size > 0 || feed.connection.value !== "off" ? [...vehicles.value.values()].sort((a, b) => byName(a.name, b.name)) : null;
  const vehicle = open ? vehicles.value.get(open) : undefined;
  const list = (
    <Listing
      title={words.title} note={words.count} items={items} current={open}
      id={({ id }) => id} text={(one) => `${one.name} ${one.plate?.number ?? ""} ${one.vin ?? ""}`} address={(id) => href("fleet", id)}
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
          <VehicleForm vehicle={null} onSaved={show} onToken={(token) => { issued.value = token; }} />
        </Detail>
      )}
      {open && open !== "new" && items && (
        <Detail key={open} title={vehicle?.name ?? words.title} back={href("fleet")}>
          {vehicle ? <VehicleDetail vehicle={vehicle} onGone={() => show(null)} /> : <p class="quiet">{strings.manage.form.gone}</p>}
        </Detail>
      )}
      {issued.value && <TokenDialog {...issued.value} onClose={() => { issued.value = null; }} />}
    </Desk>
  );
}
