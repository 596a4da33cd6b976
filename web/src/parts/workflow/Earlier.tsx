import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { earlierQuestion, type WorkflowDetail } from "../../api/workflows.ts";
import { formTexts } from "../../messages/workflows.ts";
import { Failure } from "../Notice.tsx";
import { StateMark } from "../StateMark.tsx";
import { stateOf } from "../state.ts";
import { When } from "../Time.tsx";
import { Waiting } from "../Waiting.tsx";

/** As much of an input as a line shows. */
const most = 120;

/** Inputs of executions that have begun, the newest first, each once. */
export default function Earlier({ workflow, use }: { workflow: WorkflowDetail; use: (input: unknown) => void }) {
  const texts = formTexts().earlier;
  const asked = useQuery(earlierQuestion(workflow.id));
  if (asked.error) {
    return <Failure error={asked.error} retry={() => void asked.refetch()} />;
  }
  if (!asked.data) {
    return <Waiting />;
  }
  const inputs = new Map(asked.data.data.toReversed().map((row) => [JSON.stringify(row.input ?? {}), row]));
  if (inputs.size === 0) {
    return <p className="meta">{texts.none}</p>;
  }
  return (
    <ul className="plain earlier" aria-label={texts.title}>
      {[...inputs].toReversed().map(([text, row]) => (
        <li key={row.id}>
          <Button
            variant="default"
            size="compact-sm"
            maw="100%"
            title={text.slice(0, 2000)}
            onClick={() => use(row.input ?? {})}
          >
            {text.length > most ? `${text.slice(0, most)}…` : text}
          </Button>{" "}
          <span className="meta">
            <StateMark state={stateOf(row)} /> <When at={row.created_at} />
          </span>
        </li>
      ))}
    </ul>
  );
}
