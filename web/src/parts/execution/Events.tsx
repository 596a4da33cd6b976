import { NativeSelect } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import type { Execution } from "../../api/executions.ts";
import { executionTexts } from "../../messages/execution.ts";
import { formatExact, formatNumber } from "../../messages/format.ts";
import { t } from "../../messages/index.ts";
import { rowHeight } from "../density.ts";
import { Empty } from "../Notice.tsx";
import { stateOf } from "../state.ts";
import { StateMark } from "../StateMark.tsx";
import { When } from "../Time.tsx";
import { factTypes, type Address, type FactType, type Go } from "./address.ts";
import { mostFacts, type Fact } from "./live.ts";
import { stateOfTask } from "./model.ts";

function fits(fact: Fact, type: FactType | undefined): boolean {
  if (type === undefined || !("task" in fact)) {
    return true;
  }
  const { phase } = fact.task;
  const begins = phase === "running" || phase === "pending";
  return type === "failed" ? phase === "faulted" : begins === (type === "started");
}

/** What has happened, in its order: the starts and the ends of tasks, by their numbers. */
export default function Events({
  execution,
  facts,
  address,
  go,
}: {
  execution: Execution;
  facts: readonly Fact[];
  address: Address;
  go: Go;
}) {
  const texts = executionTexts().events;
  const shown = facts.filter((fact) => fits(fact, address.type));
  return (
    <>
      <div className="filters">
        <NativeSelect
          label={texts.type}
          value={address.type ?? ""}
          onChange={(event) => go({ type: factTypes.find((type) => type === event.currentTarget.value) })}
          data={[
            { value: "", label: texts.all },
            ...factTypes.map((type) => ({ value: type, label: texts.types[type] })),
          ]}
        />
      </div>
      <p className="meta">
        {texts.accepted} <When at={execution.created_at} />, {t().causes[execution.cause.kind]}
        {execution.started_at !== undefined && (
          <>
            {" · "}
            {texts.began} <When at={execution.started_at} />
          </>
        )}
      </p>
      {facts.length >= mostFacts && <p className="complaint">{texts.cut(mostFacts)}</p>}
      {shown.length === 0 ? <Empty text={texts.none} /> : <Facts facts={shown} execution={execution} />}
      {execution.finished_at !== undefined && (
        <p className="meta row">
          {texts.ended} <When at={execution.finished_at} /> <StateMark state={stateOf(execution)} />
        </p>
      )}
    </>
  );
}

function Facts({ facts, execution }: { facts: readonly Fact[]; execution: Execution }) {
  const pane = useRef<HTMLDivElement>(null);
  const texts = executionTexts().events;
  // oxlint-disable-next-line react/incompatible-library
  const virtual = useVirtualizer({
    count: facts.length,
    getScrollElement: () => pane.current,
    estimateSize: rowHeight,
    overscan: 8,
  });
  return (
    // It scrolls, so that keys must reach it.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div ref={pane} className="facts-pane" role="list" aria-label={texts.name} tabIndex={0}>
      <div role="presentation" style={{ height: virtual.getTotalSize(), position: "relative" }}>
        {virtual.getVirtualItems().map(({ index, start }) => {
          const fact = facts[index];
          return (
            fact && (
              <div
                key={"task" in fact ? fact.task.seq : fact.gap.from}
                role="listitem"
                aria-posinset={index + 1}
                aria-setsize={facts.length}
                className="fact"
                style={{ transform: `translateY(${start}px)` }}
              >
                {"task" in fact ? (
                  <Task fact={fact.task} id={execution.id} />
                ) : (
                  <span className="meta">{texts.gap(fact.gap.from, fact.gap.to)}</span>
                )}
              </div>
            )
          );
        })}
      </div>
    </div>
  );
}

function Task({ fact, id }: { fact: Extract<Fact, { task: unknown }>["task"]; id: string }) {
  const texts = executionTexts().events;
  const what = [
    texts.phases[fact.phase],
    ...(fact.iterations.length > 0 ? [texts.pass(fact.iterations.map((n) => formatNumber(n + 1)).join("."))] : []),
    ...(fact.attempt > 1 ? [texts.attempt(fact.attempt)] : []),
    fact.error?.detail ?? fact.error?.title,
  ].filter(Boolean);
  return (
    <>
      <span className="number meta">{formatNumber(fact.seq)}</span>
      <time dateTime={fact.at} className="meta" title={formatExact(new Date(fact.at))}>
        {texts.clock(new Date(fact.at))}
      </time>
      <StateMark state={stateOfTask(fact)} />
      <span className="fact-text" title={what.join(" · ")}>
        <Link
          to="/executions/$id"
          params={{ id }}
          search={{ task: fact.reference, seq: String(fact.task_seq) }}
          preload={false}
        >
          {fact.name}
        </Link>{" "}
        {what.join(" · ")}
      </span>
    </>
  );
}
