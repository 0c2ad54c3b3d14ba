// What GET /v1/fuel/chart answers is what the real chart libraries take: handed over as it is, the picture has the
// lines, the gap and the marks, and a theft that one reading saw is still there among fifty points.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { Fleet, eventually, picture, setUp } from "./harness/index.mjs";

const POINTS = 50;
const TANK_LITERS = 100;
const SPIKE_LITERS = 12;
const MINUTES = 600;

let fleet, lorry, began;

const stage = setUp({ first: async ({ server }) => {
  fleet = await Fleet.make(server, "Charted");
  lorry = await fleet.vehicle("Lorry", { fuel: { kind: "diesel", tankCapacityLiters: TANK_LITERS } });
  // Ten hours of a reading each minute, an hour's gap, up to an hour ago.
  began = Math.floor(Date.now() / 60_000) * 60_000 - (MINUTES + 60) * 60_000;
  const readings = Array.from({ length: MINUTES }, (_, minute) => minute).filter((minute) => minute < 400 || minute >= 460);
  const items = readings.map((minute) => ({
    recordedAt: new Date(began + minute * 60_000).toISOString(),
    ...place(minute),
    fuel: { liters: minute === 150 ? SPIKE_LITERS : level(minute) },
  }));
  for (let first = 0; first < items.length; first += 500) await lorry.report(items.slice(first, first + 500));
} });

// It drives but for a stop to refuel from 200 to 230 and a stop in which somebody drains it, from 480 to 540.
const stops = (minute) => (minute >= 200 && minute < 230) || (minute >= 480 && minute < 540);

function place(minute) {
  const driven = Array.from({ length: minute }, (_, at) => at).filter((at) => !stops(at)).length;
  return { latitude: 48 + driven * 0.005, longitude: 11, speedKmh: stops(minute) ? 0 : 33 };
}

/** Litres: 40 come in at 210 within three minutes, 30 go out from 500 to 506; 0.05 a minute are burnt driving. */
function level(minute) {
  const came = 40 * Math.min(Math.max((minute - 210) / 3, 0), 1);
  const went = 30 * Math.min(Math.max((minute - 500) / 6, 0), 1);
  return Math.round((50 - 0.05 * Math.min(minute, 480) + came - went) * 100) / 100;
}

/** The answer, and a page with a library and a box to draw in. */
async function prepare(format, ...scripts) {
  const period = `from=${new Date(began).toISOString()}&to=${new Date(began + MINUTES * 60_000).toISOString()}`;
  const answer = await fleet.admin.get(`/v1/fuel/chart?vehicleId=${lorry.id}&${period}&points=${POINTS}&format=${format}`);
  const page = await stage.page();
  await page.setContent(`<body style="margin:0;background:#fff"><div id="box" style="width:1200px;height:600px"><canvas></canvas></div>`);
  for (const script of scripts) {
    await page.addScriptTag({ content: await readFile(new URL(`node_modules/${script}`, import.meta.url), "utf8") });
  }
  return { answer, page };
}

/** How many pixels of a canvas are near a colour. */
function countPixels([selector, [red, green, blue]]) {
  const canvas = document.querySelector(selector);
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let at = 0; at < data.length; at += 4) {
    const near = (value, wanted) => Math.abs(value - wanted) < 24;
    if (data[at + 3] > 128 && near(data[at], red) && near(data[at + 1], green) && near(data[at + 2], blue)) count += 1;
  }
  return count;
}

const READINGS = [0x93, 0xb4, 0xe8];
const SMOOTHED = [0x1d, 0x4f, 0xa3];
const REFUEL = [0x15, 0x80, 0x3d];
const DRAIN = [0xb9, 0x1c, 0x1c];

const CHART_JS = ["chart.js/dist/chart.umd.js", "chartjs-plugin-annotation/dist/chartjs-plugin-annotation.min.js"];
const APEX_CHARTS = ["apexcharts/dist/apexcharts.js"];
const E_CHARTS = ["echarts/dist/echarts.js"];

test("the server found the refuel and the drain", async () => {
  const events = await eventually(async () => {
    const { data } = await fleet.admin.get("/v1/fuel/events?sort=startedAt");
    assert.deepEqual(data.map((event) => event.type), ["refuel", "drain"]);
    return data;
  });
  const [refuel, drain] = events.map((event) => event.volumeLiters);
  assert.ok(Math.abs(refuel - 40) < 2 && Math.abs(drain - 30) < 1.5, `${refuel}, ${drain}`);
});

test("Chart.js draws the lines, the gap and the marks", async () => {
  const { answer, page } = await prepare("chartjs", ...CHART_JS);
  const drawn = await page.evaluate((data) => {
    const chart = new globalThis.Chart(document.querySelector("canvas"), {
      type: "line",
      data,
      options: { animation: false, maintainAspectRatio: false, plugins: { annotation: { annotations: data.annotations } } },
    });
    const plugin = globalThis["chartjs-plugin-annotation"];
    return {
      series: chart.data.datasets.map((dataset) => dataset.data),
      lines: chart.data.datasets.map((_, index) => chart.getDatasetMeta(index).dataset.segments.length),
      boxes: (plugin.getAnnotations?.(chart) ?? []).map(({ x, x2, y, y2, options }) => ({ x, x2, y, y2, text: options.label.content })),
    };
  }, answer);
  assert.equal(drawn.series.length, 2);
  assert.ok(drawn.series[0].filter((liters) => liters !== null).length <= POINTS);
  assert.ok(drawn.series[0].includes(SPIKE_LITERS), "the theft of one reading");
  assert.deepEqual(drawn.lines, [2, 2], "two pieces, with the gap between");
  assert.deepEqual(drawn.boxes.map(({ text }) => text.split(" ")[0]).sort(), ["Drain", "Refuel"]);
  for (const box of drawn.boxes) assert.ok(box.x2 > box.x && box.y2 > box.y && box.x2 <= 1200, JSON.stringify(box));
  for (const color of [READINGS, SMOOTHED, REFUEL, DRAIN]) {
    assert.ok(await page.evaluate(countPixels, ["canvas", color]) > 100, `pixels of ${color}`);
  }
  await picture(page, "chart-chartjs");
  assert.deepEqual([page.faults, page.foreign], [[], []]);
});

test("ECharts draws the lines, the gap and the marks", async () => {
  const { answer, page } = await prepare("echarts", ...E_CHARTS);
  const option = await page.evaluate((option) => {
    document.querySelector("canvas").remove();
    const chart = globalThis.echarts.init(document.querySelector("#box"));
    chart.setOption({ animation: false, ...option });
    const { series, xAxis } = chart.getOption();
    return { series, axis: xAxis[0].type, extent: chart.getModel().getComponent("xAxis").axis.scale.getExtent() };
  }, answer);
  assert.equal(option.axis, "time");
  assert.equal(option.series.length, 2);
  assert.ok(option.series[0].data.some(([, liters]) => liters === SPIKE_LITERS), "the theft of one reading");
  assert.ok(option.series[0].data.some(([, liters]) => liters === null), "the gap");
  assert.deepEqual(option.series[0].markArea.data.map(([start]) => start.name.split(" ")[0]), ["Refuel", "Drain"]);
  assert.ok(option.extent[0] <= began && option.extent[1] >= began + (MINUTES - 1) * 60_000, "in milliseconds");
  for (const color of [READINGS, SMOOTHED, REFUEL, DRAIN]) {
    assert.ok(await page.evaluate(countPixels, ["canvas", color]) > 100, `pixels of ${color}`);
  }
  await picture(page, "chart-echarts");
  assert.deepEqual([page.faults, page.foreign], [[], []]);
});

test("ApexCharts draws the lines, the gap and the marks", async () => {
  const { answer, page } = await prepare("apexcharts", ...APEX_CHARTS);
  const drawn = await page.evaluate(async (options) => {
    document.querySelector("canvas").remove();
    const chart = new globalThis.ApexCharts(document.querySelector("#box"), {
      ...options,
      chart: { ...options.chart, height: 600, animations: { enabled: false } },
    });
    await chart.render();
    const box = (element) => (({ x, y, width, height }) => ({ x, y, width, height }))(element.getBBox());
    return {
      series: chart.w.globals.seriesNames,
      levels: chart.w.globals.series,
      // A line begins anew after the gap.
      pieces: [...document.querySelectorAll(".apexcharts-line-series .apexcharts-series")].map((series) => {
        const paths = [...series.querySelectorAll("path.apexcharts-line")];
        return paths.reduce((count, path) => count + path.getAttribute("d").match(/M/g).length, 0);
      }),
      ranges: [...document.querySelectorAll(".apexcharts-xaxis-annotations rect.apexcharts-annotation-rect")].map(box),
      texts: [...document.querySelectorAll(".apexcharts-xaxis-annotation-label")].map((text) => text.textContent),
    };
  }, answer);
  assert.equal(drawn.series.length, 2);
  assert.ok(drawn.levels[0].includes(SPIKE_LITERS), "the theft of one reading");
  assert.ok(drawn.pieces.every((pieces) => pieces >= 2) && drawn.pieces.length === 2, `${drawn.pieces}`);
  assert.equal(drawn.ranges.length, 2);
  for (const range of drawn.ranges) assert.ok(range.width > 0 && range.height > 100 && range.x > 0, JSON.stringify(range));
  assert.deepEqual(drawn.texts.map((text) => text.split(" ")[0]).sort(), ["Drain", "Refuel"]);
  await picture(page, "chart-apexcharts");
  assert.deepEqual([page.faults, page.foreign], [[], []]);
});
