// The documents of a driver as the organization has them on record, and their files.

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

import { api } from "../../api/client";
import { may } from "../../api/permissions";
import { Problem } from "../../api/problem";
import type { Document, DocumentType, FileType, UpdateDriverBody } from "../../api/schema";
import type { Driver } from "../../api/types";
import { day, fullName } from "../../format";
import { decimal } from "../../numbers";
import { Confirm, Dialog } from "../../parts/Dialog";
import { Form, Row, SelectField, TextField, useDraft } from "../../parts/form";
import { saveFile } from "../../parts/save";
import { scope } from "../../state/fleet";
import { notice } from "../../state/notices";
import { strings } from "../../strings";
import { documentWords as words } from "../../strings_documents";

const FILE = "/v1/drivers/{id}/documents/{documentId}/file";
const ENDINGS = { "application/pdf": ".pdf", "image/jpeg": ".jpg", "image/png": ".png" };

interface Props {
  readonly driver: Driver;
  readonly reload: () => Promise<void>;
}

type Asking = "new" | { readonly what: "file" | "document"; readonly document: Document } | null;

/** What becomes of the documents there are. */
type Changed = (documents: readonly Document[]) => readonly unknown[];

/** The server takes the whole list, and deletes what is missing in it, with its file: so it follows from the list as it is now, not as it was shown. */
async function put(id: string, changed: Changed): Promise<void> {
  const asked = { path: { id }, query: scope.peek() };
  const { found, tag } = await api.tagged("/v1/drivers/{id}", asked);
  const documents = changed((found as Driver).documents ?? []);
  await api.put("/v1/drivers/{id}", { ...asked, headers: { "If-Match": tag }, body: { documents } as unknown as UpdateDriverBody });
}

const nameOf = ({ type, number }: Document) => (number ? `${words.types[type]} ${number}` : words.types[type]);

export function Documents({ driver, reload }: Props) {
  const asking = useSignal<Asking>(null);
  const close = () => { asking.value = null; };
  const change = async (changed: Changed) => {
    await put(driver.id, changed).catch((problem: unknown) => {
      // somebody was faster: it has changed (412), or a document or file that is named is gone (422)
      if (problem instanceof Problem && [412, 422].includes(problem.status)) return put(driver.id, changed);
      throw problem;
    });
    await reload();
  };
  const removeFile = async (document: Document) => {
    await api.delete(FILE, { path: { id: driver.id, documentId: document.id ?? "" }, query: scope.peek() });
    await reload();
  };
  const documents = driver.documents ?? [];
  const one = asking.value;
  return (
    <section class="part" aria-label={words.title}>
      <header>
        <h3>{words.title}</h3><span class="grow" />
        {may("writeDrivers") && <button type="button" onClick={() => { asking.value = "new"; }}>{words.add}</button>}
      </header>
      {documents.length === 0 && <p class="quiet">{words.none}</p>}
      <ul class="lines">
        {documents.map((document) => <Line key={document.id} driver={driver} document={document} reload={reload} onAsk={(what) => { asking.value = { what, document }; }} />)}
      </ul>
      {one === "new" && <NewDocument driver={driver} add={(document) => change((documents) => [...documents, document])} onClose={close} />}
      {one !== null && one !== "new" && (one.what === "file"
        ? <Confirm title={words.removeFileTitle(nameOf(one.document))} text={words.removeFileText} action={words.removeFile} work={() => removeFile(one.document)} onClose={close} />
        : <Confirm title={words.removeTitle(nameOf(one.document))} text={words.removeText} action={strings.manage.form.delete} work={() => change((documents) => documents.filter(({ id }) => id !== one.document.id))} onClose={close} />)}
    </section>
  );
}

function Line({ driver, document, reload, onAsk }: Props & { document: Document; onAsk: (what: "file" | "document") => void }) {
  const { issuedAt, expiresAt, note, file } = document;
  const name = nameOf(document);
  const path = { id: driver.id, documentId: document.id ?? "" };
  const download = async (kind: FileType) => saveFile(`${fullName(driver)}, ${name}${ENDINGS[kind]}`, await api.download(FILE, { path, query: scope.peek() }));
  return (
    <li>
      <b>{name}</b>
      <span class="quiet">{[issuedAt && day(issuedAt), expiresAt && words.until(day(expiresAt)), note].filter(Boolean).join(" · ")}</span>
      <span class="grow" />
      {file && <button type="button" aria-label={words.downloadFor(name)} onClick={() => download(file.mediaType).catch(notice)}>{words.download(words.kinds[file.mediaType], sizeOf(file.bytes))}</button>}
      {may("writeDrivers") && (
        <>
          <Upload name={name} isAgain={Boolean(file)} send={async (chosen) => {
            await api.upload(FILE, { path, query: scope.peek() }, chosen);
            await reload();
          }} />
          {file && <button type="button" aria-label={words.removeFileFor(name)} onClick={() => onAsk("file")}>{words.removeFile}</button>}
          <button type="button" class="danger" aria-label={words.removeFor(name)} onClick={() => onAsk("document")}>{words.remove}</button>
        </>
      )}
    </li>
  );
}

function sizeOf(bytes: number): string {
  return bytes < 1e6 ? words.kilobytes(decimal(Math.max(1, bytes / 1e3), 0)) : words.megabytes(decimal(bytes / 1e6, 1));
}

/** A button that asks for a file and sends it. */
function Upload({ name, isAgain, send }: { name: string; isAgain: boolean; send: (file: File) => Promise<void> }) {
  const field = useRef<HTMLInputElement>(null);
  const isBusy = useSignal(false);
  const take = async (input: HTMLInputElement) => {
    const [file] = input.files ?? [];
    if (!file) return;
    isBusy.value = true;
    try {
      await send(file);
    } catch (problem) {
      notice(problem);
    } finally {
      isBusy.value = false;
      input.value = "";
    }
  };
  return (
    <>
      <input ref={field} type="file" accept={Object.keys(words.kinds).join(",")} aria-label={words.file} hidden onChange={(event) => void take(event.currentTarget)} />
      <button type="button" disabled={isBusy.value} title={words.fileHint} aria-label={isAgain ? words.replaceFor(name) : words.uploadFor(name)} onClick={() => field.current?.click()}>
        {isAgain ? words.replace : words.upload}
      </button>
    </>
  );
}

function NewDocument({ driver, add, onClose }: { driver: Driver; add: (document: unknown) => Promise<void>; onClose: () => void }) {
  const draft = useDraft(() => ({ document: { type: "license" satisfies DocumentType } }));
  const make = async () => {
    await add(draft.value.peek()["document"]);
    onClose();
  };
  const title = words.addTitle(fullName(driver));
  return (
    <Dialog title={title} onClose={onClose}>
      <Form draft={draft} label={title} action={strings.manage.form.save} work={make} onCancel={onClose}>
        <Row>
          <SelectField of="/document/type" label={words.type} options={words.types} />
          <TextField of="/document/number" label={words.number} />
        </Row>
        <Row>
          <TextField of="/document/issuedAt" label={words.issued} type="date" />
          <TextField of="/document/expiresAt" label={words.expires} type="date" />
        </Row>
        <TextField of="/document/note" label={words.note} rows={2} />
      </Form>
    </Dialog>
  );
}
