import type { FieldProblem } from "../../api/problem.ts";
import type { FormField } from "../../api/workflows.ts";
import { formTexts } from "../../messages/workflows.ts";
import type { Wrong } from "./read.ts";

/** The form of a whole value, from its outline. */
export function formOf(outline: readonly FormField[] | null | undefined): FormField {
  const [first, ...others] = outline ?? [];
  const whole = { pointer: "", title: "", required: true };
  if (first && first.pointer === "" && others.length === 0) {
    return { ...first, required: true };
  }
  return outline ? { ...whole, kind: "object", fields: [...outline] } : { ...whole, kind: "json" };
}

const covers = (pointer: string, below: boolean) => (other: { pointer?: string }) =>
  other.pointer === pointer || (below && other.pointer?.startsWith(`${pointer}/`) === true);

/** What is wrong at a pointer, before the server is asked. */
export function sayWrong(wrong: readonly Wrong[], pointer: string, below: boolean): string | undefined {
  const found = wrong.find(covers(pointer, below));
  return found && formTexts().wrong[found.what];
}

/** What the server says of a part of the request. */
export function sayAt(problems: readonly FieldProblem[], pointer: string, below: boolean): string | undefined {
  const found = problems.filter(covers(pointer, below)).map((problem) => problem.detail);
  return found.length > 0 ? found.join(" ") : undefined;
}

/** The fields of a form that are wrong, in their order. A group of fields takes no focus itself. */
export function wrongFields(form: HTMLElement | null): HTMLElement[] {
  const marked = [...(form?.querySelectorAll<HTMLElement>("[aria-invalid]") ?? [])];
  return marked.map((each) =>
    each.matches("fieldset") ? (each.querySelector<HTMLElement>("input, select, textarea, button") ?? each) : each,
  );
}
