import { environment } from "../../api/environment.ts";
import type { FormField, WorkflowDetail } from "../../api/workflows.ts";
import { keep as put } from "../kept.ts";
import { startOf, type Draft } from "../form/draft.ts";
import type { More } from "./More.tsx";

/** What is typed into the form of a workflow. */
export interface Entered {
  draft: Draft;
  /** The input as JSON, where the person writes it as that. */
  json?: string | undefined;
  /** Labels, a later start, another version. */
  more?: More;
}

const place = (workflow: WorkflowDetail) => `chargehand-input:${environment()}:${workflow.id}`;

/** What was typed before in this window, if it was for the same form. */
export function entered(workflow: WorkflowDetail, form: FormField): Entered {
  const kept = sessionStorage.getItem(place(workflow));
  if (kept !== null) {
    const { form: of, ...rest } = JSON.parse(kept) as Entered & { form: string };
    if (of === JSON.stringify(form)) {
      return rest;
    }
  }
  return { draft: startOf(form) };
}

/** Keeps what is typed until the execution has started, also when the page is loaded again. */
export function keep(workflow: WorkflowDetail, form: FormField, typed: Entered | undefined): void {
  if (typed === undefined) {
    sessionStorage.removeItem(place(workflow));
  } else {
    put(place(workflow), { ...typed, form: JSON.stringify(form) });
  }
}
