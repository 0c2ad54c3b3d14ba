// The words of what a tracker reported, and of setting up what reports for it: `strings.manage.reports`.

import { whole } from "./numbers";

export const reports = {
  title: "Reports",
  heard: "Last heard",
  position: "Last position",
  never: "never",
  ago: "ago",
  refused: "Refused for good",
  refusedText: "Its sender was told that these are stored, so that it goes on with the next ones.",
  by: (input: string) => `by ${input}`,
  sent: "What was sent",
  noWords: "Nothing but its way here.",
  more: (number: number) => `Show ${whole(number)} more`,
  setUp: "Set up its app",
  setUpText: "The server keeps a tracker's token only as a hash, so nobody can be shown it again. Make a new one, and the codes and links that set up an app are shown with it. Whatever reports with the present token is refused from then on, until it has the new one.",
  setUpElse: "Boxes, a Traccar server and gateways need no token of the tracker: they say its own id.",
  setUpAction: "New token with codes",
};
