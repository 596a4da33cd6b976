import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { readable } from "../../api/definitions.ts";
import type { Execution } from "../../api/executions.ts";
import { revisionQuestion } from "../../api/workflows.ts";
import { executionTexts } from "../../messages/execution.ts";
import { workflowTexts } from "../../messages/workflows.ts";
import { Copy } from "../Copy.tsx";
import { Dialog } from "../Dialog.tsx";
import { Failure } from "../Notice.tsx";
import { save } from "../save.ts";
import { Waiting } from "../Waiting.tsx";

/**
 * The definition that the execution runs, to the revision. The page of the workflow may have another by now, or be that
 * of another workflow of the name.
 */
export default function Definition({ execution, close }: { execution: Execution; close: () => void }) {
  const texts = executionTexts().more;
  const asked = useQuery(revisionQuestion(execution));
  const { workflow, workflow_version: version, revision } = execution;
  return (
    <Dialog title={texts.definitionOf(workflow)} close={close} size="xl">
      <p className="meta">{texts.revision(version, revision)}</p>
      {asked.error && <Failure error={asked.error} retry={() => void asked.refetch()} />}
      {asked.isLoading && <Waiting />}
      {asked.data && <Text of={asked.data} file={`${workflow.replace("/", "-")}-${version}`} />}
    </Dialog>
  );
}

function Text({ of, file }: { of: Parameters<typeof readable>[0] & { source_type?: string }; file: string }) {
  const texts = workflowTexts();
  const { source, source_type: type } = of;
  const text = readable(of);
  const json = source === undefined || (type ?? "").includes("json");
  return (
    <>
      <div className="row definition-head">
        <span className="id">
          <code>{texts.lines(text.trimEnd().split("\n").length)}</code>
          <Copy text={text} what={texts.tabs.definition} />
        </span>
        <Button
          variant="default"
          size="compact-sm"
          onClick={() => save(new Blob([source ?? text], { type: "text/plain" }), `${file}.${json ? "json" : "yaml"}`)}
        >
          {texts.download}
        </Button>
      </div>
      {/* Many lines scroll in their box, which the keyboard reaches. */}
      <pre
        className="task-lines whole"
        role="region"
        aria-label={texts.tabs.definition}
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
      >
        {text}
      </pre>
    </>
  );
}
