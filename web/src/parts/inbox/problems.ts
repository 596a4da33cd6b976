import { Problem, type FieldProblem } from "../../api/problem.ts";
import { tasksTexts } from "../../messages/tasks.ts";
import type { FormField } from "../../api/workflows.ts";
import { lastToken } from "../form/value.ts";

/** Something that is wrong with an answer, and the pointer of its field in the form of the page. */
export interface Fault {
  pointer: string;
  where: string;
  detail: string;
}

/** What the server says of an answer, by the fields of the page. In its pointers the form is below data. */
export function faultsOf(error: unknown, form: FormField | undefined): Fault[] {
  const fields = error instanceof Problem && error.status === 422 ? error.fields : [];
  return fields.map((field) => ({ ...placeOf(field, form), detail: field.detail }));
}

function placeOf({ pointer = "" }: FieldProblem, form: FormField | undefined): { pointer: string; where: string } {
  const { where } = tasksTexts();
  if (pointer.startsWith("/data")) {
    const inner = pointer.slice("/data".length);
    return { pointer: inner, where: nameOf(form, inner) ?? where.form };
  }
  const [, first = ""] = pointer.split("/");
  const known = first === "outcome" || first === "comment" || first === "files" ? where[first] : pointer;
  return { pointer: `#/${first}`, where: known };
}

/** The title of the field at a pointer, or of the innermost one around it. */
export function nameOf(form: FormField | undefined, pointer: string): string | undefined {
  const inside = form?.fields?.find((f) => pointer === f.pointer || pointer.startsWith(`${f.pointer}/`));
  if (inside) {
    return nameOf(inside, pointer);
  }
  return form !== undefined && form.title !== "" ? form.title : pointer === "" ? undefined : lastToken(pointer);
}
