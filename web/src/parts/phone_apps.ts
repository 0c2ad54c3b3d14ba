// How apps on phones are told where to report: the texts of their QR codes and links (docs/devices.md, "App by app").

/** A tracker as an app is told of it. */
export interface Told {
  /** The address under which a phone reaches the server. */
  readonly server: string;
  readonly uniqueId: string;
  readonly token: string;
}

export type PhoneApp = "traccar" | "owntracks" | "overland" | "gpslogger";

interface Setup {
  /** What the QR code says; GPSLogger has none. */
  readonly code?: string;
  /** What opens the app on the phone itself. */
  readonly link?: string;
  /** What is written by hand: labels by the words of the page. */
  readonly fields: readonly (readonly [label: "url" | "deviceId" | "token" | "method" | "body", text: string])[];
}

/** Base64 of UTF-8. */
const base64 = (text: string) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

export const SETUPS: Record<PhoneApp, (told: Told) => Setup> = {
  traccar: ({ server, uniqueId, token }) => {
    const url = `${server}/in/${token}`;
    const query = new URLSearchParams({ id: uniqueId, interval: "30", distance: "50", accuracy: "high", buffer: "true", stop_detection: "true" });
    return { code: `${url}?${query}`, link: `org.traccar.client://config?url=${encodeURIComponent(url)}&${query}`, fields: [["url", url], ["deviceId", uniqueId]] };
  },
  owntracks: ({ server, uniqueId, token }) => {
    const url = `${server}/in/${token}`;
    const configuration = { _type: "configuration", mode: 3, url, auth: false, deviceId: uniqueId, tid: uniqueId.slice(-2), extendedData: true };
    const link = `owntracks:///config?inline=${base64(JSON.stringify(configuration))}`;
    return { code: link, link, fields: [["url", url], ["deviceId", uniqueId]] };
  },
  overland: ({ server, uniqueId, token }) => {
    const query = new URLSearchParams({ url: `${server}/in`, token, device_id: uniqueId, unique_id: "yes" });
    const link = `overland://setup?${query}`;
    return { code: link, link, fields: [["url", `${server}/in`], ["token", token], ["deviceId", uniqueId]] };
  },
  gpslogger: ({ server, token }) => ({
    fields: [
      ["url", `${server}/in/${token}`],
      ["method", "POST"],
      ["body", "lat=%LAT&lon=%LON&timestamp=%TIMESTAMP&accuracy=%ACC&altitude=%ALT&bearing=%DIR&speed_kmh=%SPD_KPH"],
    ],
  }),
};

/** Whether an address is one that only this computer reaches. */
export const isOwnComputer = (server: string): boolean => ["localhost", "127.0.0.1", "[::1]", "0.0.0.0"].includes(new URL(server).hostname);
