import { Button } from "@mantine/core";
import { useMutation, useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useId, useRef, useState } from "react";
import { answerTasks, taskQuestion, type BulkAnswers, type Outcome, type Task } from "../../api/tasks.ts";
import { t } from "../../messages/index.ts";
import { tasksTexts } from "../../messages/tasks.ts";
import { Action } from "../Action.tsx";
import { Dialog } from "../Dialog.tsx";
import { Failure } from "../Notice.tsx";
import { Waiting } from "../Waiting.tsx";

/** Tasks of so many places in workflows are looked at for the outcomes that they have in common. */
const mostPlaces = 20;

/** Gives several tasks the same answer, and says what became of each. */
export default function Bulk({
  tasks,
  answered,
  close,
}: {
  tasks: readonly Task[];
  /** Which tasks have an answer now. */
  answered: (ids: readonly string[]) => void;
  close: () => void;
}) {
  const texts = tasksTexts();
  const [list] = useState(tasks); // those that were selected, whatever the list has by now
  const sent = useRef({ text: "", once: "" });
  const [comment, setComment] = useState("");
  const [chosen, setChosen] = useState("");
  const field = useId();
  const { outcomes, error } = useCommonOutcomes(list);
  const send = useMutation({
    mutationFn: () => {
      const said = comment.trim();
      const body = { ids: list.map((task) => task.id), outcome: chosen, ...(said !== "" && { comment: said }) };
      const text = JSON.stringify(body);
      if (sent.current.text !== text) {
        sent.current = { text, once: crypto.randomUUID() }; // another answer is another request
      }
      return answerTasks(body, sent.current.once);
    },
    onSuccess: ({ failed }) => {
      const lost = new Set(failed.map((each) => each.id));
      answered(list.map((task) => task.id).filter((id) => !lost.has(id)));
    },
  });
  return (
    <Dialog title={texts.bulk.title(list.length)} close={close}>
      {send.data ? (
        <Result done={send.data} tasks={list} close={close} />
      ) : (
        <form
          className="form"
          onSubmit={(event) => {
            event.preventDefault();
            if (chosen !== "" && !send.isPending) {
              send.mutate();
            }
          }}
        >
          <p>{texts.bulk.text}</p>
          {error !== undefined && error !== null && <Failure error={error} />}
          {outcomes === undefined && !error && <Waiting />}
          {outcomes?.length === 0 && <p className="complaint">{texts.bulk.none}</p>}
          {outcomes !== undefined && outcomes.length > 0 && (
            <fieldset className="schema-group">
              <legend>{texts.answers}</legend>
              {outcomes.map(({ name, title }) => (
                <label key={name} className="schema-check">
                  <input type="radio" name={field} checked={chosen === name} onChange={() => setChosen(name)} />
                  {title}
                </label>
              ))}
            </fieldset>
          )}
          <label className="schema-label" htmlFor={field}>
            {texts.comment}
          </label>
          <textarea
            id={field}
            className="schema-input"
            rows={2}
            value={comment}
            onChange={(event) => setComment(event.currentTarget.value)}
          />
          {send.error && <Failure error={send.error} />}
          <div className="row">
            <Action type="submit" disabled={chosen === ""} loading={send.isPending}>
              {texts.bulk.send(list.length)}
            </Action>
            <Button variant="default" onClick={close}>
              {t().cancel}
            </Button>
          </div>
        </form>
      )}
    </Dialog>
  );
}

/** The outcomes that the tasks have in common. Tasks of the same place in a workflow are taken to have the same. */
function useCommonOutcomes(tasks: readonly Task[]): { outcomes: Outcome[] | undefined; error: unknown } {
  const places = new Map(tasks.map((task) => [`${task.workflow_id} ${task.reference}`, task.id]));
  return useQueries({
    queries: [...places.values()]
      .slice(0, mostPlaces)
      .map((id) => ({ ...taskQuestion(id), refetchInterval: false as const })),
    combine: (answers) => {
      const error = answers.find((each) => each.error)?.error;
      const found = answers.flatMap(({ data }) => (data ? [data.outcomes ?? []] : []));
      const [first, ...others] = found;
      const outcomes = first?.filter(({ name }) => others.every((list) => list.some((each) => each.name === name)));
      return { outcomes: found.length === answers.length ? outcomes : undefined, error };
    },
  });
}

/** What became of each task. */
function Result({ done, tasks, close }: { done: BulkAnswers; tasks: readonly Task[]; close: () => void }) {
  const texts = tasksTexts();
  const codes = texts.refused as Record<string, string>;
  return (
    <>
      <p role="status">
        <strong>{texts.bulk.done(done.answered)}</strong>{" "}
        {done.failed.length > 0 && texts.bulk.failed(done.failed.length)}
      </p>
      <ul className="plain">
        {done.failed.map(({ id, code }) => (
          <li key={id}>
            <Link to="/inbox/$taskId" params={{ taskId: id }} search resetScroll={false} onClick={close}>
              {tasks.find((task) => task.id === id)?.title ?? id}
            </Link>{" "}
            {codes[code] ?? <code>{code}</code>}
          </li>
        ))}
      </ul>
      <div className="row">
        <Button onClick={close}>{t().close}</Button>
      </div>
    </>
  );
}
