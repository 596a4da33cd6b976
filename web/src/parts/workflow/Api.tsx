import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import type { WorkflowDetail } from "../../api/workflows.ts";
import { t } from "../../messages/index.ts";
import { workflowTexts } from "../../messages/workflows.ts";
import { read } from "../form/read.ts";
import { formOf } from "../form/whole.ts";
import { Snippet } from "../Snippet.tsx";
import { entered } from "./entered.ts";
import { batchSnippets, workflowSnippets } from "./snippets.ts";

/** How programs start the workflow, with the input that is in the form. */
export function Api({ workflow }: { workflow: WorkflowDetail }) {
  const texts = workflowTexts().api;
  const input = useMemo(() => inputOf(workflow), [workflow]);
  return (
    <div className="schema-form">
      <p className="lead">
        {texts.about} <Link to="/account/api-keys">{t().nav.apiKeys}</Link>
      </p>
      <Programs title={texts.one} snippets={workflowSnippets(location.origin, workflow, input)} />
      <Programs
        title={texts.batch}
        about={texts.aboutBatch}
        snippets={batchSnippets(location.origin, workflow, input)}
      />
    </div>
  );
}

function Programs({
  title,
  about,
  snippets,
}: {
  title: string;
  about?: string;
  snippets: { name: string; text: string }[];
}) {
  return (
    <section className="form">
      <h2>{title}</h2>
      {about && <p className="meta">{about}</p>}
      {snippets.map(({ name, text }) => (
        <section key={name}>
          <h3>{name}</h3>
          <Snippet name={`${name}: ${title}`} text={text} />
        </section>
      ))}
    </section>
  );
}

function inputOf(workflow: WorkflowDetail): unknown {
  const form = formOf(workflow.outline);
  const { draft, json } = entered(workflow, form);
  try {
    return json === undefined ? (read(form, draft).value ?? {}) : (JSON.parse(json) as unknown);
  } catch {
    return {};
  }
}
