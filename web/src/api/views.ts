import { useQuery } from "@tanstack/react-query";
import { putSettings, settingsQuestion, type Settings } from "./settings.ts";

/** An address of the UI that a person has given a name. */
export interface View {
  name: string;
  /** Path and query, without the environment. */
  address: string;
}

/** What the lists keep in the settings of the person. The server does not read it, so that it is checked here. */
interface ListSettings {
  views: View[];
  executionColumns: string[];
}

const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];

function isView(value: unknown): value is View {
  const { name, address } = (value ?? {}) as Partial<View>;
  return typeof name === "string" && typeof address === "string" && address.startsWith("/");
}

/** The views that the person has named, and the columns that she has chosen (none: as usual). */
export function useListSettings(): ListSettings {
  const kept = useQuery(settingsQuestion()).data ?? {};
  const { views } = kept;
  return {
    views: Array.isArray(views) ? views.filter(isView) : [],
    executionColumns: texts(kept["executionColumns"]),
  };
}

export const putListSettings = (change: Partial<ListSettings>): Promise<void> => putSettings(change as Settings);
