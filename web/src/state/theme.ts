// Light or dark: as the system has it, unless somebody chose.

import { computed, effect, signal, untracked } from "@preact/signals";

export type Choice = "auto" | "light" | "dark";

const KEY = "waypost.theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const systemIsDark = signal(system.matches);
system.addEventListener("change", () => { systemIsDark.value = system.matches; });

const kept = localStorage.getItem(KEY);

export const choice = signal<Choice>(kept === "light" || kept === "dark" ? kept : "auto");

/** What is shown. */
export const theme = computed<"light" | "dark">(() => {
  if (choice.value !== "auto") return choice.value;
  return systemIsDark.value ? "dark" : "light";
});

effect(() => {
  localStorage.setItem(KEY, choice.value);
  document.documentElement.dataset.theme = theme.value;
});

/** Calls whenever another theme is in force, until the returned function is called. */
export function onTheme(act: () => void): () => void {
  let known = theme.peek();
  return effect(() => {
    if (theme.value === known) return;
    known = theme.value;
    untracked(act);
  });
}
