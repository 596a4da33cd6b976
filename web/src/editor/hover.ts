import { syntaxTree } from "@codemirror/language";
import type { EditorView, Tooltip } from "@codemirror/view";
import type { Tree } from "@lezer/common";
import { languageQuestion } from "../api/definitions.ts";
import { queries } from "../api/query.ts";
import { aboutAt, fieldsAt, type Variables } from "./complete.ts";
import { pathAt } from "./path.ts";
import { addressOf, pageAbout } from "./reference.ts";
import type { Schema } from "./schema.ts";

/** What a key or a variable at a position stands for, in a box, with a link to the page about it. */
export async function describe(
  { variables, more }: { variables: Variables; more: (page: string) => string },
  view: EditorView,
  position: number,
): Promise<Tooltip | null> {
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
    const text = document.createElement("p");
    text.textContent = about.text;
    const link = document.createElement("a");
    link.href = addressOf(about.page);
    link.target = "_blank";
    link.rel = "noopener";
    link.textContent = more(about.page);
    dom.append(text, link);
    return { dom };
  };
  return { pos: about.from, end: about.to, create };
}

/** Opens the page about the place of the cursor in another tab. */
export function openPage({ tree, text, cursor }: { tree: Tree; text: string; cursor: number }): void {
  const path = pathAt(tree, text, cursor);
  open(addressOf(pageAbout(path, fieldsAt(tree, text, path))), "_blank", "noopener");
}
