// Links that show vehicles to whoever has them: which there are, a new one, revoking one.

import { useSignal } from "@preact/signals";

import { all, api } from "../../api/client";
import type { Share, ShareWithToken } from "../../api/schema";
import { dayAndTime } from "../../format";
import { Copy } from "../../parts/Copy";
import { Desk, Detail, Facts } from "../../parts/Desk";
import { Confirm, Told } from "../../parts/Dialog";
import { Listing, useList } from "../../parts/Listing";
import { fenceName, scope, vehicleName } from "../../state/fleet";
import { href } from "../../state/route";
import { strings } from "../../strings";
import { shareWords as words } from "../../strings_shares";
import { NewShare } from "./NewShare";

/** The feed tells nothing of links. */
const LOOK_EVERY_MS = 5000;

const shareName = ({ name, vehicles }: Share) => name ?? vehicles.map(({ vehicleId }) => vehicleName(vehicleId)).join(", ");

export function SharesView({ parts: [open] }: { parts: readonly string[] }) {
  const made = useSignal<ShareWithToken | null>(null);
  const load = () => all((page) => api.get("/v1/shares", { query: { ...page, ...scope.peek(), sort: "-createdAt" } }));
  const { items, reload } = useList<Share>(null, load, LOOK_EVERY_MS);
  const show = async (share: ShareWithToken | null) => {
    // first of all: nobody is shown a link twice
    if (share) made.value = share;
    await reload();
    location.hash = share ? href("shares", share.id) : href("shares");
  };
  const share = items.value?.find(({ id }) => id === open);
  const list = (
    <Listing
      title={words.title} note={words.count} items={items.value} current={open}
      id={({ id }) => id} text={(one) => `${shareName(one)} ${one.vehicles.map(({ vehicleId }) => vehicleName(vehicleId)).join(" ")}`}
      address={(id) => href("shares", id)} empty={[words.empty, words.emptyNext]}
      columns={[
        { title: words.name, cell: shareName },
        { title: words.state, cell: State },
        { title: words.until_, cell: ({ endsAt }) => dayAndTime(endsAt) },
        { title: words.fence, cell: ({ geofenceId }) => geofenceId && fenceName(geofenceId) },
      ]}
      actions={<a class="button primary" href={href("shares", "new")}>{words.new}</a>}
    />
  );
  return (
    <Desk list={list}>
      {open === "new" && <Detail key="new" title={words.new} back={href("shares")}><NewShare onMade={show} /></Detail>}
      {open && open !== "new" && items.value && (
        <Detail key={open} title={share ? shareName(share) : words.title} back={href("shares")}>
          {share ? <ShareDetail share={share} onGone={() => show(null)} /> : <p class="quiet">{strings.manage.form.gone}</p>}
        </Detail>
      )}
      {made.value && <LinkDialog made={made.value} onClose={() => { made.value = null; }} />}
    </Desk>
  );
}

const State = ({ open }: Share) => <span class="mark" data-mark={open ? "good" : "warn"}>{open ? words.open : words.over}</span>;

function ShareDetail({ share, onGone }: { share: Share; onGone: () => Promise<void> }) {
  const isAsking = useSignal(false);
  const revoke = async () => {
    await api.delete("/v1/shares/{id}", { path: { id: share.id }, query: scope.peek() });
    await onGone();
  };
  return (
    <>
      <div class="tools">
        <span class="grow" />
        <button type="button" class="danger" onClick={() => { isAsking.value = true; }}>{words.revoke}</button>
      </div>
      <Facts facts={[
        [words.state, State(share)],
        [words.until_, dayAndTime(share.endsAt)],
        [words.fence, share.geofenceId && <a href={href("fences", share.geofenceId)}>{fenceName(share.geofenceId)}</a>],
        [words.made, dayAndTime(share.createdAt)],
      ]} />
      <section class="part" aria-label={words.vehicles}>
        <header><h3>{words.vehicles}</h3></header>
        <ul class="lines">
          {share.vehicles.map(({ vehicleId, arrivedAt }) => (
            <li key={vehicleId}>
              <a href={href("live", vehicleId)}>{vehicleName(vehicleId)}</a>
              {arrivedAt && <span class="quiet">{words.arrived(dayAndTime(arrivedAt))}</span>}
            </li>
          ))}
        </ul>
      </section>
      {isAsking.value && <Confirm title={words.revokeTitle} text={words.revokeText} action={words.revoke} work={revoke} onClose={() => { isAsking.value = false; }} />}
    </>
  );
}

/** The address that was just made: the server's own, or else that under which this page was opened. */
function LinkDialog({ made: { token, url }, onClose }: { made: ShareWithToken; onClose: () => void }) {
  return (
    <Told title={words.linkTitle} onClose={onClose}>
      <p>{words.linkText}</p>
      <Copy label={words.link} text={url ?? `${location.origin}/s/${token}`} />
    </Told>
  );
}
