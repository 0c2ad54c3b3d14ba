// A text as a QR code. What draws it is loaded when one is shown.

import { useSignal, useSignalEffect } from "@preact/signals";

import { loaded } from "../state/loading";
import { notice } from "../state/notices";

/** Modules of quiet around the code, which readers need. */
const QUIET = 4;

export function QrCode({ text, label }: { text: string; label: string }) {
  const path = useSignal("");
  const size = useSignal(0);
  useSignalEffect(() => {
    loaded(() => import("uqr")).then(({ encode }) => {
      const { data, size: modules } = encode(text, { border: QUIET });
      size.value = modules;
      path.value = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ""))).join("");
    }, notice);
  });
  if (size.value === 0) return null;
  return <svg class="qr" role="img" aria-label={label} viewBox={`0 0 ${size.value} ${size.value}`}><path d={path.value} /></svg>;
}
