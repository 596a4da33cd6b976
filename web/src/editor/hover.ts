import { syntaxTree } from "@codemirror/language";
import type { EditorView, Tooltip } from "@codemirror/view";
import { languageQuestion } from "../api/definitions.ts";
import { queries } from "../api/query.ts";
import { aboutAt, type Variables } from "./complete.ts";
import type { Schema } from "./schema.ts";

/** What a key or a variable at a position stands for, in a box. */
export async function describe(variables: Variables, view: EditorView, position: number): Promise<Tooltip | null> {
  const { state } = view;
  const language = await queries.ensureQueryData(languageQuestion()).catch(() => undefined);
  const about =
    language === undefined
      ? undefined
      : aboutAt(language as Schema, variables, syntaxTree(state), state.doc.toString(), position);
  if (about === undefined) {
    return null;
  }
  const create = () => {
    const dom = document.createElement("div");
    dom.className = "cm-completionInfo cm-about";
    dom.textContent = about.text;
    return { dom };
  };
  return { pos: about.from, end: about.to, create };
}
