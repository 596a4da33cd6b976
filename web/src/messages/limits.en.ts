/** Texts of the page of limits. */
export const limits = {
  about:
    "A limit that is hit is a clear error, never a silent cut. Those with a setting change when the server starts with another value of it.",
  columns: { limit: "Limit", value: "Value", used: "Used", meaning: "Meaning", setting: "Setting" },
  none: "no limit",
  of: (share: string) => `${share} used`,
  fixed: "fixed",
  filter: "Filter",
  filterHelp: "A part of the name, the meaning or the setting",
  only: "Show",
  choices: { all: "all limits", used: "those with use", settable: "those with a setting" },
  noMatch: "No limit matches.",
  clear: "Clear the filter",
};
