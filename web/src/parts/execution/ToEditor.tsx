import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Execution } from "../../api/executions.ts";
import { useMay } from "../../api/me.ts";

/**
 * Leads to the editor of the workflow, in what an author continues with: to a task, or with the input of a run (the
 * execution and its number) to try expressions with. A person who may not write workflows sees nothing.
 */
export function ToEditor({
  execution,
  children,
  ...at
}: {
  execution: Execution;
  task?: string;
  sample?: string;
  children: ReactNode;
}) {
  const may = useMay();
  const [namespace, name] = execution.workflow.split("/");
  if (!may("workflows:write") || namespace === undefined || name === undefined) {
    return null;
  }
  return (
    <Link
      to="/workflows/$namespace/$name"
      params={{ namespace, name }}
      search={{ mode: "edit", ...at }}
      preload={false}
    >
      {children}
    </Link>
  );
}
