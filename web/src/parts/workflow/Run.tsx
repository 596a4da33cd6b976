import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Suspense, useEffect, useMemo, useRef, useState } from "react";
import { useMay } from "../../api/me.ts";
import { Problem, type FieldProblem } from "../../api/problem.ts";
import { start, type WorkflowDetail } from "../../api/workflows.ts";
import { formTexts } from "../../messages/workflows.ts";
import { Action } from "../Action.tsx";
import { later } from "../later.tsx";
import { Waiting } from "../Waiting.tsx";
import { draftOf, type Draft } from "../form/draft.ts";
import { read, type Wrong } from "../form/read.ts";
import { SchemaField } from "../form/SchemaForm.tsx";
import { isObject, same } from "../form/value.ts";
import { useCheck } from "../form/useCheck.ts";
import { formOf, sayAt, sayWrong, wrongFields } from "../form/whole.ts";
import { Whole } from "../form/Whole.tsx";
import { Failure } from "../Notice.tsx";
import { MoreFields, readMore, usual, type MoreWrong } from "./More.tsx";
import { entered, keep, type Entered } from "./entered.ts";

const Earlier = later(() => import("./Earlier.tsx"));

/** The form that starts a workflow. What is typed stays until the execution has started. */
export function Run({ workflow }: { workflow: WorkflowDetail }) {
  const texts = formTexts();
  const navigate = useNavigate();
  const form = useMemo(() => formOf(workflow.outline), [workflow]);
  const [typed, setTyped] = useState(() => entered(workflow, form));
  const [once, setOnce] = useState(() => crypto.randomUUID());
  const [wrong, setWrong] = useState<Wrong[]>([]);
  const [wrongMore, setWrongMore] = useState<MoreWrong>({});
  const [fixed, setFixed] = useState(false); // something was typed since it was sent
  const [notForm, setNotForm] = useState(false);
  const [choosing, setChoosing] = useState(false); // an input of before
  const may = useMay();
  const element = useRef<HTMLFormElement>(null);
  const send = useMutation({
    mutationFn: (input: Record<string, unknown>) => {
      const { body, version } = readMore(typed.more ?? usual);
      return start(workflow.id, { input, ...body }, version, once);
    },
    onSuccess: (id) => {
      keep(workflow, form, undefined);
      void navigate({ to: "/executions/$id", params: { id }, search: {} });
    },
    onError: () => element.current?.scrollIntoView({ block: "nearest" }),
  });
  const change = (next: Entered) => {
    setTyped(next);
    keep(workflow, form, next);
    setNotForm(false);
    setWrongMore({});
    if (!fixed && !send.isIdle) {
      setOnce(crypto.randomUUID()); // another input is another request
    }
    setFixed(true);
  };
  const asJson = typed.json !== undefined;
  const value = asJson ? parse(typed.json ?? "") : read(form, typed.draft);
  const submit = () => {
    const more = readMore(typed.more ?? usual).wrong;
    setWrong(value.wrong);
    setWrongMore(more);
    setFixed(false);
    if (value.wrong.length === 0 && Object.keys(more).length === 0) {
      const input = value.value ?? {};
      if (isObject(input)) {
        send.mutate(input);
      } else {
        setWrong([{ pointer: "", what: "json" }]);
      }
    }
  };
  const answered = send.error instanceof Problem && !fixed ? send.error.fields : [];
  const failed = send.error;
  useEffect(() => {
    if (wrong.length > 0 || failed !== null) {
      wrongFields(element.current)[0]?.focus();
    }
  }, [wrong, failed]);
  const found = useCheck(element, asJson ? undefined : workflow.input_schema, form, typed.draft);
  const wrongAt = (pointer: string, below: boolean) =>
    sayWrong(wrong, pointer, below) ?? sayProblem(answered, pointer, below) ?? found(pointer, below);
  const toForm = () => {
    const parsed = parse(typed.json ?? "");
    const draft = draftOf(form, parsed.value ?? {});
    if (parsed.wrong.length > 0 || !same(read(form, draft).value ?? {}, parsed.value ?? {})) {
      setNotForm(true);
      return;
    }
    change({ ...typed, draft, json: undefined });
  };
  const fill = (input: unknown) => {
    const draft = draftOf(form, input);
    const fits = same(read(form, draft).value ?? {}, input);
    change({ ...typed, draft: fits ? draft : typed.draft, json: fits ? undefined : JSON.stringify(input, null, 2) });
    setWrong([]);
    setChoosing(false);
  };
  const fields = { field: form, draft: typed.draft, at: "", required: true, wrongAt };
  const set = (draft: Draft) => change({ ...typed, draft });
  const json = { ...typed.draft, text: typed.json ?? "", inside: [], entries: [] };
  return (
    <form
      ref={element}
      className="schema-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {(may("executions:read") || may("executions:read-own")) && (
        <details open={choosing} onToggle={(event) => setChoosing(event.currentTarget.open)}>
          <summary>{texts.earlier.title}</summary>
          <Suspense fallback={<Waiting />}>{choosing && <Earlier workflow={workflow} use={fill} />}</Suspense>
        </details>
      )}
      {asJson ? (
        <SchemaField
          {...fields}
          field={{ kind: "json", pointer: "", title: texts.input, required: true }}
          draft={json}
          change={(next) => change({ ...typed, json: next.text })}
        />
      ) : (
        <Whole field={form} title={texts.input} draft={typed.draft} wrongAt={wrongAt} change={set} />
      )}
      <MoreFields
        workflow={workflow}
        more={typed.more ?? usual}
        wrong={{ ...wrongMore, ...answeredMore(answered) }}
        change={(more) => change({ ...typed, more })}
      />
      {notForm && (
        <p role="alert" className="schema-wrong">
          {texts.notForm}
        </p>
      )}
      {wrong.length > 0 && !fixed && (
        <p role="alert" className="schema-wrong">
          {texts.wrongCount(wrong.length)}
        </p>
      )}
      {send.error !== null && <Failure error={send.error} />}
      <div className="row">
        <Action type="submit" loading={send.isPending}>
          {texts.start}
        </Action>
        {form.kind !== "json" && (
          <Button
            variant="default"
            onClick={() =>
              asJson
                ? toForm()
                : change({ ...typed, json: JSON.stringify(read(form, typed.draft).value ?? {}, null, 2) })
            }
          >
            {asJson ? texts.asForm : texts.asJson}
          </Button>
        )}
      </div>
    </form>
  );
}

function parse(text: string): ReturnType<typeof read> {
  return read(
    { kind: "json", pointer: "", title: "", required: true },
    { text, chosen: [], files: [], inside: [], entries: [] },
  );
}

/** What the server says of labels and delay. */
function answeredMore(problems: readonly FieldProblem[]): MoreWrong {
  const wrong: MoreWrong = {};
  for (const name of ["labels", "delay", "delay_until"] as const) {
    const said = sayAt(problems, `/${name}`, true);
    if (said !== undefined) {
      wrong[name] = said;
    }
  }
  return wrong;
}

/** What the server says of a field. In its pointers the input is a part of the body. */
function sayProblem(problems: readonly FieldProblem[], pointer: string, below: boolean): string | undefined {
  return sayAt(problems, `/input${pointer}`, below);
}
