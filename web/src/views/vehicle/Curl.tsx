// How a program asks for the same.

import { useSignal } from "@preact/signals";

import { organization, scope } from "../../state/fleet";
import { isOperator } from "../../api/session";
import { strings } from "../../strings";

export function Curl({ id }: { id: string }) {
  const isCopied = useSignal(false);
  const words = strings.detail;
  const query = isOperator.value && organization.value ? `?organizationId=${scope.value.organizationId ?? ""}` : "";
  const command = `curl -H "Authorization: Bearer $TOKEN" "${location.origin}/v1/vehicles/${id}${query}"`;
  const copy = () => {
    navigator.clipboard.writeText(command).then(() => { isCopied.value = true; }, () => { isCopied.value = false; });
  };
  return (
    <details class="vehicle-part">
      <summary>{words.curl}</summary>
      <pre tabIndex={0}>{command}</pre>
      {/* browsers have a clipboard under TLS and on localhost only */}
      {navigator.clipboard && <button type="button" onClick={copy}>{isCopied.value ? words.copied : words.copy}</button>}
      <p class="quiet">{words.curlNote}</p>
    </details>
  );
}
