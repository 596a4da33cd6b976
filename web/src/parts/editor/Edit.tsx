import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { baseQuestion } from "../../api/definitions.ts";
import { entryQuestion } from "../../api/detail.ts";
import { useMay } from "../../api/me.ts";
import type { WorkflowDetail } from "../../api/workflows.ts";
import { definitionTexts } from "../../messages/definition.ts";
import { Failure } from "../Notice.tsx";
import { Waiting } from "../Waiting.tsx";
import type { Address, Go } from "../workflow/address.ts";
import Workbench from "./Workbench.tsx";

/** The editor of a workflow that there is. */
export default function Edit({ workflow, address, go }: { workflow: WorkflowDetail; address: Address; go: Go }) {
  const may = useMay();
  const navigate = useNavigate();
  const asked = useQuery({ ...baseQuestion(workflow.id, address.version), enabled: may("workflows:write") });
  const [execution = "", seq = ""] = address.sample?.split(":") ?? [];
  const run = useQuery({ ...entryQuestion(execution, Number(seq)), enabled: address.sample !== undefined });
  if (!may("workflows:write")) {
    return (
      <p className="alert" role="alert">
        {definitionTexts().editor.forbidden}
      </p>
    );
  }
  const failed = [asked, run].find((each) => each.isLoadingError);
  if (failed) {
    return <Failure error={failed.error} retry={() => void failed.refetch()} />;
  }
  if (!asked.data || (address.sample !== undefined && run.data === undefined)) {
    return <Waiting />;
  }
  const own = `${workflow.namespace}/${workflow.name}`;
  return (
    <Workbench
      fresh={asked.data}
      name={own}
      sample={run.data?.input}
      saved={({ name: whole }) => {
        if (whole !== own) {
          const [namespace = "", name = ""] = whole.split("/");
          void navigate({ to: "/workflows/$namespace/$name", params: { namespace, name }, search: {} });
        }
      }}
      done={() => go({ mode: undefined, sample: undefined })}
    />
  );
}
