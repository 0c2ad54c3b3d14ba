// Play, pause, how fast, what time it is; the file for other programs.

import { measure, timeOfDay } from "../../format";
import { saveFile } from "../../parts/save";
import { strings } from "../../strings";
import type { Day } from "./ReplayView";
import { gpx } from "./gpx";
import { type Playback, SPEEDS } from "./playback";
import { kilometers, rowAt } from "./track";

export function Controls({ day, playback }: { day: Day; playback: Playback }) {
  const words = strings.replay;
  const isPlaying = playback.isPlaying.value;
  const save = () => saveFile(`${day.name} ${day.day}.gpx`, new Blob([gpx(`${day.name} ${day.day}`, day.track)], { type: "application/gpx+xml" }));
  return (
    <div class="replay-controls">
      <button type="button" class="primary" onClick={() => (isPlaying ? playback.pause() : playback.play())}>{isPlaying ? `❚❚ ${words.pause}` : `▶ ${words.play}`}</button>
      <label>{words.speed}
        <select value={playback.speed} onChange={(event) => { playback.speed.value = Number(event.currentTarget.value); }}>
          {SPEEDS.map((speed) => <option key={speed} value={speed}>{words.times(speed)}</option>)}
        </select>
      </label>
      <Moment day={day} playback={playback} />
      <span class="grow" />
      <span class="quiet">{words.summary(day.track.count, measure("distance", kilometers(day.track)))}</span>
      <button type="button" onClick={save}>{words.gpx}</button>
    </div>
  );
}

function Moment({ day, playback }: { day: Day; playback: Playback }) {
  const at = playback.at.value;
  const speed = day.track.wentKmh[rowAt(day.track, at)] ?? NaN;
  return (
    <p class="replay-moment">
      <time dateTime={new Date(at).toISOString()}>{timeOfDay(at)}</time>
      <span class="quiet">{Number.isNaN(speed) ? "" : measure("speed", speed)}</span>
    </p>
  );
}
