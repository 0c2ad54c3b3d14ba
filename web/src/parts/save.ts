// What a person takes away from the page.

/** The browser has it by then. */
const TAKEN_MS = 60_000;

/** Hands it to the person as a file. */
export function saveFile(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), TAKEN_MS);
}
