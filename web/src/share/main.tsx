// Starts the page behind a link to vehicles. Nobody is signed in here.

import "../styles/tokens.css";
import "../styles/base.css";
import "../styles/map.css";
import "../styles/share.css";

import { render } from "preact";

import { SharePage } from "./SharePage";
import { followShown } from "./shown";

followShown();
render(<SharePage />, document.getElementById("page") as HTMLElement);
