import { useSyncExternalStore } from "react";
import { meQuestion, type Me } from "../api/me.ts";
import { queries } from "../api/query.ts";
import { patchMe, putSettings, settingsQuestion, type Settings } from "../api/settings.ts";
import { languages, pageLanguage, setLanguage, setTimeZone, type Language } from "../messages/index.ts";
import { setDensity } from "./density.ts";
import { put } from "./kept.ts";
import { switchKeys } from "./keys.ts";
import { setScheme } from "./scheme.ts";

export const themes = ["auto", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

const person = "chargehand-person";

/** Whose page this is. What others have typed in this window is gone then. */
function belongsTo(me: Me): void {
  const before = sessionStorage.getItem(person);
  if (before !== null && before !== me.user.id) {
    sessionStorage.clear();
  }
  put(person, me.user.id);
}

/** The language of the UI for the language of a person, which may name a country too. */
export const languageOf = (locale: string | undefined): Language | undefined =>
  languages.find((known) => locale?.split("-")[0]?.toLowerCase() === known);

/** Shows the page as the person has set it; the browser keeps that for the next time. */
export function show(settings: Settings): void {
  setScheme(settings.theme ?? "auto");
  switchKeys(settings.keys !== "off");
  setDensity(settings.rows ?? "dense");
  setTimeZone(settings.timeZone);
}

/** Takes over what the server knows of the person. */
export async function follow(me: Me): Promise<void> {
  belongsTo(me);
  await setLanguage(languageOf(me.user.locale) ?? pageLanguage(), true);
}

/** What became of the last setting. */
type Outcome = { saved: true } | { saved: false; error: unknown; again: () => void };

let outcome: Outcome | undefined;
const listeners = new Set<() => void>();

function tell(next: Outcome | undefined): void {
  outcome = next;
  listeners.forEach((listener) => listener());
}

export const useSaved = (): Outcome | undefined =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => outcome,
  );

let saves = 0;
const failed = new Map<string, { act: () => Promise<void>; error: unknown }>();

/** Saves what has a name. That it failed is said until it, or another value of it, is saved. */
async function save(name: string, act: () => Promise<void>): Promise<void> {
  saves++;
  const number = saves;
  tell(undefined);
  try {
    await act();
    failed.delete(name);
  } catch (error) {
    failed.set(name, { act, error });
  }
  const [first] = failed.values();
  if (number !== saves) {
    return; // the last one says it of all
  }
  const again = () => failed.forEach((each, of) => void save(of, each.act));
  tell(first ? { saved: false, error: first.error, again } : { saved: true });
}

/** Changes settings, here at once and on the server. */
export async function change(settings: Settings): Promise<void> {
  const { queryKey } = settingsQuestion();
  const next = { ...queries.getQueryData<Settings>(queryKey), ...settings };
  queries.setQueryData(queryKey, next);
  show(next);
  await save(Object.keys(settings).join(), () => putSettings(settings));
}

/** Changes the language, here at once and on the server; null: that of the browser. */
export async function changeLanguage(language: Language | null): Promise<void> {
  const { queryKey } = meQuestion();
  queries.setQueryData<Me>(queryKey, (me) => {
    if (me === undefined) {
      return me;
    }
    const { locale: _, ...user } = me.user;
    return { ...me, user: language === null ? user : { ...user, locale: language } };
  });
  await setLanguage(language ?? pageLanguage(), true);
  await save("locale", () => patchMe({ locale: language }));
}
