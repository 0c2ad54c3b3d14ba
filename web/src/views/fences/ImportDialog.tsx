// Importing fences: from a file or pasted, and what became of each feature.

import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";

import { api } from "../../api/client";
import type { ImportBody, Imported } from "../../api/schema";
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
    if (file) draft.put("/text", await file.text());
  };
  const send = async () => {
    done.value = null;
    const features = featuresOf(String(draft.at("/text") ?? ""));
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
            <span class="wrong">{[problem?.errors?.length ? "" : problem?.detail, ...(problem?.errors ?? []).map(({ detail }) => detail)].filter(Boolean).join(" ")}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

/** The features of whatever GeoJSON somebody has: a collection, one feature, or a bare shape. */
function featuresOf(text: string): readonly unknown[] {
  let json: { type?: unknown; features?: unknown } | null;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Error(words.notJson);
  }
  if (json?.type === "FeatureCollection" && Array.isArray(json.features)) return json.features;
  if (json?.type === "Feature") return [json];
  if (json?.type === "Polygon" || json?.type === "MultiPolygon") return [{ type: "Feature", properties: {}, geometry: json }];
  throw new Error(words.notGeoJson);
}
