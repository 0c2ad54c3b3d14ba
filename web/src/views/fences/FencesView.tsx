// Fences: the list, the map on which they are drawn, and what is said of the one that is open.

import { batch, computed, useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";

import { may } from "../../api/permissions";
import type { ShapeSpec } from "../../api/schema";
import type { Fence } from "../../api/types";
import { DrawMap } from "../../map/draw/DrawMap";
import { ShapeHistory } from "../../map/draw/history";
import type { Tool } from "../../map/draw/shape_drawing";
import type { Desk } from "../../map/draw/session";
import { byName } from "../../format";
import { Detail } from "../../parts/Desk";
import { Draft } from "../../parts/form";
import { Listing } from "../../parts/Listing";
import { fences, inside, isListed, loadFences } from "../../state/fleet";
import { notice } from "../../state/notices";
import { hold, href, route } from "../../state/route";
import { strings } from "../../strings";
import { FenceFacts } from "./FenceFacts";
import { FenceForm, fenceMembers } from "./FenceForm";
import { PastCorrection } from "./PastCorrection";
import { stepShape } from "./ShapeFields";
import { ImportDialog } from "./ImportDialog";

const words = strings.manage.fences;

/** A shape is replaced as one. */
const WHOLE = ["shape"];

/** The fence of the address; a new one only for who may make it. */
const openId = computed(() => {
  const [view, id = null] = route.value.parts;
  return view !== "fences" || (id === "new" && !may("writeGeofences")) ? null : id;
});

export function FencesView() {
  const isImporting = useSignal(false);
  const draft = useSignal<Draft | null>(null);
  const shape = useComputed(() => (draft.value?.value.value["shape"] as ShapeSpec | undefined) ?? null);
  const tool = useSignal<Tool>("select");
  const limit = useSignal("");
  /** The fence that was saved last, as long as it is open. */
  const saved = useSignal<string | null>(null);
  const desk = useMemo((): Desk => ({
    openId, shape, tool, limit, history: new ShapeHistory(),
    take: (drawn) => draft.peek()?.put("/shape", drawn),
    pick: (id) => { location.hash = href("fences", id); },
    step: () => false,
  }), []);
  useSignalEffect(() => { if (shape.value) desk.history.take(shape.value); });
  // a fence that was deleted has nothing to lose
  const isGone = useRef(false);
  useEffect(() => hold(() => !isGone.current && Object.keys(draft.peek()?.changes() ?? {}).length > 0), []);

  const open = openId.value;
  const fence = open ? fences.value.get(open) : undefined;
  const version = fence?.updatedAt;
  const isNew = open === "new";
  // a new one around another place is another new one
  const begun = isNew ? `new ${route.value.query.get("at") ?? ""}` : open;
  const drafted = useRef<string | null>(null);
  // what is open may be drawn from then on; what was open before may not, nor be typed in for a moment more
  useLayoutEffect(() => batch(() => {
    const isOpen = (fence !== undefined || isNew) && may("writeGeofences");
    if (isOpen && draft.peek() && drafted.current === begun) {
      draft.peek()?.rebase(fenceMembers(fence ?? null));
      return;
    }
    drafted.current = begun;
    if (saved.peek() !== open) saved.value = null;
    isGone.current = false;
    draft.value = isOpen ? new Draft(fenceMembers(fence ?? null), WHOLE) : null;
    desk.history.begin((draft.value?.at("/shape") as ShapeSpec | undefined) ?? null);
    tool.value = isNew ? "circle" : "select";
    limit.value = "";
  }), [begun, version]);

  const show = async (id: string | null) => {
    isGone.current = id === null;
    await loadFences().catch(notice);
    saved.value = id;
    location.hash = id ? href("fences", id) : href("fences");
  };
  return (
    <div class="fences" data-open={open !== null} onKeyDown={(event) => stepByKey(event, desk)}>
      <FenceList open={open} onImport={() => { isImporting.value = true; }} />
      <DrawMap desk={desk} />
      {open && (fence || isNew) && (
        <Detail key={open} title={fence?.name ?? words.new} back={href("fences")}>
          <p role="status" class="said">{saved.value === open && strings.manage.form.saved}</p>
          {fence && <PastCorrection id={fence.id} version={version} />}
          {draft.value && <FenceForm key={begun} fence={fence ?? null} draft={draft.value} desk={desk} onSaved={(id) => void show(id)} onGone={() => show(null)} />}
          {fence && !may("writeGeofences") && <FenceFacts fence={fence} />}
        </Detail>
      )}
      {open && !fence && !isNew && isListed.value && <Detail key={open} title={words.title} back={href("fences")}><p class="quiet">{strings.manage.form.gone}</p></Detail>}
      {isImporting.value && <ImportDialog onClose={() => { isImporting.value = false; }} />}
    </div>
  );
}

/** Ctrl+Z and its opposites, but where text is written that the browser takes back itself. */
function stepByKey(event: KeyboardEvent, desk: Desk): void {
  const key = event.key.toLowerCase();
  if (!(event.ctrlKey || event.metaKey) || (key !== "z" && key !== "y") || !desk.shape.peek()) return;
  const element = event.target as HTMLElement;
  if (element.matches("input, textarea") && !element.closest(".shape")) return;
  event.preventDefault();
  stepShape(desk, key === "z" && !event.shiftKey);
}

function FenceList({ open, onImport }: { open: string | null; onImport: () => void }) {
  inside.revision.value;
  const items = fences.value.size > 0 || isListed.value ? [...fences.value.values()].sort((a, b) => byName(a.name, b.name)) : null;
  return (
    <Listing
      title={words.title} note={words.count} items={items} current={open ?? undefined}
      id={({ id }) => id} text={({ name, category }) => `${name} ${category ?? ""}`} address={(id) => href("fences", id)}
      empty={[words.empty, may("writeGeofences") ? words.emptyNext : words.emptyNextRead]}
      columns={[
        { title: words.name, cell: (fence) => <Name fence={fence} /> },
        { title: words.shape, cell: ({ shape }) => shape && words[shape.type] },
        { title: words.inside, cell: ({ id, enabled }) => (enabled === false ? <span class="quiet">{words.off}</span> : inside.stays(id).length || "") },
      ]}
      actions={may("writeGeofences") && (
        <>
          <button type="button" onClick={onImport}>{words.import}</button>
          <a class="button primary" href={href("fences", "new")}>{words.new}</a>
        </>
      )}
    />
  );
}

function Name({ fence: { name, color } }: { fence: Fence }) {
  return <><span class="swatch" style={color ? { background: color } : {}} aria-hidden="true" />{name}</>;
}
