import { Link } from "@tanstack/react-router";
import { useMay } from "../api/me.ts";

/** The name of a workflow (namespace/name), which leads to it if the person may read workflows. */
export function WorkflowLink({ name }: { name: string }) {
  const may = useMay();
  const [namespace = "", own = ""] = name.split("/");
  return may("workflows:read") ? (
    <Link to="/workflows/$namespace/$name" params={{ namespace, name: own }}>
      {name}
    </Link>
  ) : (
    name
  );
}
