// The words of devices that report and are no trackers yet: `strings.manage.pending`.

import { count, whole } from "./numbers";

export const pending = {
  title: "New devices",
  text: "They report to your organization and are no trackers of it yet.",
  by: (input: string) => `by ${input}`,
  heard: "heard",
  ago: "ago",
  fixes: (number: number, since: string) => `${count(number, "position")} kept, from ${since} on`,
  noFixes: "no position yet",
  add: "Add",
  addWhich: (name: string) => `Add ${name}`,
  dismiss: "Dismiss",
  dismissWhich: (name: string) => `Dismiss ${name}`,
  dismissTitle: (name: string) => `Dismiss ${name}?`,
  dismissText: "It stands here no more, however often it reports, and nothing that it sends is kept. It can still be made a tracker by its name.",
  dismissed: (name: string) => `${name} is dismissed.`,
  more: (number: number) => `Show ${whole(number)} more`,
  addTitle: (name: string) => `Make ${name} a tracker`,
  addText: "Anybody can claim a name: add what you know. The vehicle gets the positions that are kept, within seconds.",
  vehicle: "In vehicle",
  newVehicle: "A new vehicle",
  vehicleName: "The new vehicle's name",
  addAction: "Make it a tracker",
  added: (name: string, vehicle: string) => `${name} is a tracker of ${vehicle} now.`,
  none: "No new device reports",
  how: "How does one?",
  howText: "What reports here and is no tracker of your organization yet stands here, and is added by a click. There are three ways:",
  ways: (server: string) => [
    ["An app, a gateway, a Traccar server", `sends to ${server}/in with the key of a program whose only scope is positions:ingest.`],
    ["A box: Teltonika, GT06, H02, Queclink", "is told this server's address and a port that the server's setting deviceListeners names."],
    ["An MQTT broker of yours", "is named by the server's setting mqttBrokers."],
  ] as const,
  toPrograms: "Make a program and its key",
  toDocs: "How the interface is used",
  docs: "Each client's words are in docs/devices.md, docs/devices-hardware.md and docs/devices-mqtt.md.",
};
