import { currentLocale, t } from "./index.ts";
import { currentTimeZone } from "./zone.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** Formatters are dear to make and cheap to use. */
function kept<T>(make: (locale: string) => T): () => T {
  const made = new Map<string, T>();
  return () => {
    const locale = currentLocale();
    const key = `${locale} ${currentTimeZone() ?? ""}`;
    const old = made.get(key);
    if (old !== undefined) {
      return old;
    }
    const fresh = make(locale);
    made.set(key, fresh);
    return fresh;
  };
}

const numbers = kept((locale) => new Intl.NumberFormat(locale));

const shares = kept((locale) => new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: 1 }));

/** A formatter of times in the zone of the person. */
const times = (options: Intl.DateTimeFormatOptions): (() => Intl.DateTimeFormat) =>
  kept((locale) => new Intl.DateTimeFormat(locale, { ...options, timeZone: currentTimeZone() }));

const distances = kept((locale) => new Intl.RelativeTimeFormat(locale, { numeric: "auto", style: "short" }));
const exacts = times({ dateStyle: "medium", timeStyle: "long" });
const clocks = times({ timeStyle: "medium" });
const days = times({ dateStyle: "medium" });
const weekHours = times({ weekday: "short", hour: "2-digit", minute: "2-digit" });
const weekDays = times({ weekday: "short", day: "numeric", month: "short" });
const lists = kept((locale) => new Intl.ListFormat(locale, { type: "conjunction" }));
const plurals = kept((locale) => new Intl.PluralRules(locale));

export const formatNumber = (n: number): string => numbers().format(n);
/** A share of 1 in percent. */
export const formatShare = (share: number): string => shares().format(share);
export const formatExact = (at: Date): string => exacts().format(at);
export const formatClock = (at: Date): string => clocks().format(at);
export const formatDay = (at: Date): string => days().format(at);
/** When a bucket begins that is so many seconds long. */
export const formatBucket = (at: Date, seconds: number): string =>
  (seconds < 86_400 ? weekHours() : weekDays()).format(at);
export const formatList = (words: readonly string[]): string => lists().format(words);

/** The form of a word that goes with a number. */
export function plural(n: number, one: string, other: string): string {
  return `${formatNumber(n)} ${plurals().select(n) === "one" ? one : other}`;
}

/** How long ago, or in how long: "2 min ago", "in 3 days". */
export function formatRelative(at: Date, now: Date): string {
  const distance = at.getTime() - now.getTime();
  const size = Math.abs(distance);
  const format = (unit: Intl.RelativeTimeFormatUnit, length: number) =>
    distances().format(Math.trunc(distance / length), unit);
  if (size < 10 * second) {
    return distance <= 0 ? t().time.now : t().time.soon;
  }
  if (size < minute) {
    return format("second", second);
  }
  if (size < hour) {
    return format("minute", minute);
  }
  if (size < 2 * day) {
    return format("hour", hour);
  }
  return size < 30 * day ? format("day", day) : formatDay(at);
}

const two = (n: number) => String(n).padStart(2, "0");

/** A duration in at most two units: 812 ms, 4.2 s, 3 min 05 s, 1 h 04 min, 2 d 03 h. */
export function formatDuration(milliseconds: number): string {
  const ms = Math.max(0, Math.round(milliseconds));
  if (ms < second) {
    return `${ms} ms`;
  }
  if (ms < 9950) {
    return `${numbers().format(Math.round(ms / 100) / 10)} s`;
  }
  const seconds = Math.round(ms / second);
  if (seconds < 60) {
    return `${seconds} s`;
  }
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) {
    return `${minutes} min ${two(seconds % 60)} s`;
  }
  const hours = Math.floor(minutes / 60);
  if (hours < 48) {
    return `${hours} h ${two(minutes % 60)} min`;
  }
  return `${formatNumber(Math.floor(hours / 24))} d ${two(hours % 24)} h`;
}
