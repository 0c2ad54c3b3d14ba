// Every word about moments of the past; loaded with what goes there.

export const pastWords = {
  open: "Go back in time",
  title: "Moment shown",
  day: "Day",
  time: "Time of day",
  backToNow: "Back to now",
  loading: "Loading …",
} as const;
