import { useNavigate } from "@tanstack/react-router";
import { useEffect, useEffectEvent } from "react";
import { keysAreOn, typing } from "../parts/keys.ts";
import { allSections } from "./sections.ts";

/** After g, another key leads to a section, if it comes soon. */
const soon = 1500;

/** Keys that work on every page. */
export function useKeys(actions: { palette: () => void; help: () => void }): void {
  const navigate = useNavigate();
  const act = useEffectEvent((name: keyof typeof actions) => actions[name]());
  useEffect(() => {
    let went = -Infinity;
    const press = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
        event.preventDefault();
        act("palette");
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || typing(event) || !keysAreOn()) {
        return;
      }
      const section = allSections.find((s) => s.key === event.key);
      if (event.timeStamp - went < soon && section) {
        event.preventDefault();
        void navigate({ to: section.to, search: {} });
      } else if (event.key === "?") {
        event.preventDefault();
        act("help");
      } else if (event.key === "/") {
        const field = document.querySelector<HTMLElement>("[data-search]");
        if (field) {
          event.preventDefault();
          field.focus();
        }
      }
      went = event.key === "g" ? event.timeStamp : -Infinity;
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [navigate]);
}
