// What programs write for terminals: colours and weight are shown, all else of it is taken out.

const controls =
  // oxlint-disable-next-line no-control-regex
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])|[\u0000-\u0008\u000b-\u001f\u007f]/g;

// oxlint-disable-next-line no-control-regex
const style = /\u001b\[([0-9;]*)m/g;

/** A line without what terminals understand. */
export const plainLine = (text: string): string => text.replace(controls, "");

const colours = ["dim", "red", "green", "yellow", "blue", "magenta", "cyan"] as const;

/** A part of a line that looks alike. */
export interface Span {
  /** Where it begins in the line. */
  at: number;
  text: string;
  colour?: (typeof colours)[number];
  bold?: boolean;
}

type Look = Pick<Span, "colour" | "bold">;

/** How what follows looks, after codes of SGR. Colours of 256 and more have none that can be read on every page. */
function change(before: Look, codes: readonly number[]): Look {
  let look = before;
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] ?? 0;
    const { colour: _, ...uncoloured } = look;
    const colour = colours[code >= 90 ? code - 90 : code - 30];
    if (code === 0) {
      look = {};
    } else if (code === 1) {
      look = { ...look, bold: true };
    } else if (code === 2) {
      look = { ...look, colour: "dim" };
    } else if (code === 22) {
      look = look.colour === "dim" ? {} : { ...(look.colour && { colour: look.colour }) };
    } else if (code === 38 || code === 48) {
      i += codes[i + 1] === 2 ? 4 : 2;
      look = code === 38 ? uncoloured : look;
    } else if ((code >= 30 && code <= 39) || (code >= 90 && code <= 97)) {
      look = colour ? { ...uncoloured, colour } : uncoloured;
    }
  }
  return look;
}

/** The parts of a line, each with its look. */
export function spansOf(text: string): Span[] {
  const spans: Span[] = [];
  let look: Look = {};
  let at = 0;
  const add = (to: number) => {
    const shown = plainLine(text.slice(at, to));
    if (shown !== "") {
      spans.push({ at, text: shown, ...look });
    }
  };
  for (const found of text.matchAll(style)) {
    add(found.index);
    look = change(look, (found[1] ?? "").split(";").map(Number));
    at = found.index + found[0].length;
  }
  add(text.length);
  return spans;
}
