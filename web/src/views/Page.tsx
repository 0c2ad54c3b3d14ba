// Chooses what is shown: sign-in, or the view of the address.

import { me } from "../api/session";
import { Empty } from "../parts/Empty";
import { Confirm } from "../parts/Dialog";
import { Notices } from "../parts/Notices";
import { Shell } from "../parts/Shell";
import { isReady, organization } from "../state/fleet";
import { lazy } from "../parts/lazy";
import { leave, route, wanted } from "../state/route";
import { strings } from "../strings";
import { Palette } from "./palette/Palette";
import { FirstOrganization } from "./FirstOrganization";
import { SignIn } from "./SignIn";
import { VIEWS } from "./index";

const SignUp = lazy(async () => (await import("./SignUp")).SignUp);

export function Page() {
  return (
    <Shell search={<Palette />}>
      <Notices />
      <Shown />
      {wanted.value !== null && <Leaving />}
    </Shell>
  );
}

function Leaving() {
  const words = strings.manage.form;
  const work = async () => leave(true);
  return <Confirm title={words.leave} text={words.leaveText} action={words.leaveAction} work={work} onClose={() => leave(false)} />;
}

function Shown() {
  if (!me.value) return route.value.parts[0] === "sign-up" ? <SignUp /> : <SignIn />;
  if (!isReady.value) return null;
  if (!organization.value) return <FirstOrganization />;
  const [path, ...parts] = route.value.parts;
  const view = path === undefined ? VIEWS[0] : VIEWS.find((one) => one.path === path);
  if (!view) return <Empty what={strings.view.unknown} next="" />;
  // what is written in a form is of the organization in which it was begun; Live has none open but of a vehicle
  const whose = view === VIEWS[0] ? "" : organization.value.id;
  return view.isOffered() ? <view.component key={`${view.path} ${whose}`} parts={parts} /> : <Empty what={strings.view.notYours(view.title)} next={strings.view.notYoursNext} />;
}
