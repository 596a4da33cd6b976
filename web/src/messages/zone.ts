/** The time zone that times are shown and read in: undefined is the browser's. */
let zone: string | undefined;

export const currentTimeZone = (): string | undefined => zone;

/** The zone of the browser. */
export const browserTimeZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Whether the browser knows a time zone. */
export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).format() !== "";
  } catch {
    return false;
  }
}

export function setZone(next: string | undefined): void {
  zone = next !== undefined && isTimeZone(next) ? next : undefined;
}

/** By how many milliseconds clocks are ahead of UTC at a time. */
export function offsetAt(at: Date): number {
  const parts = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  }).formatToParts(at);
  const part = (type: Intl.DateTimeFormatPartTypes) => Number(parts.find((p) => p.type === type)?.value);
  const clock = Date.UTC(
    part("year"),
    part("month") - 1,
    part("day"),
    part("hour"),
    part("minute"),
    part("second"),
    at.getUTCMilliseconds(),
  );
  return clock - at.getTime();
}

/** What a clock shows at a time, as fields for a date and a time have it. */
export const toClock = (at: Date): string => new Date(at.getTime() + offsetAt(at)).toISOString().slice(0, 23);

/** When a clock shows what is in such a field. */
export function fromClock(text: string): Date {
  const shown = Date.parse(`${text}Z`);
  if (Number.isNaN(shown)) {
    return new Date(Number.NaN);
  }
  const guess = shown - offsetAt(new Date(shown));
  return new Date(shown - offsetAt(new Date(guess)));
}
