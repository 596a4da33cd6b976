import { TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { deleteWorkflow, type WorkflowDetail } from "../../api/workflows.ts";
import { workflowTexts } from "../../messages/workflows.ts";
import { Ask } from "../Ask.tsx";
import { setDeleted } from "./handed.ts";

/** Says what goes and what stays when a workflow is deleted. The person types its name. */
export default function Delete({ workflow, close }: { workflow: WorkflowDetail; close: () => void }) {
  const texts = workflowTexts();
  const navigate = useNavigate();
  const field = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState("");
  const [wrong, setWrong] = useState(false);
  const name = `${workflow.namespace}/${workflow.name}`;
  return (
    <Ask
      danger
      title={texts.deleteTitle(name)}
      button={texts.delete}
      close={close}
      act={async () => {
        if (typed.trim() !== name) {
          setWrong(true);
          field.current?.focus();
          return;
        }
        await deleteWorkflow(workflow, async () => {
          setDeleted(name);
          await navigate({ to: "/workflows", search: {} });
        });
      }}
    >
      <p>{texts.deleteHelp}</p>
      <p>{texts.deleteStays(workflow.id)}</p>
      <p>{texts.deleteAgain}</p>
      <TextInput
        ref={field}
        data-autofocus
        label={texts.typeName(name)}
        autoComplete="off"
        spellCheck={false}
        value={typed}
        error={wrong && texts.wrongName(name)}
        onChange={(event) => {
          setTyped(event.currentTarget.value);
          setWrong(false);
        }}
      />
    </Ask>
  );
}
