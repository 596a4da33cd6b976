import { en } from "./en.ts";

export type Messages = typeof en;
export const languages = ["en", "de"] as const;
export type Language = (typeof languages)[number];

let texts: Messages = en;
let language: Language = "en";
let locale = "en";

/** The texts in the language of the person. */
export const t = (): Messages => texts;
export const currentLanguage = (): Language => language;

/** The locale of numbers and times: the browser's, where it is of the same language. */
export const currentLocale = (): string => locale;

const stored = "chargehand-language";

/** The language that was chosen here, else that of the page, which the server took from the browser. */
export function preferredLanguage(): Language {
  const wanted = localStorage.getItem(stored) ?? document.documentElement.lang;
  return languages.find((known) => known === wanted) ?? "en";
}

const listeners = new Set<() => void>();

/** Calls back when the language has changed, until the function that it returns is called. */
export function onLanguage(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Loads the texts of a language. */
export async function setLanguage(next: Language, keep = false): Promise<void> {
  texts = next === "de" ? (await import("./de.ts")).de : en;
  language = next;
  locale = navigator.languages.find((known) => known.split("-")[0] === next) ?? next;
  document.documentElement.lang = next;
  if (keep) {
    localStorage.setItem(stored, next);
  }
  listeners.forEach((listener) => listener());
}
