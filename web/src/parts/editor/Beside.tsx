import { useState } from "react";
import type { Graph } from "../../graph/model.ts";
import { DefinitionGraph } from "../workflow/Graph.tsx";

/** The graph of the text beside it. */
export default function Beside({
  graph,
  selected,
  select,
}: {
  graph: Graph;
  selected: string | undefined;
  select: (id: string) => void;
}) {
  const [view, setView] = useState<"picture" | "outline">();
  return (
    <DefinitionGraph
      key={graph.digest}
      graph={graph}
      view={view}
      change={setView}
      selected={selected}
      select={select}
    />
  );
}
