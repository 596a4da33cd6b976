import type { Scale } from "./scale.ts";

/** The part of an execution that its timeline shows: milliseconds since the start of it, whole ones. */
export interface Span {
  from: number;
  to: number;
}

/**
 * The part that an address names, of an execution that has taken so long. Without an end it is up to the end, which
 * moves while the execution runs. Everything, if nothing of it has happened.
 */
export function readZoom(zoom: string | undefined, length: number): Span {
  const [from = NaN, end] = (zoom ?? "").split("-").map((part) => (part === "" ? undefined : Number(part)));
  const to = Math.min(end ?? length, length);
  return from < to ? { from, to } : { from: 0, to: length };
}

/** The same for the address; undefined for everything. */
export function writeZoom({ from, to }: Span, length: number): string | undefined {
  return from <= 0 && to >= length ? undefined : `${from}-${to >= length ? "" : to}`;
}

/** The part between two places of the scale of everything, at least a millisecond. */
export function spanBetween(scale: Scale, one: number, other: number): Span {
  const since = (place: number) => scale.time(place) - scale.from;
  const length = Math.max(1, scale.to - scale.from);
  const from = Math.min(Math.floor(since(Math.min(one, other))), length - 1);
  const to = Math.ceil(since(Math.max(one, other)));
  return { from, to: Math.min(length, Math.max(to, from + 1)) };
}

export const placesOf = (scale: Scale, { from, to }: Span): [number, number] => [
  scale.place(scale.from + from),
  scale.place(scale.from + to),
];

/** So many times as much around the same middle, as far as there is so much. */
export function zoomBy(scale: Scale, span: Span, factor: number): Span {
  const [a, b] = placesOf(scale, span);
  return around(scale, (a + b) / 2, (b - a) * factor);
}

/** As much as before, around another middle. */
export function centre(scale: Scale, span: Span, middle: number): Span {
  const [a, b] = placesOf(scale, span);
  return around(scale, middle, b - a);
}

function around(scale: Scale, middle: number, size: number): Span {
  const wide = Math.min(1, size);
  const a = Math.min(Math.max(0, middle - wide / 2), 1 - wide);
  return spanBetween(scale, a, a + wide);
}

/** With one of its ends at another place; it does not pass the other end. */
export const moveEnd = (scale: Scale, span: Span, end: keyof Span, place: number): Span =>
  withEnd(span, end, Math.round(scale.time(place) - scale.from));

/** With one of its ends moved by a share of everything, and by a millisecond at least. */
export function pushEnd(scale: Scale, span: Span, end: keyof Span, by: number): Span {
  const since = scale.time(scale.place(scale.from + span[end]) + by) - scale.from;
  const next = by < 0 ? Math.min(Math.round(since), span[end] - 1) : Math.max(Math.round(since), span[end] + 1);
  return withEnd(span, end, Math.min(Math.max(0, next), scale.to - scale.from));
}

const withEnd = (span: Span, end: keyof Span, since: number): Span =>
  end === "from" ? { ...span, from: Math.min(since, span.to - 1) } : { ...span, to: Math.max(since, span.from + 1) };
