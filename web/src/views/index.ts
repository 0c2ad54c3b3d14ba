// Which views there are, in the order of the navigation; the first is shown at `/`.

import type { FunctionComponent } from "preact";

import { strings } from "../strings";
import { LiveView } from "./LiveView";

export interface View {
  /** The first part of its address: `#/live`. */
  readonly path: string;
  readonly title: string;
  /** Whether the one signed in gets to see it. */
  readonly isOffered: () => boolean;
  /** Takes the parts of the address after `path`. */
  readonly component: FunctionComponent<{ parts: readonly string[] }>;
}

export const VIEWS: readonly View[] = [
  { path: "live", title: strings.live.title, isOffered: () => true, component: LiveView },
];
