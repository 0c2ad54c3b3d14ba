// A track as GPX 1.1, which every map program reads.

import type { Track } from "../../state/track";

const escaped = (text: string): string => text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);

/** The document. Speeds are metres per second, in the extension that Garmin made common. */
export function gpx(name: string, { count, times, longitudes, latitudes, speedsKmh, headingsDegrees }: Track): string {
  const point = (row: number): string => {
    const speed = speedsKmh[row] ?? NaN;
    const heading = headingsDegrees[row] ?? NaN;
    const facts = [
      Number.isNaN(speed) ? "" : `<gpxtpx:speed>${(speed / 3.6).toFixed(2)}</gpxtpx:speed>`,
      Number.isNaN(heading) ? "" : `<gpxtpx:course>${(heading % 360).toFixed(1)}</gpxtpx:course>`,
    ].join("");
    const more = facts && `<extensions><gpxtpx:TrackPointExtension>${facts}</gpxtpx:TrackPointExtension></extensions>`;
    return `<trkpt lat="${latitudes[row]}" lon="${longitudes[row]}"><time>${new Date(times[row] ?? 0).toISOString()}</time>${more}</trkpt>`;
  };
  const points = Array.from({ length: count }, (_, row) => point(row)).join("\n");
  return `<?xml version="1.0" encoding="UTF-8"?>
<gpx version="1.1" creator="Waypost" xmlns="http://www.topografix.com/GPX/1/1" xmlns:gpxtpx="http://www.garmin.com/xmlschemas/TrackPointExtension/v2">
<trk><name>${escaped(name)}</name><trkseg>
${points}
</trkseg></trk>
</gpx>
`;
}
