// Text to be taken elsewhere, with a button that copies it.

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

import { strings } from "../strings";

export function Copy({ label, text }: { label: string; text: string }) {
  const words = strings.manage.form;
  const isCopied = useSignal(false);
  const code = useRef<HTMLElement>(null);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      isCopied.value = true;
    } catch {
      // without TLS the browser has no clipboard for us: mark it, for the keyboard to copy
      if (code.current) getSelection()?.selectAllChildren(code.current);
    }
  };
  return (
    <div class="copy">
      <div class="copy-head">
        <span>{label}</span>
        <span class="quiet" role="status">{isCopied.value ? words.copied : ""}</span>
        <button type="button" aria-label={`${words.copy}: ${label}`} onClick={() => void copy()}>{words.copy}</button>
      </div>
      <pre tabIndex={0} role="group" aria-label={label}><code ref={code}>{text}</code></pre>
    </div>
  );
}
