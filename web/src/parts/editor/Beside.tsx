import { useState } from "react";
import type { CoveredTask } from "../../api/tests.ts";
import type { Graph } from "../../graph/model.ts";
import { DefinitionGraph } from "../workflow/Graph.tsx";

/** The graph of the text beside it. */
export default function Beside({
  graph,
  covered,
  selected,
  select,
}: {
  graph: Graph;
  covered: ReadonlyMap<string, CoveredTask> | undefined;
  selected: string | undefined;
  select: (id: string) => void;
}) {
  const [view, setView] = useState<"picture" | "outline">();
  return (
    <DefinitionGraph
      key={graph.digest}
      graph={graph}
      covered={covered}
      view={view}
      change={setView}
      selected={selected}
      select={select}
    />
  );
}
