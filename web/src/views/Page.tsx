// Chooses what is shown: sign-in, or the view of the address.

import { me } from "../api/session";
import { Empty } from "../parts/Empty";
import { Notices } from "../parts/Notices";
import { Shell } from "../parts/Shell";
import { isReady, organization } from "../state/fleet";
import { route } from "../state/route";
import { strings } from "../strings";
import { SignIn } from "./SignIn";
import { VIEWS } from "./index";

export function Page() {
  return (
    <Shell>
      <Notices />
      <Shown />
    </Shell>
  );
}

function Shown() {
  if (!me.value) return <SignIn />;
  if (!isReady.value) return null;
  if (!organization.value) return <Empty what={strings.organization.none} next="" />;
  const [path, ...parts] = route.value.parts;
  const view = path === undefined ? VIEWS[0] : VIEWS.find((one) => one.path === path);
  if (!view) return <Empty what={strings.view.unknown} next="" />;
  return view.isOffered() ? <view.component parts={parts} /> : <Empty what={strings.view.notYours(view.title)} next={strings.view.notYoursNext} />;
}
