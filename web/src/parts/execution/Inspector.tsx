import { ActionIcon, Button } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, Suspense, useEffect, useState } from "react";
import { entryQuestion, type Entry } from "../../api/detail.ts";
import type { Execution } from "../../api/executions.ts";
import { useMay } from "../../api/me.ts";
import { t } from "../../messages/index.ts";
import { executionTexts } from "../../messages/execution.ts";
import { Action } from "../Action.tsx";
import { shortId } from "../Copy.tsx";
import { JsonTree } from "../JsonTree.tsx";
import { keep, readKept } from "../kept.ts";
import { typing } from "../keys.ts";
import { Failure } from "../Notice.tsx";
import { isFinal, stateOf } from "../state.ts";
import { StateMark } from "../StateMark.tsx";
import { Took, When } from "../Time.tsx";
import { Waiting } from "../Waiting.tsx";
import type { Part as TriedPart } from "./attempts.ts";
import { RunFiles } from "./Files.tsx";
import { LogView } from "./LogView.tsx";
import { countRuns, stateOfRun, topTask, type TaskRow } from "./model.ts";
import { ToEditor } from "./ToEditor.tsx";
import { later } from "../later.tsx";

const TaskDefinition = later(() => import("./TaskDefinition.tsx"));
const Retry = later(() => import("./Retry.tsx"));

const mostRuns = 20;

/** A run of a task: why it failed, what went in and came out, and its log. */
export function Inspector({
  execution,
  task,
  runs,
  attempts,
  seq,
  choose,
  close,
}: {
  execution: Execution;
  task: TaskRow;
  /** Runs of it that the timeline draws. */
  runs: readonly Entry[];
  /** Parts of runs, by their seq. */
  attempts?: ReadonlyMap<number, readonly TriedPart[]>;
  seq: number | undefined;
  choose: (seq: number) => void;
  close: () => void;
}) {
  const texts = executionTexts().inspector;
  const shown = seq ?? (runs.findLast((run) => run.phase === "faulted") ?? runs.at(-1))?.seq;
  const newest = runs.slice(-mostRuns);
  // Of a task that has run very often there are only the newest runs; of one in a loop those of a pass.
  const before = task.loop ? 0 : Math.max(0, countRuns(task) - runs.length);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key === "Escape" && !typing(event)) {
        close();
      }
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [close]);
  return (
    <section className="inspector" aria-label={texts.label}>
      <div className="dialog-head">
        <h2>{task.name}</h2>
        <ActionIcon aria-label={t().close} onClick={close}>
          <IconX aria-hidden size={16} />
        </ActionIcon>
      </div>
      {newest.length > 1 && (
        <div className="row" role="group" aria-label={texts.runs}>
          {newest.map((run) => (
            <Button
              key={run.seq}
              size="compact-xs"
              variant={run.seq === shown ? "filled" : "default"}
              aria-pressed={run.seq === shown}
              onClick={() => choose(run.seq)}
            >
              {run.attempt > 1 || task.attempts > 1
                ? texts.attempt(run.attempt)
                : texts.run(before + runs.indexOf(run) + 1)}
            </Button>
          ))}
        </div>
      )}
      <FromHere execution={execution} task={task} />
      <Definition execution={execution} task={task} />
      {shown === undefined ? (
        <Waiting />
      ) : (
        <Run key={shown} execution={execution} seq={shown} attempts={attempts?.get(shown) ?? []} />
      )}
    </section>
  );
}

function FromHere({ execution, task }: { execution: Execution; task: TaskRow }) {
  const may = useMay();
  const [asking, setAsking] = useState(false);
  const from = topTask(task.reference);
  if (!from || !isFinal(stateOf(execution)) || !may("executions:manage")) {
    return null;
  }
  return (
    <div>
      <Action variant="default" onClick={() => setAsking(true)}>
        {executionTexts().inspector.retryFrom(from.name)}
      </Action>
      <Suspense>{asking && <Retry execution={execution} from={from} close={() => setAsking(false)} />}</Suspense>
    </div>
  );
}

/** Where it is kept that definitions of tasks are shown: who goes from task to task sees each. */
const definitionsOpen = "chargehand-task-definition";

function Definition({ execution, task }: { execution: Execution; task: TaskRow }) {
  const may = useMay();
  const [opened, setOpened] = useState(() => readKept(definitionsOpen) === true);
  if (!may("workflows:read")) {
    return null;
  }
  return (
    <details
      className="task-definition"
      open={opened}
      onToggle={(event) => {
        const { open } = event.currentTarget;
        setOpened(open);
        keep(definitionsOpen, open);
      }}
    >
      <summary>{executionTexts().inspector.definition}</summary>
      <Suspense fallback={<Waiting />}>{opened && <TaskDefinition execution={execution} task={task} />}</Suspense>
    </details>
  );
}

function Run({ execution, seq, attempts }: { execution: Execution; seq: number; attempts: readonly TriedPart[] }) {
  const texts = executionTexts();
  const asked = useQuery(entryQuestion(execution.id, seq));
  if (asked.error) {
    return <Failure error={asked.error} retry={() => void asked.refetch()} />;
  }
  if (asked.data === undefined) {
    return <Waiting />;
  }
  const run = asked.data;
  if (run === null) {
    return <p>{texts.inspector.none}</p>;
  }
  return (
    <>
      <div className="row">
        <StateMark state={stateOfRun(run)} /> <Took from={run.started_at} to={run.finished_at} />
        <span className="meta">
          <When at={run.started_at} />
        </span>
      </div>
      {run.error && (
        <Part title={texts.error}>
          <p className="error-text">
            <strong>{run.error.title ?? run.error.code}</strong> {run.error.detail}
          </p>
          <p className="meta">
            {texts.origins[run.error.origin]}
            {run.error.line !== undefined && `, ${texts.place(run.error.line)}`}
          </p>
        </Part>
      )}
      {run.waiting_for && (
        <p>
          {texts.inspector.waits}{" "}
          {run.waiting_for.kind === "event"
            ? t().waits.event(run.waiting_for.filter?.types ?? [])
            : t().waits[run.waiting_for.kind]}{" "}
          {run.waiting_for.until !== undefined && <When at={run.waiting_for.until} />} <ToTask wait={run.waiting_for} />
        </p>
      )}
      {run.waiting_for?.unknown_assignees && (
        <p className="error-text">{texts.inspector.unknown(run.waiting_for.unknown_assignees)}</p>
      )}
      {run.child_execution_id !== undefined && (
        <p>
          {texts.inspector.child}{" "}
          <Link to="/executions/$id" params={{ id: run.child_execution_id }} search={{}}>
            {shortId(run.child_execution_id)}
          </Link>
        </p>
      )}
      {attempts.length > 0 && (
        <Part title={texts.inspector.attempts}>
          <ol className="attempts">
            {attempts.map(({ attempt, delay, from, to }) => (
              <li key={`${attempt} ${delay}`}>
                {delay ? texts.inspector.delay : texts.inspector.attempt(attempt)}{" "}
                <Took
                  from={new Date(from).toISOString()}
                  to={to === undefined ? undefined : new Date(to).toISOString()}
                />
              </li>
            ))}
          </ol>
        </Part>
      )}
      <Part title={texts.input}>
        <JsonTree value={run.input ?? null} name={texts.input} />
        <ToEditor execution={execution} sample={`${execution.id}:${seq}`}>
          {texts.inspector.tryExpression}
        </ToEditor>
      </Part>
      {run.output !== undefined && (
        <Part title={texts.output}>
          <JsonTree value={run.output} name={texts.output} />
        </Part>
      )}
      {run.files !== undefined && run.files.length > 0 && (
        <Part title={texts.tabs.files}>
          <RunFiles files={run.files} />
        </Part>
      )}
      <Part title={texts.tabs.log}>
        <LogView execution={execution} seq={seq} />
      </Part>
    </>
  );
}

/** Leads to the task of a person that something waits for. */
export function ToTask({ wait }: { wait: { kind: string; task_id?: string } }) {
  const may = useMay();
  if (wait.task_id === undefined || !may("tasks:read")) {
    return null;
  }
  return (
    <Link to="/inbox/$taskId" params={{ taskId: wait.task_id }} search={{ view: "all" }}>
      {executionTexts().inspector.toTask}
    </Link>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <h3>{title}</h3>
      {children}
    </section>
  );
}
