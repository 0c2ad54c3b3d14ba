// Ctrl-K or /: one field from which everything is a few letters away.

import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useId } from "preact/hooks";

import { me } from "../../api/session";
import { Dialog } from "../../parts/Dialog";
import { strings } from "../../strings";
import { type Target, found, foundThere } from "./targets";

const words = strings.palette;
/** Who writes is left alone for so long before the server is asked. */
const PAUSE_MS = 200;

/** Opens by key, from anywhere but where one writes. */
export function Palette() {
  const isOpen = useSignal(false);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const isWriting = (event.target as HTMLElement).matches?.("input, textarea, select, [contenteditable]");
      const isWanted = ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") || (event.key === "/" && !isWriting);
      if (!isWanted || !me.peek() || document.querySelector("dialog[open]")) return;
      event.preventDefault();
      isOpen.value = true;
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  if (!me.value) return null;
  return (
    <>
      <button type="button" class="palette-button" aria-keyshortcuts="Control+K /" onClick={() => { isOpen.value = true; }}>{words.open} <kbd>{words.key}</kbd></button>
      {isOpen.value && <Open onClose={() => { isOpen.value = false; }} />}
    </>
  );
}

function Open({ onClose }: { onClose: () => void }) {
  const id = useId();
  const text = useSignal("");
  const there = useSignal<readonly Target[]>([]);
  const at = useSignal(0);
  useSignalEffect(() => {
    const wanted = text.value.trim();
    at.value = 0;
    there.value = [];
    if (wanted.length < 2) return undefined;
    const ended = new AbortController();
    // what the page itself finds stands there, whatever the server says
    const pause = setTimeout(() => foundThere(wanted, ended.signal).then((list) => { if (!ended.signal.aborted) there.value = list; }), PAUSE_MS);
    return () => {
      clearTimeout(pause);
      ended.abort();
    };
  });
  const shown = [...found(text.value), ...there.value];
  const chosen = shown[Math.min(at.value, shown.length - 1)];
  const go = (target: Target | undefined) => {
    if (!target) return;
    onClose();
    // the dialog gives the focus back first
    queueMicrotask(target.go);
  };
  const step = (event: KeyboardEvent) => {
    // these keys are the input method's
    if (event.isComposing) return;
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (by !== 0) at.value = (Math.min(at.value, shown.length - 1) + by + shown.length) % Math.max(1, shown.length);
    else if (event.key === "Enter") go(chosen);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title={words.title} onClose={onClose}>
      <div class="palette" onKeyDown={step}>
        <input
          type="text" role="combobox" aria-label={words.title} aria-expanded="true" aria-controls={id} aria-autocomplete="list" autocomplete="off"
          aria-activedescendant={chosen ? `${id}-${chosen.key}` : undefined} placeholder={words.hint} value={text} autofocus
          onInput={(event) => { text.value = event.currentTarget.value; }}
        />
        <ul id={id} role="listbox" aria-label={words.found}>
          {shown.map((target) => (
            <li key={target.key} id={`${id}-${target.key}`} role="option" aria-selected={target === chosen} onClick={() => go(target)}>
              <span>{target.name}</span><span class="quiet">{target.kind}</span>
            </li>
          ))}
        </ul>
        {shown.length === 0 && <p class="quiet" role="status">{words.nothing}</p>}
      </div>
    </Dialog>
  );
}
