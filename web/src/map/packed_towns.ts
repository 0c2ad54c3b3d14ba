// The form in which the towns of the world travel: columns of text, in an order in which neighbours look alike.
// Coordinates are hundredths of a degree, a kilometre or less; of the number of people two digits count.

/** The towns, by column; the same index is the same town. Degrees. */
export interface Column {
  readonly names: readonly string[];
  readonly countries: readonly string[];
  readonly latitudes: readonly number[];
  readonly longitudes: readonly number[];
  readonly people: readonly number[];
}

/** A town as the source has it. */
export interface Source {
  readonly name: string;
  readonly country: string;
  readonly population: number;
  readonly loc: { readonly coordinates: readonly [longitude: number, latitude: number] };
}

/** Ten steps to ten times as many. */
const STEPS = 10;

export function packed(towns: readonly Source[]): string {
  const sorted = towns
    .map(({ name, country, population, loc: { coordinates: [longitude, latitude] } }) => ({
      name, country, x: Math.round(longitude * 100), y: Math.round(latitude * 100), size: Math.round(STEPS * Math.log10(population)),
    }))
    .sort((a, b) => (a.country < b.country ? -1 : a.country > b.country ? 1 : Math.floor(a.y / 100) - Math.floor(b.y / 100) || a.x - b.x || (a.name < b.name ? -1 : 1)));
  const steps = (values: readonly number[]) => values.map((value, at) => value - (values[at - 1] ?? 0)).join(" ");
  const columns = [
    sorted.map(({ name }) => name).join("|"),
    sorted.map(({ country }) => country).join(""),
    steps(sorted.map(({ y }) => y)),
    steps(sorted.map(({ x }) => x)),
    sorted.map(({ size }) => size).join(" "),
  ];
  return columns.join("\n");
}

export function unpacked(text: string): Column {
  const [names = "", countries = "", ys = "", xs = "", sizes = ""] = text.split("\n");
  const summed = (steps: string) => {
    let sum = 0;
    return steps.split(" ").map((step) => (sum += Number(step)) / 100);
  };
  return {
    names: names.split("|"),
    countries: countries.match(/../g) ?? [],
    latitudes: summed(ys),
    longitudes: summed(xs),
    people: sizes.split(" ").map((size) => 10 ** (Number(size) / STEPS)),
  };
}
