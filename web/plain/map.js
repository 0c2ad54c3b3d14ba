// A map without tiles: fences and moving vehicles on a canvas. Knows shapes and positions, not the feed.

const METERS_PER_DEGREE = 111_195;
const TRAIL = 12;
const GLIDE_MS = 900;
const MARGIN = 24;
/** A fence wider than this is a town or more: the background, not a place. */
const WIDE_DEGREES = 0.3;
const LEAST_DEGREES = 0.002;
const FENCE_FONT = "italic 11px system-ui, sans-serif";
const VEHICLE_FONT = "11px system-ui, sans-serif";

const polygonsOf = (shape) => {
  if (shape?.type === "polygon") return [shape];
  return shape?.type === "multiPolygon" ? shape.polygons : [];
};

/** The box of a shape as [west, south, east, north]. */
function boxOf(shape) {
  if (shape?.type === "circle") {
    const { latitude, longitude } = shape.center;
    const north = shape.radiusMeters / METERS_PER_DEGREE;
    const east = north / Math.cos((latitude * Math.PI) / 180);
    return [longitude - east, latitude - north, longitude + east, latitude + north];
  }
  const box = [Infinity, Infinity, -Infinity, -Infinity];
  for (const { vertices } of polygonsOf(shape)) for (const at of vertices) widen(box, at.longitude, at.latitude);
  return box;
}

function widen(box, longitude, latitude) {
  box[0] = Math.min(box[0], longitude);
  box[1] = Math.min(box[1], latitude);
  box[2] = Math.max(box[2], longitude);
  box[3] = Math.max(box[3], latitude);
}

/** Takes the box [left, top, right, bottom] unless it would overlap one that is taken. */
function free(taken, box) {
  const clash = taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3]);
  if (!clash) taken.push(box);
  return !clash;
}

export class FleetMap {
  #canvas;
  #fences = [];
  #occupied = new Set();
  #vehicles = new Map(); // id -> {from, to, since, trail}
  #names = (id) => id;
  #view = null;
  #ground = document.createElement("canvas");
  #colors;

  constructor(canvas) {
    this.#canvas = canvas;
    new ResizeObserver(() => this.#fit()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#fit());
    requestAnimationFrame(() => this.#draw());
  }

  setNames(names) { this.#names = names; }

  setFences(fences) {
    this.#fences = fences.filter((fence) => fence.shape).map((fence) => ({ ...fence, box: boxOf(fence.shape) }));
    this.#fit();
  }

  setOccupied(ids) {
    const same = ids.size === this.#occupied.size && [...ids].every((id) => this.#occupied.has(id));
    this.#occupied = ids;
    if (!same) this.#drawGround();
  }

  move(id, { latitude, longitude }) {
    const now = performance.now();
    const to = [longitude, latitude];
    const known = this.#vehicles.get(id);
    const from = known ? this.#at(known, now) : to;
    const trail = known ? [...known.trail, known.to].slice(-TRAIL) : [];
    // A jump across the town is a new beginning, not a way.
    const jumped = Math.hypot(to[0] - from[0], to[1] - from[1]) > 0.03;
    this.#vehicles.set(id, { from: jumped ? to : from, to, since: now, trail: jumped ? [] : trail });
    if (!this.#shows(to)) this.#fit();
  }

  #shows([longitude, latitude]) {
    if (!this.#view) return false;
    const [x, y] = this.#project(longitude, latitude);
    return x > 0 && y > 0 && x < this.#view.width && y < this.#view.height;
  }

  #at({ from, to, since }, now) {
    const share = Math.min(1, (now - since) / GLIDE_MS);
    return [from[0] + (to[0] - from[0]) * share, from[1] + (to[1] - from[1]) * share];
  }

  /** Fits the view to the vehicles and to the fences that are not much larger than a town. */
  #fit() {
    const box = [Infinity, Infinity, -Infinity, -Infinity];
    for (const { to } of this.#vehicles.values()) widen(box, ...to);
    for (const { box: [west, south, east, north] } of this.#fences) {
      if (east - west > WIDE_DEGREES) continue;
      widen(box, west, south);
      widen(box, east, north);
    }
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    if (box[0] > box[2] || width === 0) return;
    // A single vehicle is a point: show its surroundings.
    widen(box, box[0] - LEAST_DEGREES, box[1] - LEAST_DEGREES);
    widen(box, box[2] + LEAST_DEGREES, box[3] + LEAST_DEGREES);
    const squeeze = Math.cos((((box[1] + box[3]) / 2) * Math.PI) / 180);
    const scale = Math.min(
      (width - 2 * MARGIN) / ((box[2] - box[0]) * squeeze),
      (height - 2 * MARGIN) / (box[3] - box[1]),
    );
    const middle = [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2];
    this.#view = { width, height, squeeze, scale, middle };
    const ratio = devicePixelRatio || 1;
    for (const canvas of [this.#canvas, this.#ground]) {
      canvas.width = width * ratio;
      canvas.height = height * ratio;
      canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(name).trim();
    this.#colors = { ink: color("--ink"), line: color("--quiet"), held: color("--good"), panel: color("--panel") };
    this.#drawGround();
  }

  #project(longitude, latitude) {
    const { width, height, squeeze, scale, middle } = this.#view;
    return [width / 2 + (longitude - middle[0]) * squeeze * scale, height / 2 - (latitude - middle[1]) * scale];
  }

  /** The fences, drawn once for many frames: a city's outline has thousands of points. */
  #drawGround() {
    if (!this.#view) return;
    const pen = this.#ground.getContext("2d");
    pen.clearRect(0, 0, this.#view.width, this.#view.height);
    for (const { id, shape } of this.#fences) {
      const held = this.#occupied.has(id);
      const path = this.#outline(shape);
      pen.fillStyle = pen.strokeStyle = held ? this.#colors.held : this.#colors.line;
      pen.globalAlpha = held ? 0.14 : 0.06;
      pen.fill(path, "evenodd");
      pen.globalAlpha = held ? 0.9 : 0.5;
      pen.stroke(path);
    }
    pen.globalAlpha = 1;
  }

  /** Names of the fences in use, above each, where there is room left. */
  #nameFences(pen, taken) {
    pen.font = FENCE_FONT;
    pen.fillStyle = this.#colors.held;
    for (const { id, name, box: [west, , east, north] } of this.#fences) {
      if (!this.#occupied.has(id) || east - west > WIDE_DEGREES) continue;
      const [x, y] = this.#project((west + east) / 2, north);
      const half = pen.measureText(name).width / 2;
      if (free(taken, [x - half, y - 14, x + half, y - 2])) pen.fillText(name, x - half, y - 4);
    }
  }

  /** Names of the vehicles, beside each where there is room; they come back when the vehicles part. */
  #nameVehicles(pen, places, taken) {
    pen.font = VEHICLE_FONT;
    pen.fillStyle = this.#colors.ink;
    for (const [id, [x, y]] of places) {
      const name = this.#names(id);
      const width = pen.measureText(name).width;
      for (const [left, base] of [[x + 6, y - 4], [x - 6 - width, y - 4], [x + 6, y + 12], [x - 6 - width, y + 12]]) {
        if (!free(taken, [left, base - 9, left + width, base + 2])) continue;
        pen.fillText(name, left, base);
        break;
      }
    }
  }

  #outline(shape) {
    const path = new Path2D();
    if (shape.type === "circle") {
      const [x, y] = this.#project(shape.center.longitude, shape.center.latitude);
      path.arc(x, y, Math.max(2, (shape.radiusMeters / METERS_PER_DEGREE) * this.#view.scale), 0, 2 * Math.PI);
    }
    for (const { vertices, holes = [] } of polygonsOf(shape)) {
      for (const ring of [vertices, ...holes]) {
        ring.forEach((at, index) => {
          const [x, y] = this.#project(at.longitude, at.latitude);
          if (index === 0) path.moveTo(x, y);
          else path.lineTo(x, y);
        });
        path.closePath();
      }
    }
    return path;
  }

  #draw() {
    requestAnimationFrame(() => this.#draw());
    if (!this.#view) return;
    const now = performance.now();
    const pen = this.#canvas.getContext("2d");
    const { width, height } = this.#view;
    pen.clearRect(0, 0, width, height);
    pen.drawImage(this.#ground, 0, 0, width, height);
    const places = new Map();
    for (const [id, vehicle] of this.#vehicles) {
      const here = this.#at(vehicle, now);
      pen.strokeStyle = this.#colors.ink;
      pen.globalAlpha = 0.35;
      pen.beginPath();
      for (const at of [...vehicle.trail, here]) pen.lineTo(...this.#project(...at));
      pen.stroke();
      pen.globalAlpha = 1;
      const [x, y] = this.#project(...here);
      pen.fillStyle = this.#colors.ink;
      pen.beginPath();
      pen.arc(x, y, 4, 0, 2 * Math.PI);
      pen.fill();
      places.set(id, [x, y]);
    }
    const taken = [...places.values()].map(([x, y]) => [x - 4, y - 4, x + 4, y + 4]);
    this.#nameVehicles(pen, places, taken);
    this.#nameFences(pen, taken);
  }
}
