import type { compare as en } from "./compare.en.ts";
import { formatList, formatNumber, plural } from "./format.ts";

const some = (names: readonly string[]) =>
  names.length > 10
    ? `${names.slice(0, 10).join(", ")} und ${formatNumber(names.length - 10)} weitere`
    : formatList(names);

/** Deutsche Texte über eine andere Ausführung neben der gezeigten. */
export const compare = {
  name: "Vergleich",
  with: "Verglichen mit",
  took: (there: string, here: string) => `dauerte ${there}, diese ${here}`,
  ofAnother: (workflow: string) => `Sie ist von einem anderen Workflow: ${workflow}.`,
  onlyHere: (names: readonly string[]) => `Nur in dieser: ${some(names)}.`,
  onlyThere: (names: readonly string[]) => `Nur in der anderen: ${some(names)}.`,
  fewer: (loop: string, n: number) =>
    `Die andere hat ${plural(n, "Durchgang", "Durchgänge")} von ${loop}. Der hier gezeigte ist nicht darunter.`,
  cut: (names: readonly string[]) =>
    `Von diesen Aufgaben der anderen sind zusammen nur die ersten 500 Läufe gezeichnet: ${some(names)}.`,
} satisfies typeof en;
