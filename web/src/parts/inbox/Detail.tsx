import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Suspense, useEffect, useMemo, useRef, useState, type RefObject } from "react";
import { isLost } from "../../api/connection.ts";
import { useMay, useMe } from "../../api/me.ts";
import { Problem } from "../../api/problem.ts";
import { claim, draftQuestion, isOpen, release, taskQuestion, type Outcome, type Task } from "../../api/tasks.ts";
import { tasksTexts } from "../../messages/tasks.ts";
import { Action } from "../Action.tsx";
import { shortId } from "../Copy.tsx";
import { Help } from "../form/Leaf.tsx";
import { StateIcon } from "../icons.tsx";
import { later } from "../later.tsx";
import { Failure } from "../Notice.tsx";
import type { State } from "../state.ts";
import { When } from "../Time.tsx";
import { Waiting } from "../Waiting.tsx";
import { Answer, Refusal } from "./Answer.tsx";
import { Answered } from "./Answered.tsx";
import { forget, formOfTask, useEntered, type Remote } from "./draft.ts";
import { Files } from "./Files.tsx";
import { History } from "./History.tsx";
import { Due, Priority, useAssigned } from "./Row.tsx";
import { useInboxKeys } from "./useKeys.ts";
import { Values } from "./Values.tsx";

const Led = later(() => import("./Led.tsx"));
const Reassign = later(() => import("./Reassign.tsx"));

interface Props {
  id: string;
  /** There is nothing beside it: it takes the focus. */
  alone: boolean;
  /** The person has answered it, and may have gone elsewhere since. */
  answered: (task: Task, outcome: Outcome) => void;
  /** Leads on from the task, which was answered. */
  onward: (task: Task) => void;
  next: () => void;
}

/** A task: what it is about, the form, its claim, and what has happened with it. */
export default function Detail(props: Props) {
  const asked = useQuery(taskQuestion(props.id));
  const draft = useQuery({ ...draftQuestion(props.id), enabled: useMay()("tasks:respond") });
  if (asked.isLoadingError) {
    return <Failure error={asked.error} retry={() => void asked.refetch()} />;
  }
  // A person who may not read a draft cannot save one. After any other error an empty form would replace the draft.
  if (draft.isLoadingError && !(draft.error instanceof Problem && draft.error.status === 403)) {
    return <Failure error={draft.error} retry={() => void draft.refetch()} />;
  }
  if (!asked.data || draft.isLoading) {
    return <Waiting />;
  }
  return <Shown {...props} task={asked.data} remote={draft.data} again={() => void asked.refetch()} />;
}

function Shown({
  task,
  remote,
  alone,
  answered,
  onward,
  next,
  again,
}: Props & { task: Task; remote: Remote | undefined; again: () => void }) {
  const texts = tasksTexts();
  const me = useMe().user.id;
  const may = useMay();
  const heading = useRef<HTMLHeadingElement>(null);
  const form = useMemo(() => formOfTask(task), [task]);
  const entering = useEntered(task, form, remote);
  const refused = isOpen(task) ? task.refused : undefined;
  // What was typed before another person has claimed the task stays to be seen.
  const fields = isOpen(task) && may("tasks:respond") && (refused === undefined || entering.kept !== undefined);
  useEffect(() => {
    if (alone) {
      heading.current?.focus({ preventScroll: true });
      scrollTo({ top: 0 });
    }
  }, [alone]);
  const files = task.files ?? [];
  return (
    <article className="task" aria-labelledby="task-title">
      <Head task={task} me={me} heading={heading} />
      {task.instructions_html !== undefined && <Help html={task.instructions_html} kind="instructions" />}
      {task.show !== undefined && task.show !== null && (
        <section>
          <h3>{texts.data}</h3>
          <Values value={task.show} name={texts.data} />
        </section>
      )}
      <div className="task-body" data-files={files.length > 0 || undefined}>
        {files.length > 0 && <Files files={files} task={task.id} />}
        {refused !== undefined && (
          <div role="status" className="alert">
            <div>
              <strong>{texts.refusedTitle}</strong>
              <p>{(texts.refused as Record<string, string>)[refused]}</p>
              {!fields && task.data !== undefined && task.data !== null && (
                <Values value={task.data} name={texts.form} />
              )}
            </div>
          </div>
        )}
        {fields && (
          <Answer
            task={task}
            form={form}
            may={refused === undefined}
            entering={entering}
            answered={(now, outcome) => {
              forget(task.id);
              answered(now, outcome);
            }}
            onward={onward}
            refused={again}
            leave={() => heading.current?.focus()}
          />
        )}
        {task.answer && <Answered task={task} answer={task.answer} me={me} entering={entering} next={next} />}
        {task.withdrawn_reason !== undefined && (
          <div role="status" className="alert">
            <div>
              <strong>{texts.withdrawnTitle}</strong>
              <p>
                {texts.withdrawn[task.withdrawn_reason]} {task.ended_at !== undefined && <When at={task.ended_at} />}
              </p>
            </div>
          </div>
        )}
      </div>
      <WhatLed execution={task.execution_id} />
      <History task={task} me={me} />
    </article>
  );
}

const ofStatus: Record<Task["status"], State> = {
  open: "person",
  claimed: "person",
  answered: "finished",
  withdrawn: "cancelled",
};

function Head({ task, me, heading }: { task: Task; me: string; heading: RefObject<HTMLHeadingElement | null> }) {
  const texts = tasksTexts();
  const { exclude } = task.assignees;
  const assigned = useAssigned(task);
  const claimant = task.claimed_by;
  const state = ofStatus[task.status];
  return (
    <header className="task-head">
      <h2 id="task-title" ref={heading} tabIndex={-1}>
        {task.title}
      </h2>
      <p className="row">
        <span className={`state state-${state}`}>
          <StateIcon state={state} />
          {task.status === "claimed" && claimant
            ? claimant.id === me
              ? texts.claimedByYou
              : texts.claimedBy(claimant.name)
            : texts.status[task.status]}
        </span>
        <Due task={task} />
        <Priority priority={task.priority} />
        <span className="meta">
          {assigned}
          {exclude.length > 0 && `, ${texts.excluded(exclude)}`}
        </span>
      </p>
      <p className="row meta">
        <span>{task.workflow}</span>
        {task.item_id !== undefined && (
          <span>
            {texts.item} {task.item_id}
          </span>
        )}
        {task.batch_id !== undefined && (
          <Link to="/batches/$id" params={{ id: task.batch_id }} search={{}}>
            {texts.batch} {shortId(task.batch_id)}
          </Link>
        )}
        <Link to="/executions/$id" params={{ id: task.execution_id }} search={{ task: task.reference }}>
          {texts.execution} {shortId(task.execution_id)}
        </Link>
      </p>
      {isOpen(task) && <Holding task={task} me={me} />}
    </header>
  );
}

/** Takes a task, gives it back, or gives it to others. */
function Holding({ task, me }: { task: Task; me: string }) {
  const texts = tasksTexts();
  const may = useMay();
  const [asking, setAsking] = useState(false);
  const act = useMutation({
    mutationFn: ({ what, force }: { what: "claim" | "release"; force: boolean }) =>
      (what === "claim" ? claim : release)(task.id, force),
  });
  const mine = task.claimed_by?.id === me;
  const claimed = task.claimed_by !== undefined;
  const manages = may("executions:manage");
  const responds = may("tasks:respond");
  const run = (what: "claim" | "release", force: boolean) => () => {
    if (!act.isPending && !isLost()) {
      act.mutate({ what, force });
    }
  };
  useInboxKeys({
    claim: responds && !claimed ? run("claim", false) : undefined,
    release: responds && mine ? run("release", false) : undefined,
  });
  return (
    <>
      <div className="row task-actions">
        {responds && !claimed && (
          <Action variant="default" onClick={run("claim", false)}>
            {texts.claim} <kbd aria-hidden>c</kbd>
          </Action>
        )}
        {responds && mine && (
          <Action variant="default" onClick={run("release", false)}>
            {texts.release} <kbd aria-hidden>u</kbd>
          </Action>
        )}
        {manages && responds && claimed && !mine && (
          <>
            <Action variant="default" onClick={run("claim", true)}>
              {texts.takeOver}
            </Action>
            <Action variant="default" onClick={run("release", true)}>
              {texts.release}
            </Action>
          </>
        )}
        {manages && (
          <Action variant="default" onClick={() => setAsking(true)}>
            {texts.reassign}
          </Action>
        )}
      </div>
      {act.error && <Refusal error={act.error} />}
      <Suspense>{asking && <Reassign task={task} close={() => setAsking(false)} />}</Suspense>
    </>
  );
}

/** The timeline of the execution, closed until it is asked for. */
function WhatLed({ execution }: { execution: string }) {
  const [open, setOpen] = useState(false);
  return (
    <details className="task-led" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{tasksTexts().led}</summary>
      {open && (
        <Suspense fallback={<Waiting />}>
          <Led execution={execution} />
        </Suspense>
      )}
    </details>
  );
}
