import { useSearch } from "@tanstack/react-router";
import { useEffect, useEffectEvent, useState } from "react";
import type { CoveredTask } from "../../api/tests.ts";
import type { Graph } from "../../graph/model.ts";
import { DefinitionGraph } from "../workflow/Graph.tsx";

/** The graph of the text beside it. */
export default function Beside({
  graph,
  covered,
  at,
  select,
}: {
  graph: Graph;
  covered: ReadonlyMap<string, CoveredTask> | undefined;
  /** The place of the cursor in the definition, as a pointer. */
  at: string;
  select: (id: string) => void;
}) {
  const [view, setView] = useState<"picture" | "outline">();
  const { task } = useSearch({ strict: false });
  // The address may name a task, which is shown unless the author has gone anywhere by now.
  const arrive = useEffectEvent(() => {
    if (task !== undefined && at === "") {
      select(task);
    }
  });
  useEffect(() => arrive(), []);
  return (
    <DefinitionGraph
      key={graph.digest}
      graph={graph}
      covered={covered}
      view={view}
      change={setView}
      selected={nodeAt(graph.nodes, at)}
      select={select}
    />
  );
}

/** The innermost task that a pointer into the definition belongs to. */
function nodeAt(nodes: Graph["nodes"], pointer: string): string | undefined {
  let found: string | undefined;
  for (const { id } of nodes) {
    if ((pointer === id || pointer.startsWith(`${id}/`)) && id.length > (found?.length ?? 0)) {
      found = id;
    }
  }
  return found;
}
