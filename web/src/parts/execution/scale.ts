/** Milliseconds of a time that nothing runs in, from and to. */
export interface Idle {
  from: number;
  to: number;
}

/**
 * Where a time is on the axis: from 0 to 1, and the other way round. Idle times that are collapsed have a small width of
 * their own. What is outside is at its ends.
 */
export interface Scale {
  place: (time: number) => number;
  time: (place: number) => number;
  idle: readonly Idle[];
  from: number;
  to: number;
}

/** Times that something runs in, from and to, in any order. */
export type Busy = readonly (readonly [number, number])[];

/** A part of the axis on which time is even. */
interface Piece extends Idle {
  at: number;
  width: number;
}

/** An idle time is collapsed when it is longer than this share of all. */
const share = 0.05;
/** Width of a collapsed idle time. */
const width = 0.02;

export function makeScale(from: number, end: number, busy: Busy, collapse: boolean): Scale {
  const to = Math.max(end, from + 1);
  const long = collapse ? idleTimes(from, to, busy).filter((time) => time.to - time.from > (to - from) * share) : [];
  const worked = to - from - long.reduce((sum, time) => sum + time.to - time.from, 0);
  // Where nothing runs at all, there is nothing to make room for.
  const idle = worked > 0 ? long : [];
  const pieces = piecesOf(from, to, idle, (1 - idle.length * width) / (worked > 0 ? worked : to - from));
  const find = (fits: (piece: Piece) => boolean) => pieces.find(fits) ?? pieces.at(-1) ?? { from, to, at: 0, width: 1 };
  const place = (time: number) => {
    const piece = find((one) => time <= one.to);
    return piece.at + share01((time - piece.from) / (piece.to - piece.from)) * piece.width;
  };
  const time = (at: number) => {
    const piece = find((one) => at <= one.at + one.width);
    return piece.from + share01((at - piece.at) / piece.width) * (piece.to - piece.from);
  };
  return { place, time, idle, from, to };
}

const share01 = (value: number) => Math.min(1, Math.max(0, value));

function piecesOf(from: number, to: number, idle: readonly Idle[], each: number): Piece[] {
  const pieces: Piece[] = [];
  let [time, at] = [from, 0];
  const add = (until: number, wide: number) => {
    if (until > time) {
      pieces.push({ from: time, to: until, at, width: wide });
      [time, at] = [until, at + wide];
    }
  };
  for (const gap of idle) {
    add(gap.from, (gap.from - time) * each);
    add(gap.to, width);
  }
  add(to, (to - time) * each);
  return pieces;
}

function idleTimes(from: number, to: number, busy: Busy): Idle[] {
  const found: Idle[] = [];
  let at = from;
  for (const [start, end] of busy.toSorted((a, b) => a[0] - b[0])) {
    if (start >= to) {
      break;
    }
    if (start > at) {
      found.push({ from: at, to: start });
    }
    at = Math.max(at, end);
  }
  if (to > at) {
    found.push({ from: at, to });
  }
  return found;
}

/** A part of the axis that is marked, from its left end, in places. */
export interface Mark {
  at: number;
  width: number;
}

/** Marks that are nearer to each other than this are one. */
const near = 0.002;

/** Where something runs, as few marks. */
export function marksOf(scale: Scale, busy: Busy): Mark[] {
  const found: Mark[] = [];
  for (const [from, to] of busy.toSorted((a, b) => a[0] - b[0])) {
    const [at, end] = [scale.place(from), scale.place(to)];
    const last = found.at(-1);
    if (last && at - last.at - last.width < near) {
      last.width = Math.max(last.width, end - last.at);
    } else {
      found.push({ at, width: end - at });
    }
  }
  return found;
}

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

const steps = [
  1,
  2,
  5,
  10,
  20,
  50,
  100,
  200,
  500,
  ...[1, 2, 5, 10, 15, 30].map((n) => n * second),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * minute),
  ...[1, 2, 3, 6, 12].map((n) => n * hour),
];

/** How far apart ticks are: so that there are at most so many in a time. */
function stepOf(time: number, most: number): number {
  const found = steps.find((step) => time / step <= most);
  if (found !== undefined) {
    return found;
  }
  let days = 1;
  while (time / (days * day) > most) {
    days *= 2;
  }
  return days * day;
}

/** A time that the axis names: milliseconds since the start, and its place. */
export interface Tick {
  since: number;
  place: number;
}

/** Ticks at even times since a start, none in collapsed idle times, and none so near that their texts would touch. */
export function ticksOf(scale: Scale, start: number, most: number): Tick[] {
  const step = stepOf(scale.to - scale.from - scale.idle.reduce((sum, time) => sum + time.to - time.from, 0), most);
  const found: Tick[] = [];
  let at = scale.from;
  for (const until of [...scale.idle, { from: scale.to, to: scale.to }]) {
    for (let n = Math.ceil((at - start) / step); start + n * step <= until.from; n++) {
      const place = scale.place(start + n * step);
      const last = found.at(-1);
      if (!last || place - last.place > 0.7 / most) {
        found.push({ since: n * step, place });
      }
    }
    at = until.to;
  }
  return found;
}
