// Importing fences: from a file or pasted, and what became of each feature.

import { useSignal } from "@preact/signals";
import { useId, useMemo } from "preact/hooks";

import { api } from "../../api/client";
import type { FieldError, ImportBody, Imported } from "../../api/schema";
import { Dialog } from "../../parts/Dialog";
import { Form, TextField, useDraft } from "../../parts/form";
import { loadFences, scope } from "../../state/fleet";
import { notice } from "../../state/notices";
import { strings } from "../../strings";

const words = strings.manage.importing;

type Feature = { readonly properties?: { readonly name?: unknown } | null };

export function ImportDialog({ onClose }: { onClose: () => void }) {
  const draft = useDraft(() => ({ text: "" }));
  const id = useId();
  const sent = useSignal<readonly Feature[]>([]);
  const done = useSignal<Imported | null>(null);
  const read = async (file: File | undefined) => {
    if (!file) return;
    draft.put("/text", await file.text());
    draft.put("/name", file.name.replace(/\.\w+$/, ""));
  };
  const text = String(draft.at("/text") ?? "");
  const isNameless = useMemo(() => isBare(text), [text]);
  const send = async () => {
    done.value = null;
    const features = featuresOf(text, draft.at("/name"));
    sent.value = features as readonly Feature[];
    done.value = await api.post("/v1/geofences/import", { query: scope.peek(), body: { type: "FeatureCollection", features } as ImportBody });
    await loadFences().catch(notice);
  };
  return (
    <Dialog title={words.title} onClose={onClose}>
      <Form draft={draft} label={words.title} action={words.action} work={send} onCancel={onClose}>
        <p>{words.text}</p>
        <div class="field">
          <label for={id}>{words.file}</label>
          <input id={id} type="file" accept=".geojson,.json,application/geo+json,application/json" onChange={(event) => void draft.submit(() => read(event.currentTarget.files?.[0]))} />
        </div>
        <TextField of="/text" label={words.paste} rows={6} required />
        {isNameless && <TextField of="/name" label={words.name} hint={words.nameHint} required />}
      </Form>
      <div role="status">{done.value && <Outcome imported={done.value} features={sent.value} />}</div>
    </Dialog>
  );
}

function Outcome({ imported: { created, failed, results }, features }: { imported: Imported; features: readonly Feature[] }) {
  return (
    <>
      <p class="said">{words.done(created, failed)}</p>
      <ul class="lines wrong-list">
        {results.filter(({ problem }) => problem).map(({ index, problem }) => (
          <li key={index}>
            <b>{words.feature(index + 1, String(features[index]?.properties?.name ?? ""))}</b>
            <span class="wrong">{[problem?.errors?.length ? "" : problem?.detail, ...(problem?.errors ?? []).map(said)].filter(Boolean).join("; ")}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

/** What is wrong, and of what: the last step of the pointer is the name that the file has for it. */
function said({ pointer, detail }: FieldError): string {
  const member = pointer.split("/").at(-1) ?? "";
  return member && !/^\d+$/.test(member) ? `${member}: ${detail}` : detail;
}

const isShape = (type: unknown): boolean => type === "Polygon" || type === "MultiPolygon";

/** Whether a text is a shape alone, which has no name of its own. */
function isBare(text: string): boolean {
  try {
    return isShape((JSON.parse(text) as { type?: unknown } | null)?.type);
  } catch {
    return false;
  }
}

/** The features of whatever GeoJSON somebody has: a collection, one feature, or a bare shape. */
function featuresOf(text: string, name: unknown): readonly unknown[] {
  let json: { type?: unknown; features?: unknown } | null;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Error(words.notJson);
  }
  if (json?.type === "FeatureCollection" && Array.isArray(json.features)) return json.features;
  if (json?.type === "Feature") return [json];
  if (isShape(json?.type)) return [{ type: "Feature", properties: { name }, geometry: json }];
  throw new Error(words.notGeoJson);
}
