// Trackers: the devices, the vehicles they sit in, their tokens.

import { useSignal } from "@preact/signals";

import { all, api } from "../../api/client";
import { may } from "../../api/permissions";
import type { Tracker, TrackerWithToken } from "../../api/schema";
import { byName } from "../../format";
import { Desk, Detail } from "../../parts/Desk";
import { Listing } from "../../parts/Listing";
import { NewTracker } from "../../parts/NewTracker";
import { useToldList } from "../../parts/told";
import { scope, vehicleName } from "../../state/fleet";
import { href, route } from "../../state/route";
import { strings } from "../../strings";
import { type Issued, TokenDialog } from "../../parts/TokenDialog";
import { PendingTrackers } from "./PendingTrackers";
import { TrackerDetail } from "./TrackerDetail";

const words = strings.manage.trackers;

export function TrackersView({ parts: [open] }: { parts: readonly string[] }) {
  const issued = useSignal<Issued | null>(null);
  const { items, reload, remove } = useToldList<Tracker>({
    resource: "tracker", order: (one, other) => byName(one.uniqueId, other.uniqueId),
    load: () => all((page) => api.get("/v1/trackers", { query: { ...page, ...scope.peek(), sort: "uniqueId" } })),
    find: (id) => api.get("/v1/trackers/{id}", { path: { id }, query: scope.peek() }),
  });
  const made = async (tracker: TrackerWithToken) => {
    // first of all: nobody is shown a token twice
    issued.value = tracker;
    await reload(tracker.id);
    location.hash = href("trackers", tracker.id);
  };
  const gone = (id: string) => {
    remove(id);
    location.hash = href("trackers");
  };
  const tracker = items.value?.find(({ id }) => id === open);
  const list = (
    <Listing
      title={words.title} note={words.count} items={items.value} current={open}
      id={({ id }) => id} text={(one) => `${one.uniqueId} ${one.model ?? ""} ${one.vehicleId ? vehicleName(one.vehicleId) : ""}`} address={(id) => href("trackers", id)}
      empty={[words.empty, may("writeTrackers") ? words.emptyNext : words.emptyNextRead]}
      columns={[
        { title: words.uniqueId, cell: ({ uniqueId }) => uniqueId },
        { title: words.vehicle, cell: ({ vehicleId }) => (vehicleId ? vehicleName(vehicleId) : <span class="quiet">{words.notInstalled}</span>) },
        { title: words.model, cell: ({ model }) => model },
        { title: words.status, cell: ({ status }) => <span class="mark" data-mark={status === "disabled" ? "bad" : "good"}>{words.statuses[status ?? "active"]}</span> },
      ]}
      before={items.value && <PendingTrackers trackers={items.value} onAdded={reload} />}
      actions={may("writeTrackers") && <a class="button primary" href={href("trackers", "new")}>{words.new}</a>}
    />
  );
  return (
    <Desk list={list}>
      {open === "new" && may("writeTrackers") && <Detail key="new" title={words.new} back={href("trackers")}><NewTracker vehicleId={route.peek().query.get("vehicle")} onMade={made} /></Detail>}
      {open && open !== "new" && items.value && (
        <Detail key={open} title={tracker?.uniqueId ?? words.title} back={href("trackers")}>
          {tracker ? <TrackerDetail tracker={tracker} reload={() => reload(tracker.id)} onGone={() => gone(tracker.id)} onToken={(token) => { issued.value = token; }} /> : <p class="quiet">{strings.manage.form.gone}</p>}
        </Detail>
      )}
      {issued.value && <TokenDialog {...issued.value} onClose={() => { issued.value = null; }} />}
    </Desk>
  );
}
