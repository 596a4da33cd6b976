import { useMutation } from "@tanstack/react-query";
import { useEffect, useId, useRef, useState, type KeyboardEvent } from "react";
import { Problem } from "../../api/problem.ts";
import { answerTask, type AnswerBody, type Outcome, type Task } from "../../api/tasks.ts";
import type { FormField } from "../../api/workflows.ts";
import { t } from "../../messages/index.ts";
import { tasksTexts } from "../../messages/tasks.ts";
import { formTexts } from "../../messages/workflows.ts";
import { Action } from "../Action.tsx";
import { FilesField } from "../form/Files.tsx";
import { read, type Wrong } from "../form/read.ts";
import { useCheck } from "../form/useCheck.ts";
import { sayAt, sayWrong, wrongFields } from "../form/whole.ts";
import { Whole } from "../form/Whole.tsx";
import { Failure } from "../Notice.tsx";
import type { Entering } from "./draft.ts";
import { faultsOf, nameOf, type Fault } from "./problems.ts";
import { useInboxKeys } from "./useKeys.ts";

const noDraft = { text: "", chosen: [], inside: [], entries: [] };

/** The form of a task, and a button for each outcome. */
export function Answer({
  task,
  form,
  may,
  entering,
  answered,
  onward,
  refused,
  leave,
}: {
  task: Task;
  /** undefined: only an outcome is asked for. */
  form: FormField | undefined;
  /** The person may answer now. */
  may: boolean;
  entering: Entering;
  /** The answer counts, also when the person has gone elsewhere since. */
  answered: (task: Task, outcome: Outcome) => void;
  /** The same, and the person is still here. */
  onward: (task: Task) => void;
  /** The task is not what it was. */
  refused: () => void;
  /** Leads out of the fields, to where keys do something. */
  leave: () => void;
}) {
  const texts = tasksTexts();
  const { entered, change, hold } = entering;
  const [wrong, setWrong] = useState<Wrong[]>([]);
  const [fixed, setFixed] = useState(false); // something was typed since it was sent
  const [chosen, setChosen] = useState<Outcome>();
  const sent = useRef({ text: "", once: "" });
  const element = useRef<HTMLFormElement>(null);
  const comment = useRef<HTMLTextAreaElement>(null);
  const id = useId();
  const send = useMutation({
    mutationFn: ({ body }: { body: AnswerBody; outcome: Outcome }) => {
      const text = JSON.stringify(body);
      if (sent.current.text !== text) {
        sent.current = { text, once: crypto.randomUUID() }; // another answer is another request
      }
      return answerTask(task.id, body, sent.current.once);
    },
    // Also where the stream was faster, and has put what was answered in the place of the form.
    onSuccess: (now, { outcome }) => {
      answered(now, outcome);
      onward(now);
    },
    onError: (error) => {
      hold(false);
      if (error instanceof Problem && (error.status === 409 || error.status === 403)) {
        refused();
      }
    },
  });
  const set = (part: Parameters<typeof change>[0]) => {
    change(part);
    setFixed(true);
  };
  const submit = (outcome: Outcome) => {
    const data = form && entered.draft && read(form, entered.draft);
    setWrong(data?.wrong ?? []);
    setFixed(false);
    if ((data?.wrong ?? []).length > 0 || send.isPending) {
      return;
    }
    const said = entered.comment.trim();
    const body: AnswerBody = {
      outcome: outcome.name,
      ...(data?.value !== undefined && { data: data.value }),
      ...(said !== "" && { comment: said }),
      ...(entered.files.length > 0 && { files: entered.files.map((file) => file.uri) }),
    };
    hold(true);
    send.mutate({ body, outcome });
  };
  const outcomes = task.outcomes ?? [];
  const buttons = useRef<(HTMLButtonElement | null)[]>([]);
  useInboxKeys({
    choose: (number) => {
      const outcome = outcomes[number - 1];
      if (outcome && may) {
        buttons.current[number - 1]?.focus();
        setChosen(outcome);
      }
    },
    comment: () => comment.current?.focus(),
  });
  const failed = send.error;
  const said = fixed ? [] : faultsOf(failed, form);
  const faults: Fault[] = [
    ...wrong.map(({ pointer, what }) => ({
      pointer,
      where: nameOf(form, pointer) ?? texts.form,
      detail: formTexts().wrong[what],
    })),
    ...said,
  ];
  useEffect(() => {
    if (wrong.length > 0 || failed !== null) {
      wrongFields(element.current)[0]?.focus();
    }
  }, [wrong, failed]);
  const found = useCheck(element, task.form, form, entered.draft);
  const wrongAt = (pointer: string, below: boolean) =>
    sayWrong(wrong, pointer, below) ?? sayAt(said, pointer, below) ?? found(pointer, below);
  const press = (event: KeyboardEvent) => {
    if (event.key === "Escape" && !event.defaultPrevented) {
      event.preventDefault();
      leave();
    }
  };
  const primary = outcomes.find((each) => each.style === "primary") ?? outcomes.find((each) => each.style !== "danger");
  const wrongComment = sayAt(said, "#/comment", true);
  return (
    // Escape in a field leads out of it.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <form
      ref={element}
      className="schema-form task-form"
      aria-label={texts.form}
      noValidate
      onKeyDown={press}
      onSubmit={(event) => event.preventDefault()}
    >
      {faults.length > 0 && !fixed && <Faults faults={faults} form={() => element.current} />}
      {failed !== null && !fixed && said.length === 0 && <Refusal error={failed} />}
      {form && entered.draft && (
        <Whole
          field={form}
          title={texts.value}
          draft={entered.draft}
          wrongAt={wrongAt}
          change={(draft) => set({ draft })}
        />
      )}
      {task.upload && (
        <FilesField
          field={{
            kind: task.upload.max > 1 ? "files" : "file",
            pointer: "#/files",
            title: texts.upload(task.upload.max),
            required: task.upload.required,
            constraints: { media_type: task.upload.accept.join(",") },
          }}
          camera={texts.photo}
          draft={{ ...noDraft, files: entered.files }}
          at=""
          required={task.upload.required}
          wrongAt={wrongAt}
          change={({ files }) => set({ files })}
        />
      )}
      <div className="schema-field">
        <label className="schema-label" htmlFor={`${id}-comment`}>
          {texts.comment}
        </label>
        <span id={`${id}-help`} className="meta">
          {texts.commentHelp}
        </span>
        <textarea
          ref={comment}
          id={`${id}-comment`}
          className="schema-input"
          data-pointer="#/comment"
          rows={2}
          aria-describedby={`${id}-help`}
          aria-invalid={wrongComment !== undefined || undefined}
          value={entered.comment}
          onChange={(event) => set({ comment: event.currentTarget.value })}
        />
        {wrongComment !== undefined && <p className="schema-wrong">{wrongComment}</p>}
      </div>
      <Kept entering={entering} />
      <div className="outcomes" role="group" aria-label={texts.answers}>
        {outcomes.map((outcome, i) => (
          <Action
            key={outcome.name}
            ref={(button) => {
              buttons.current[i] = button;
            }}
            variant={outcome === primary ? "filled" : "default"}
            {...(outcome.style === "danger" && { color: "red" })}
            disabled={!may}
            loading={send.isPending && send.variables.outcome.name === outcome.name}
            onClick={() => submit(outcome)}
            onBlur={() => setChosen(undefined)}
          >
            <span>{outcome.title}</span>
            <kbd aria-hidden>{i + 1}</kbd>
          </Action>
        ))}
        <span role="status" className="meta">
          {send.isPending ? texts.sending : chosen ? texts.send(chosen.title) : ""}
        </span>
      </div>
    </form>
  );
}

/** What is wrong, each with a button that leads to its field. */
function Faults({ faults, form }: { faults: readonly Fault[]; form: () => HTMLElement | null }) {
  const texts = tasksTexts();
  const lead = (fault: Fault) => {
    const fields = [...(form()?.querySelectorAll<HTMLElement>("[data-pointer]") ?? [])];
    const holds = (each: HTMLElement) => `${fault.pointer}/`.startsWith(`${each.dataset["pointer"]}/`);
    const found = fields.findLast(holds) ?? wrongFields(form())[0];
    (found?.matches("fieldset") ? found.querySelector<HTMLElement>("input, select, textarea") : found)?.focus();
  };
  return (
    <div role="alert" className="alert">
      <div>
        <strong>{texts.missing(faults.length)}</strong>
        <ul className="plain">
          {faults.map((fault) => (
            <li key={`${fault.pointer} ${fault.detail}`}>
              <button type="button" className="as-link" onClick={() => lead(fault)}>
                {fault.where}
              </button>{" "}
              {fault.detail}
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

/** Why the server does not take it, in its words. */
export function Refusal({ error }: { error: unknown }) {
  if (error instanceof Problem && (error.status === 403 || error.status === 409)) {
    return (
      <div role="alert" className="alert">
        <div>
          <strong>{error.title}</strong>
          {error.message !== error.title && <p>{error.message}</p>}
        </div>
      </div>
    );
  }
  return <Failure error={error} />;
}

/** Whether what is typed is kept. */
function Kept({ entering }: { entering: Entering }) {
  const texts = tasksTexts();
  const { kept, unsaved, stays, full } = entering;
  if (stays) {
    return (
      <p role="alert" className="row">
        <span className="complaint">{texts.stays}</span>
        <Action variant="subtle" size="compact-sm" onClick={entering.discard}>
          {t().again}
        </Action>
      </p>
    );
  }
  if (kept === undefined) {
    return null;
  }
  const at = new Date(kept.at);
  const waits = full ? texts.full : unsaved ? texts.notSaved : texts.kept(at);
  return (
    <p className="row">
      <span className="meta">{kept.changed ? waits : texts.saved(at)}</span>
      <Action variant="subtle" size="compact-sm" onClick={entering.discard}>
        {texts.discard}
      </Action>
    </p>
  );
}
