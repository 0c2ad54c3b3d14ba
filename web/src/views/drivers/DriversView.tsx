// Drivers: who they are, what they drive, who holds them.

import { useSignal } from "@preact/signals";

import { all, api } from "../../api/client";
import { may } from "../../api/permissions";
import type { Driver } from "../../api/types";
import { byLastName, fullName } from "../../format";
import { Desk, Detail } from "../../parts/Desk";
import { Listing } from "../../parts/Listing";
import { useToldList } from "../../parts/told";
import { scope, vehicleName, vehicles } from "../../state/fleet";
import { href, route } from "../../state/route";
import { strings } from "../../strings";
import { DriverDetail } from "./DriverDetail";
import { DriverForm } from "./DriverForm";
import { FindDriver } from "./FindDriver";
import { licenseMark, licenseWord } from "./license";

const words = strings.manage.drivers;

/** The name of a vehicle that somebody drives: as it is now, if it is the organization's. */
export const heldName = ({ id, name }: { id: string; name: string }): string => vehicles.value.get(id)?.name ?? name;

export function DriversView({ parts: [open] }: { parts: readonly string[] }) {
  const isFinding = useSignal(false);
  const { items, reload, remove } = useToldList<Driver>({
    resource: "driver", order: byLastName,
    load: () => all((page) => api.get("/v1/drivers", { query: { ...page, ...scope.peek(), sort: "lastName,firstName" } })),
    find: (id) => api.get("/v1/drivers/{id}", { path: { id }, query: scope.peek() }),
  });
  const show = async (id: string) => {
    await reload(id);
    location.hash = href("drivers", id);
  };
  // who wanted to assign a driver to it, and had none
  const vehicle = route.value.query.get("vehicle");
  const forVehicle = async (id: string) => { location.hash = `${href("live", vehicle ?? "")}?driver=${id}`; };
  const gone = (id: string) => {
    remove(id);
    location.hash = href("drivers");
  };
  const driver = items.value?.find(({ id }) => id === open);
  const list = (
    <Listing
      title={words.title} note={words.count} items={items.value} current={open}
      id={({ id }) => id} text={(one) => `${fullName(one)} ${one.employeeCode ?? ""} ${one.license?.number ?? ""}`} address={(id) => href("drivers", id)}
      empty={[words.empty, may("writeDrivers") ? words.emptyNext : words.emptyNextRead]}
      columns={[
        { title: words.name, cell: fullName },
        { title: words.vehicles, cell: (one) => one.currentVehicles.map(heldName).join(", ") },
        { title: words.license, cell: (one) => <LicenseMark driver={one} /> },
        { title: words.status, cell: (one) => words.statuses[one.status ?? "active"] },
        { title: words.lockedTo, cell: (one) => one.lock.locked && (one.kept ? words.lockedHere : words.lockedThere) },
      ]}
      actions={may("writeDrivers") && (
        <>
          <button type="button" onClick={() => { isFinding.value = true; }}>{words.find}</button>
          <a class="button primary" href={href("drivers", "new")}>{words.new}</a>
        </>
      )}
    />
  );
  return (
    <Desk list={list}>
      {open === "new" && may("writeDrivers") && (
        <Detail key="new" title={words.new} back={vehicle ? href("live", vehicle) : href("drivers")}>
          {vehicle && <p>{words.forVehicle(vehicleName(vehicle))}</p>}
          <DriverForm driver={null} onSaved={vehicle ? forVehicle : show} />
        </Detail>
      )}
      {open && open !== "new" && items.value && (
        <Detail key={open} title={driver ? fullName(driver) : words.title} back={href("drivers")}>
          {driver ? <DriverDetail driver={driver} reload={() => reload(driver.id)} onGone={() => gone(driver.id)} /> : <p class="quiet">{strings.manage.form.gone}</p>}
        </Detail>
      )}
      {isFinding.value && <FindDriver onClose={() => { isFinding.value = false; }} onTaken={show} />}
    </Desk>
  );
}

function LicenseMark({ driver: { licenseStatus, license } }: { driver: Driver }) {
  if (!licenseStatus) return null;
  return <span class="mark" data-mark={licenseMark(licenseStatus, license)}>{licenseWord(licenseStatus, license)}</span>;
}
