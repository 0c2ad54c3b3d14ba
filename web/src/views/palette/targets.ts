// Where one can go from anywhere: what the page holds is searched here, drivers at the server.

import { api } from "../../api/client";
import { may } from "../../api/permissions";
import { conventions } from "../../conventions";
import { byName, fullName } from "../../format";
import { lookText } from "../../map/look";
import { placeOf, placeText } from "../../map/place_text";
import { fences, scope, vehicles } from "../../state/fleet";
import { href, orAsk } from "../../state/route";
import { loadTowns } from "../../state/towns";
import { choice } from "../../state/theme";
import { leave } from "../../state/whose";
import { strings } from "../../strings";
import { VIEWS } from "../index";

const words = strings.palette;
/** Of each kind. */
const MOST = 6;

export interface Target {
  readonly key: string;
  readonly name: string;
  /** What it is, beside its name. */
  readonly kind: string;
  readonly go: () => void;
}

const to = (address: string) => () => { location.hash = address; };

/** Those whose text has every word that is looked for; of names that begin with it first. */
function matching<T>(items: readonly T[], text: (item: T) => string, wanted: string): T[] {
  const parts = wanted.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  const fits = (item: T) => parts.every((part) => text(item).toLocaleLowerCase().includes(part));
  const starts = (item: T) => text(item).toLocaleLowerCase().startsWith(parts[0] ?? "");
  return items.filter(fits).sort((a, b) => Number(starts(b)) - Number(starts(a)) || byName(text(a), text(b))).slice(0, MOST);
}

function commands(): Target[] {
  const views = VIEWS.filter(({ isOffered }) => isOffered()).map(({ path, title }) => ({ key: path, name: title, kind: words.view, go: to(href(path)) }));
  const act = (key: string, isOffered: boolean, go: () => void, name: string) => (isOffered ? [{ key, name, kind: words.command, go }] : []);
  return [
    ...views,
    ...act("new-fence", may("writeGeofences"), to(href("fences", "new")), strings.manage.fences.new),
    ...act("new-vehicle", may("writeVehicles"), to(href("fleet", "new")), strings.manage.vehicles.new),
    ...act("new-driver", may("writeDrivers"), to(href("drivers", "new")), strings.manage.drivers.new),
    ...act("new-tracker", may("writeTrackers"), to(href("trackers", "new")), strings.manage.trackers.new),
    ...act("new-share", may("share"), to(href("shares", "new")), strings.manage.shares.new),
    ...act("new-webhook", may("manageWebhooks"), to(href("webhooks", "new")), strings.manage.webhooks.new),
    ...act("invite", may("writeUsers"), to(href("users", "new")), strings.manage.users.invite),
    ...(["light", "dark", "auto"] as const).flatMap((one) => act(one, true, () => { choice.value = one; }, `${strings.theme.label}: ${strings.theme[one]}`)),
    ...act("sign-out", true, () => orAsk(leave), strings.signIn.signOut),
  ];
}

/** How close the map comes to a town. */
const TOWN_ZOOM = 12;

/** Towns of the world, where Live's map goes. */
async function townsLike(wanted: string): Promise<Target[]> {
  const towns = await loadTowns();
  const countries = new Intl.DisplayNames(conventions.value.locale, { type: "region" });
  return (towns?.townsNamed(wanted, MOST) ?? []).map(({ name, country, latitude, longitude }) => ({
    key: `town ${latitude} ${longitude}`, name, kind: words.town(countries.of(country) ?? country),
    go: to(`${href("live")}?map=${lookText({ latitude, longitude, zoom: TOWN_ZOOM })}`),
  }));
}

/** What is found on this page; without a word the views. */
export function found(wanted: string): Target[] {
  if (wanted.trim() === "") return commands().slice(0, 2 * MOST);
  const place = may("writeGeofences") ? placeOf(wanted) : null;
  const here = place && { key: "place", name: strings.manage.fences.here, kind: placeText(place), go: to(`${href("fences", "new")}?at=${placeText(place).replace(" ", "")}`) };
  const cars = matching([...vehicles.value.values()], ({ name, plate, driver }) => `${name} ${plate?.number ?? ""} ${driver ? fullName(driver) : ""}`, wanted);
  return [
    ...(here ? [here] : []),
    ...cars.map(({ id, name, plate }) => ({ key: id, name, kind: plate?.number ?? words.vehicle, go: to(href("live", id)) })),
    ...matching([...fences.value.values()], ({ name, category }) => `${name} ${category ?? ""}`, wanted).map(({ id, name }) => ({ key: id, name, kind: words.fence, go: to(href("fences", id)) })),
    ...matching(commands(), ({ name }) => name, wanted),
  ];
}

/** What the server finds, and behind it towns of the world, also without the server. */
export async function foundThere(wanted: string, signal: AbortSignal): Promise<Target[]> {
  const asked = api.get("/v1/drivers", { query: { ...scope.peek(), q: wanted, limit: MOST }, signal }).catch(() => null);
  const [answer, towns] = await Promise.all([asked, townsLike(wanted)]);
  const drivers = answer?.data.map((driver) => ({ key: driver.id, name: fullName(driver), kind: words.driver, go: to(href("drivers", driver.id)) })) ?? [];
  return [...drivers, ...towns];
}
