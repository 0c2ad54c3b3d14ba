// Starts the page.

import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/live.css";
import "./styles/map.css";
import "./styles/vehicle.css";
import "./styles/day.css";
import "./styles/replay.css";
import "./styles/forms.css";
import "./styles/palette.css";

import { render } from "preact";

import { endedBecause, signInByLink } from "./api/session";
import { isSignedOut, sentence } from "./api/problem";
import { followConventions } from "./state/conventions";
import { followSession } from "./state/fleet";
import { loaded } from "./state/loading";
import { notice } from "./state/notices";
import { takeToken } from "./state/route";
import { strings } from "./strings";
import { Page } from "./views/Page";

async function redeem(): Promise<void> {
  const token = takeToken();
  if (!token) return;
  try {
    await signInByLink(token);
  } catch (problem) {
    endedBecause.value = isSignedOut(problem) ? strings.signIn.linkSpent : sentence(problem);
  }
}

// A new link opened in the same tab changes only the hash.
addEventListener("hashchange", () => void redeem());

await redeem();
followConventions();
followSession();
render(<Page />, document.getElementById("page") as HTMLElement);
loaded(() => import("./state/alerts")).then(({ followAlerts }) => followAlerts(), notice);
