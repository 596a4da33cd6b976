import { en } from "./en.ts";
import { currentTimeZone, setZone } from "./zone.ts";

export type Messages = typeof en;
export const languages = ["en", "de"] as const;
export type Language = (typeof languages)[number];

let texts: Messages = en;
let language: Language = "en";
let locale = "en";

/** The texts that every page needs, in the language of the person. */
export const t = (): Messages => texts;
export const currentLanguage = (): Language => language;

/** The locale of numbers and times: the browser's, where it is of the same language. */
export const currentLocale = (): string => locale;

const stored = "chargehand-language";

const languageOf = (name: string | null): Language | undefined => languages.find((one) => one === name);

let ofPage: Language = "en";

/** The language that the server took from the browser. */
export const pageLanguage = (): Language => ofPage;

/** The language that was chosen here last, else that of the page. It is asked for before the page is drawn. */
export function preferredLanguage(): Language {
  ofPage = languageOf(document.documentElement.lang) ?? "en";
  return languageOf(localStorage.getItem(stored)) ?? ofPage;
}

/** Loads what has come in English in another language. */
const translations = new Set<() => Promise<void>>();

/**
 * Texts that come with the screens which use them: English with the script of the screen, another language when it is
 * chosen. What loads such a screen does so by `withTexts`.
 */
export function screenTexts<T>(english: T, loadGerman: () => Promise<T>): () => T {
  let german: T | undefined;
  translations.add(async () => {
    german ??= await loadGerman();
  });
  return () => (language === "de" && german !== undefined ? german : english);
}

const translate = () => Promise.all([...translations].map((load) => load()));

/** Waits for a script, and for the texts that it shows. */
export async function withTexts<T>(loading: Promise<T>): Promise<T> {
  const loaded = await loading;
  if (language !== "en") {
    await translate();
  }
  return loaded;
}

const listeners = new Set<() => void>();

const tell = () => listeners.forEach((listener) => listener());

/** Calls back when language or time zone have changed, until the function that it returns is called. */
export function onLanguage(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Loads the texts of a language. */
export async function setLanguage(next: Language, keep = false): Promise<void> {
  if (keep) {
    localStorage.setItem(stored, next);
  }
  const local = navigator.languages.find((known) => known.split("-")[0] === next) ?? next;
  if (next === language && document.documentElement.lang === next && locale === local) {
    return;
  }
  texts = next === "de" ? (await Promise.all([import("./de.ts"), translate()]))[0].de : en;
  language = next;
  if (next !== "en") {
    await translate(); // what came meanwhile
  }
  locale = local;
  document.documentElement.lang = next;
  tell();
}

/** Shows times in a time zone; undefined: that of the browser. */
export function setTimeZone(name: string | undefined): void {
  const before = currentTimeZone();
  setZone(name);
  if (currentTimeZone() !== before) {
    tell();
  }
}
