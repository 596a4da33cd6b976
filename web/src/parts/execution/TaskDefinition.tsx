import { useQuery } from "@tanstack/react-query";
import { graphQuestion } from "../../api/detail.ts";
import type { Execution } from "../../api/executions.ts";
import { revisionQuestion } from "../../api/workflows.ts";
import { definitionTexts } from "../../messages/definition.ts";
import { executionTexts } from "../../messages/execution.ts";
import { Failure } from "../Notice.tsx";
import { Waiting } from "../Waiting.tsx";
import { excerpt, valueAt } from "../workflow/excerpt.ts";
import type { TaskRow } from "./model.ts";
import { ToEditor } from "./ToEditor.tsx";

/** What the definition says of a task, in the revision that the execution runs. */
export default function TaskDefinition({ execution, task }: { execution: Execution; task: TaskRow }) {
  const texts = executionTexts();
  const graph = useQuery(graphQuestion(execution.id));
  const revision = useQuery(revisionQuestion(execution));
  const failed = [graph, revision].find((asked) => asked.error);
  if (failed) {
    return <Failure error={failed.error} retry={() => void failed.refetch()} />;
  }
  if (!graph.data || !revision.data) {
    return <Waiting />;
  }
  const { source, definition } = revision.data;
  const line = graph.data.nodes.find((node) => node.id === task.reference)?.line;
  const lines = line === undefined || source === undefined ? undefined : excerpt(source, line);
  // What programs send in one line has no lines of its own.
  const value = lines === undefined ? valueAt(definition, task.reference) : undefined;
  const text = lines ?? (value === undefined ? undefined : JSON.stringify({ [task.name]: value }, null, 2));
  if (text === undefined) {
    return <p className="meta">{texts.inspector.noDefinition}</p>;
  }
  return (
    <>
      <p className="row meta">
        {lines !== undefined && line !== undefined && texts.place(line)}
        <ToEditor execution={execution} task={task.reference}>
          {texts.inspector.edit}
        </ToEditor>
      </p>
      {/* Many lines scroll in their box, which the keyboard reaches. */}
      <pre
        className="task-lines"
        role="region"
        aria-label={definitionTexts().graph.excerpt(task.name)}
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
      >
        {text}
      </pre>
    </>
  );
}
