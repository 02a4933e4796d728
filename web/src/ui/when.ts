const units = [
  { unit: "day", seconds: 86_400 },
  { unit: "hour", seconds: 3_600 },
  { unit: "minute", seconds: 60 },
] as const;

/** Days after which the date is shown in place of the relative time. */
const DAYS_MAX = 7;

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const thisYear = new Intl.DateTimeFormat("en", { day: "numeric", month: "long" });
const otherYear = new Intl.DateTimeFormat("en", { day: "numeric", month: "long", year: "numeric" });

/** `just now`, `5 minutes ago`, `yesterday`, `3 March`. */
export function whenInWords(at: Date, now: Date): string {
  const seconds = (now.getTime() - at.getTime()) / 1000;
  if (seconds > DAYS_MAX * 86_400) {
    return (at.getFullYear() === now.getFullYear() ? thisYear : otherYear).format(at);
  }
  const coarse = units.find((unit) => seconds >= unit.seconds);
  return coarse === undefined ? "just now" : relative.format(-Math.floor(seconds / coarse.seconds), coarse.unit);
}
