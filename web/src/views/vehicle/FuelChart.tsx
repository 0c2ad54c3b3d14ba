// Fuel over time: what was read, what was smoothed, marks for what came in and went out. Drag to look closer,
// double-click to see all; the cursor is the one of whatever else shows the same time.

import { useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type uPlot from "uplot";

import type { Columns } from "../../api/schema";
import { conventions, ownTimeZone } from "../../conventions";
import { date, dayAndTime, dayOf, hourOfDay, shown, unit } from "../../format";
import { decimal } from "../../numbers";
import { loaded } from "../../state/loading";
import { notice } from "../../state/notices";
import { theme } from "../../state/theme";
import { strings } from "../../strings";

const HEIGHT_PIXELS = 170;

interface Props {
  readonly columns: Columns;
  readonly label: string;
  /** The moment to mark, milliseconds since 1970. */
  readonly at?: number;
  /** Called with the moment that was clicked on. */
  readonly onSeek?: (at: number) => void;
}

export function FuelChart({ columns, label, at, onSeek }: Props) {
  const container = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const seek = useRef(onSeek);
  const moment = useRef(at);
  const told = useRef(columns);
  seek.current = onSeek;
  moment.current = at;
  told.current = columns;

  const draw = () => {
    const element = container.current as HTMLDivElement;
    let isGone = false;
    loaded(() => Promise.all([import("uplot"), import("uplot/dist/uPlot.min.css")])).then(([{ default: Plot }]) => {
      if (isGone) return;
      const links = { seek: (time: number) => seek.current?.(time), moment: () => moment.current, columns: () => told.current };
      chart.current = new Plot(optionsFor(Plot, element.clientWidth, links), dataOf(told.current), element);
    }, notice);
    const watch = new ResizeObserver(() => chart.current?.setSize({ width: element.clientWidth, height: HEIGHT_PIXELS }));
    watch.observe(element);
    return () => {
      isGone = true;
      watch.disconnect();
      chart.current?.destroy();
      chart.current = null;
    };
  };
  useEffect(draw, [theme.value, conventions.value]);
  useEffect(() => { if (chart.current) retell(chart.current, columns); }, [columns]);
  useEffect(() => chart.current?.redraw(false), [at]);
  useSignalEffect(() => { theme.value; });
  return <div ref={container} class="chart" role="img" aria-label={label} />;
}

const seconds = (time: string): number => Date.parse(time) / 1000;

function dataOf({ recordedAt, levelRawLiters, levelLiters }: Columns): uPlot.AlignedData {
  const levels = (liters: readonly (number | null)[]) => liters.map((level) => (level === null ? null : shown("volume", level)));
  return [recordedAt.map(seconds), levels(levelRawLiters), levels(levelLiters)];
}

/** What is newer is drawn in place; whoever looks closer at a part goes on doing so. */
function retell(plot: uPlot, columns: Columns): void {
  const [times] = plot.data;
  const { min, max } = plot.scales["x"] ?? {};
  const isCloser = min != null && max != null && (min > (times[0] ?? min) || max < (times.at(-1) ?? max));
  plot.setData(dataOf(columns), !isCloser);
  if (isCloser) plot.redraw();
}

interface Links {
  readonly columns: () => Columns;
  readonly seek: (at: number) => void;
  readonly moment: () => number | undefined;
}

/** Where a day begins, its date; else the hour. Seconds since 1970. */
const timeMark = (at: number): string => (dayOf(at * 1000) === dayOf(at * 1000 - 1) ? hourOfDay(at * 1000) : date(at * 1000));

function optionsFor(Plot: typeof uPlot, width: number, links: Links): uPlot.Options {
  const color = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const axis = { stroke: color("--quiet"), grid: { stroke: color("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
  const words = strings.detail;
  const full = () => shown("volume", links.columns().tankCapacityLiters ?? 0);
  const value = (_: uPlot, level: number | null) => (level == null ? "" : `${decimal(level, 1)} ${unit("volume")}`);
  return {
    width,
    height: HEIGHT_PIXELS,
    cursor: { drag: { x: true, y: false }, points: { size: 6 } },
    legend: { live: true },
    // from an empty tank to a full one, so that half of it looks like half
    scales: { y: { range: (_, _low, high) => [0, Math.max(full(), high) || 1] } },
    tzDate: (at) => Plot.tzDate(new Date(at * 1000), conventions.peek().timeZone ?? ownTimeZone() ?? "UTC"),
    axes: [{ ...axis, space: 70, values: (_, times) => times.map(timeMark) }, { ...axis, size: 38, values: (_, levels) => levels.map((level) => decimal(level, 1)) }],
    series: [
      { value: (_, at) => (at == null ? "" : dayAndTime(at * 1000)) },
      { label: words.levelRead, stroke: color("--line"), width: 1, points: { show: false }, value },
      { label: words.levelSmooth, stroke: color("--accent"), fill: `${color("--accent")}1f`, width: 2, points: { show: false }, value },
    ],
    hooks: {
      draw: [(plot) => drawMarks(plot, links.columns(), color("--moving"), color("--bad"), links.moment(), color("--focus"))],
      ready: [(plot) => plot.over.addEventListener("click", ({ offsetX }) => links.seek(plot.posToVal(offsetX, "x") * 1000))],
    },
  };
}

/** Arrows up for refuels, down for drains; a line for the moment. Shape and place tell them apart, colour helps. */
function drawMarks(plot: uPlot, { events }: Columns, refuel: string, drain: string, at: number | undefined, focus: string): void {
  const { ctx, bbox } = plot;
  const half = 5 * devicePixelRatio;
  ctx.save();
  for (const { type, startedAt } of events) {
    const x = plot.valToPos(seconds(startedAt), "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    const isUp = type === "refuel";
    ctx.fillStyle = ctx.strokeStyle = isUp ? refuel : drain;
    ctx.globalAlpha = 0.5;
    ctx.fillRect(x, bbox.top, devicePixelRatio, bbox.height);
    ctx.globalAlpha = 1;
    const [base, tip] = isUp ? [bbox.top + 2 * half, bbox.top] : [bbox.top, bbox.top + 2 * half];
    ctx.beginPath();
    ctx.moveTo(x, tip);
    ctx.lineTo(x - half, base);
    ctx.lineTo(x + half, base);
    ctx.fill();
  }
  if (at !== undefined) {
    ctx.fillStyle = focus;
    ctx.fillRect(plot.valToPos(at / 1000, "x", true), bbox.top, 2 * devicePixelRatio, bbox.height);
  }
  ctx.restore();
}
