import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { readable } from "../../api/definitions.ts";
import { versionQuestion, type WorkflowDetail } from "../../api/workflows.ts";
import { useMay } from "../../api/me.ts";
import { definitionTexts } from "../../messages/definition.ts";
import { workflowTexts } from "../../messages/workflows.ts";
import { Copy } from "../Copy.tsx";
import { Failure } from "../Notice.tsx";
import { Waiting } from "../Waiting.tsx";
import { save } from "../save.ts";

/** The text of a version of a workflow, with the numbers of its lines. */
export function Definition({ workflow, version }: { workflow: WorkflowDetail; version: string }) {
  const texts = workflowTexts();
  const may = useMay();
  const asked = useQuery(versionQuestion(workflow.id, version));
  if (asked.isLoadingError) {
    return <Failure error={asked.error} retry={() => void asked.refetch()} />;
  }
  if (!asked.data) {
    return <Waiting />;
  }
  const { source, source_type: type } = asked.data;
  const text = readable(asked.data);
  const json = source === undefined || (type ?? "").includes("json");
  const { namespace, name } = workflow;
  return (
    <>
      {version !== workflow.version && (
        <p className="lead">
          {texts.older(version)}{" "}
          <Link to="/workflows/$namespace/$name" params={{ namespace, name }} search={{}}>
            {texts.toCurrent(workflow.version)}
          </Link>
        </p>
      )}
      <div className="row definition-head">
        <span className="id">
          <code>{texts.lines(text.trimEnd().split("\n").length)}</code>
          <Copy text={text} what={texts.tabs.definition} />
        </span>
        {may("workflows:write") && (
          <Link
            className="as-button"
            to="/workflows/$namespace/$name"
            params={{ namespace, name }}
            search={{ mode: "edit", ...(version !== workflow.version && { version }) }}
          >
            {definitionTexts().editor.edit}
          </Link>
        )}
        <Button
          variant="default"
          size="compact-sm"
          onClick={() => download(source ?? text, `${namespace}-${name}-${version}.${json ? "json" : "yaml"}`)}
        >
          {texts.download}
        </Button>
      </div>
      <pre className="lines">
        {text
          .trimEnd()
          .split("\n")
          .map((line, i) => (
            <code key={i}>{`${line}\n`}</code>
          ))}
      </pre>
    </>
  );
}

const download = (text: string, name: string): void => save(new Blob([text], { type: "text/plain" }), name);
