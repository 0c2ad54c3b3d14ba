// The day from left to right: how fast, where it stood, when it crossed a fence; and the slider that sets the moment.

import { useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { timeOfDay } from "../../format";
import { theme } from "../../state/theme";
import { strings } from "../../strings";
import type { Day } from "./ReplayView";
import type { Playback } from "./playback";

const STEP_MS = 1000;
/** A speed holds until the next fix, but no longer. */
const HELD_MS = 120_000;

export function Timeline({ day, playback }: { day: Day; playback: Playback }) {
  const { times, count } = day.track;
  const [from, to] = [times[0] ?? day.from, times[count - 1] ?? day.to];
  const at = playback.at.value;
  return (
    <div class="timeline">
      <Strip day={day} from={from} to={to} />
      <input
        type="range" aria-label={strings.replay.time} min={from} max={to} step={STEP_MS} value={at} aria-valuetext={timeOfDay(at)}
        onInput={(event) => playback.seek(Number(event.currentTarget.value))}
      />
      <div class="timeline-ends quiet"><time>{timeOfDay(from)}</time><time>{timeOfDay(to)}</time></div>
    </div>
  );
}

function Strip({ day, from, to }: { day: Day; from: number; to: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const draw = () => { if (canvas.current) paint(canvas.current, day, from, to); };
  useEffect(() => {
    const watch = new ResizeObserver(draw);
    watch.observe(canvas.current as HTMLCanvasElement);
    return () => watch.disconnect();
  }, []);
  useSignalEffect(() => {
    theme.value;
    draw();
  });
  return <canvas ref={canvas} class="timeline-strip" aria-hidden="true" />;
}

/** Speed as a silhouette, stops as bars below, entries as marks above and exits as marks beneath. */
function paint(canvas: HTMLCanvasElement, { track, stops, crossings }: Day, from: number, to: number): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  const color = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  canvas.width = width * devicePixelRatio;
  canvas.height = height * devicePixelRatio;
  context.scale(devicePixelRatio, devicePixelRatio);
  const x = (time: number): number => ((time - from) / Math.max(1, to - from)) * width;

  const fastest = new Float32Array(Math.max(1, Math.ceil(width)));
  for (let row = 0; row < track.count; row += 1) {
    const time = track.times[row] ?? 0;
    const last = x(Math.min(track.times[row + 1] ?? time, time + HELD_MS));
    for (let column = Math.floor(x(time)); column <= last && column < fastest.length; column += 1) {
      fastest[column] = Math.max(fastest[column] ?? 0, track.wentKmh[row] || 0);
    }
  }
  const top = Math.max(30, ...fastest);
  const body = height - 8;
  context.fillStyle = color("--accent");
  context.globalAlpha = 0.35;
  fastest.forEach((speed, column) => context.fillRect(column, body - (speed / top) * (body - 8), 1, (speed / top) * (body - 8)));
  context.globalAlpha = 1;
  context.fillStyle = color("--stopped");
  for (const stop of stops) context.fillRect(x(stop.from), body + 2, Math.max(1, x(stop.to ?? to) - x(stop.from)), 4);
  for (const { type, occurredAt } of crossings) {
    const isEntry = type === "entry";
    context.fillStyle = color(isEntry ? "--moving" : type === "exit" ? "--stopped" : "--quiet");
    const [middle, tip, base] = isEntry ? [x(Date.parse(occurredAt)), 9, 0] : [x(Date.parse(occurredAt)), 0, 9];
    context.fillRect(middle - 0.5, 0, 1, body);
    context.beginPath();
    context.moveTo(middle, tip);
    context.lineTo(middle - 5, base);
    context.lineTo(middle + 5, base);
    context.fill();
  }
}
