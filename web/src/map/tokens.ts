// The page's colours, for the map, which cannot read style sheets itself.

/** The value of a custom property in force: `#rrggbb`. */
export const token = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
