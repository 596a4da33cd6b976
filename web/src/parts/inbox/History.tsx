import { useMutation } from "@tanstack/react-query";
import { useId, useState, type ReactNode } from "react";
import { comment, type Task } from "../../api/tasks.ts";
import { useMay } from "../../api/me.ts";
import { tasksTexts } from "../../messages/tasks.ts";
import { Action } from "../Action.tsx";
import { Failure } from "../Notice.tsx";
import { When } from "../Time.tsx";
import { answeredText } from "./Answered.tsx";

/** What has happened with a task, the comments among it, and a field for another one. */
export function History({ task, me }: { task: Task; me: string }) {
  const texts = tasksTexts();
  const may = useMay();
  const rows: { at: string; what: ReactNode }[] = [
    { at: task.created_at, what: texts.begun },
    ...(task.comments ?? []).map(({ at, by, text }) => ({
      at,
      what: (
        <>
          <strong>{by.id === me ? texts.you : by.name}</strong>
          <p className="task-comment">{text}</p>
        </>
      ),
    })),
  ];
  if (task.ended_at !== undefined) {
    const what = task.answer ? answeredText(task, task.answer, me) : texts.withdrawnTitle;
    rows.push({ at: task.ended_at, what });
  }
  return (
    <section>
      <h3>{texts.history}</h3>
      <ol className="plain task-history">
        {rows
          .toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at))
          .map((row, i) => (
            <li key={i}>
              <span className="meta">
                <When at={row.at} />
              </span>
              <div>{row.what}</div>
            </li>
          ))}
      </ol>
      {may("tasks:respond") && <NewComment id={task.id} />}
    </section>
  );
}

function NewComment({ id }: { id: string }) {
  const texts = tasksTexts();
  const field = useId();
  const [text, setText] = useState("");
  const [once, setOnce] = useState(() => crypto.randomUUID());
  const send = useMutation({
    mutationFn: () => comment(id, text.trim(), once),
    onSuccess: () => {
      setText("");
      setOnce(crypto.randomUUID());
    },
  });
  return (
    <form
      className="schema-field"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== "") {
          send.mutate();
        }
      }}
    >
      <label className="schema-label" htmlFor={field}>
        {texts.newComment}
      </label>
      <textarea
        id={field}
        className="schema-input"
        rows={2}
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setOnce(crypto.randomUUID());
        }}
      />
      {send.error && <Failure error={send.error} />}
      <div>
        <Action type="submit" variant="default" loading={send.isPending}>
          {texts.addComment}
        </Action>
      </div>
    </form>
  );
}
