import { ActionIcon } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { IconX } from "@tabler/icons-react";
import { Fragment, useEffect, useMemo, useState } from "react";
import type { CoveredTask } from "../../api/tests.ts";
import { versionQuestion, workflowGraphQuestion, type WorkflowDetail } from "../../api/workflows.ts";
import { closedAtFirst, indexOf, type Graph as Data, type Node } from "../../graph/model.ts";
import { definitionTexts } from "../../messages/definition.ts";
import { executionTexts } from "../../messages/execution.ts";
import { t } from "../../messages/index.ts";
import { kindOf } from "../execution/states.ts";
import { typing } from "../keys.ts";
import { Failure } from "../Notice.tsx";
import { Waiting } from "../Waiting.tsx";
import type { Address, Go } from "./address.ts";
import { excerpt } from "./excerpt.ts";
import { later } from "../later.tsx";

const GraphView = later(() => import("../execution/GraphView.tsx"));

/** The tasks of a definition and how they follow each other. */
export default function Graph({
  workflow,
  version,
  address,
  go,
}: {
  workflow: WorkflowDetail;
  version: string;
  address: Address;
  go: Go;
}) {
  const asked = useQuery(workflowGraphQuestion(workflow.id, version));
  if (asked.isLoadingError) {
    return <Failure error={asked.error} retry={() => void asked.refetch()} />;
  }
  if (!asked.data) {
    return <Waiting />;
  }
  return (
    <Loaded
      key={asked.data.digest}
      graph={asked.data}
      workflow={workflow}
      version={version}
      address={address}
      go={go}
    />
  );
}

function Loaded({
  graph,
  workflow,
  version,
  address,
  go,
}: {
  graph: Data;
  workflow: WorkflowDetail;
  version: string;
  address: Address;
  go: Go;
}) {
  const index = useMemo(() => indexOf(graph), [graph]);
  const selected = index.nodes.get(address.task ?? "");
  return (
    <div className="timeline-page" data-inspected={selected !== undefined || undefined}>
      <div className="timeline-main">
        <DefinitionGraph
          graph={graph}
          view={address.view}
          change={(view) => go({ view })}
          selected={selected?.id}
          select={(id) => go({ task: id })}
        />
      </div>
      {selected && <Task node={selected} workflow={workflow} version={version} close={() => go({ task: undefined })} />}
    </div>
  );
}

/** The graph of a definition, as a picture or as an outline. Narrow windows show the outline first. */
export function DefinitionGraph({
  graph,
  covered,
  view,
  change,
  selected,
  select,
}: {
  graph: Data;
  /** What tests have run of it, if some have run. */
  covered?: ReadonlyMap<string, CoveredTask> | undefined;
  view: Address["view"];
  change: (view: "picture" | "outline") => void;
  selected: string | undefined;
  select: (id: string) => void;
}) {
  const index = useMemo(() => indexOf(graph), [graph]);
  const [closed, setClosed] = useState<ReadonlySet<string>>(() => closedAtFirst(index));
  const narrow = useMediaQuery("(max-width: 600px)", undefined, { getInitialValueInEffect: false });
  const shown = view ?? (narrow ? "outline" : "picture");
  return (
    <>
      <GraphView
        view={shown}
        change={change}
        index={index}
        rows={undefined}
        covered={covered}
        closed={closed}
        selected={selected}
        select={select}
        fold={(id) =>
          setClosed(new Set(closed.has(id) ? [...closed].filter((other) => other !== id) : [...closed, id]))
        }
      />
      <p className="meta">{shown === "outline" ? executionTexts().timeline.keys : executionTexts().graph.keys}</p>
    </>
  );
}

/** What the definition says of a task. */
function Task({
  node,
  workflow,
  version,
  close,
}: {
  node: Node;
  workflow: WorkflowDetail;
  version: string;
  close: () => void;
}) {
  const texts = definitionTexts().graph;
  const asked = useQuery(versionQuestion(workflow.id, version));
  const text = asked.data?.source === undefined ? undefined : excerpt(asked.data.source, node.line);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key === "Escape" && !typing(event)) {
        close();
      }
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [close]);
  const facts: [string, string | undefined][] = [
    [texts.kind, kindOf(node)],
    [texts.detail, node.detail],
    [texts.condition, node.if],
    [texts.timeout, node.timeout],
    [texts.around, node.extensions?.map((each) => each.name).join(", ")],
    [texts.line, String(node.line)],
  ];
  return (
    <section className="inspector" aria-label={texts.task}>
      <div className="dialog-head">
        <h2>{node.name}</h2>
        <ActionIcon aria-label={t().close} onClick={close}>
          <IconX aria-hidden size={16} />
        </ActionIcon>
      </div>
      <dl className="facts">
        {facts
          .filter(([, value]) => value !== undefined && value !== "")
          .map(([name, value]) => (
            <Fragment key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </Fragment>
          ))}
        {node.workflow && <Child workflow={node.workflow} />}
      </dl>
      {asked.error && <Failure error={asked.error} retry={() => void asked.refetch()} />}
      {text !== undefined && (
        <pre className="json" aria-label={texts.excerpt(node.name)}>
          {text}
        </pre>
      )}
    </section>
  );
}

function Child({ workflow }: { workflow: NonNullable<Node["workflow"]> }) {
  const { namespace, name } = workflow;
  return (
    <>
      <dt>{definitionTexts().graph.child}</dt>
      <dd>
        <Link to="/workflows/$namespace/$name" params={{ namespace, name }} search={{}}>
          {namespace}/{name}
        </Link>
      </dd>
    </>
  );
}
