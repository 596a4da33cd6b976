import { useId, type ReactNode } from "react";
import type { FormField } from "../../api/workflows.ts";
import { formTexts } from "../../messages/workflows.ts";
import type { Draft } from "./draft.ts";

/** What every field gets. */
export interface FieldProps {
  field: FormField;
  draft: Draft;
  /** Pointer to the whole, or to the entry of a list or map that the field is in. */
  at: string;
  required: boolean;
  change: (next: Draft) => void;
  /** What is wrong at a pointer, and below it. */
  wrongAt: (pointer: string, below: boolean) => string | undefined;
}

/** Help of a field, or a longer text. The server makes safe HTML of the Markdown of users. */
export function Help({ html, id, kind = "meta" }: { html: string | undefined; id?: string; kind?: string }) {
  // oxlint-disable-next-line react/no-danger
  return html === undefined ? null : <div id={id} className={kind} dangerouslySetInnerHTML={{ __html: html }} />;
}

/** A title, a help, an input, and what is wrong with it. */
export function Leaf({
  field,
  at,
  required,
  wrongAt,
  children,
}: FieldProps & {
  children: (input: {
    id: string;
    "data-pointer": string;
    "aria-describedby": string | undefined;
    "aria-invalid": boolean | undefined;
    "aria-required": boolean | undefined;
  }) => ReactNode;
}) {
  const id = useId();
  const wrong = wrongAt(at + field.pointer, true);
  const described = [field.help_html !== undefined && `${id}-help`, wrong !== undefined && `${id}-wrong`].filter(
    (part) => typeof part === "string",
  );
  return (
    <div className="schema-field">
      <span className="schema-label">
        <label htmlFor={id}>{field.title || formTexts().value}</label>
        {required && <span className="meta">{formTexts().required}</span>}
      </span>
      <Help id={`${id}-help`} html={field.help_html} />
      {children({
        id,
        "data-pointer": at + field.pointer,
        "aria-describedby": described.length > 0 ? described.join(" ") : undefined,
        "aria-invalid": wrong !== undefined || undefined,
        "aria-required": required || undefined,
      })}
      {wrong !== undefined && (
        <p id={`${id}-wrong`} className="schema-wrong">
          {wrong}
        </p>
      )}
    </div>
  );
}

const types: Partial<Record<FormField["kind"], string>> = {
  date: "date",
  time: "time",
  datetime: "datetime-local",
  email: "email",
  uri: "url",
};

/** A field for text, a number, or a time. */
export function TextField(props: FieldProps) {
  const { field, draft, change } = props;
  const { kind } = field;
  const number = kind === "integer" || kind === "number";
  const lines = kind === "longtext" || kind === "json";
  const set = (event: { currentTarget: { value: string } }) => change({ ...draft, text: event.currentTarget.value });
  const example =
    field.example === undefined || field.example === null
      ? undefined
      : typeof field.example === "string"
        ? field.example
        : JSON.stringify(field.example);
  return (
    <Leaf {...props}>
      {(input) =>
        lines ? (
          <textarea
            {...input}
            className={kind === "json" ? "schema-input mono" : "schema-input"}
            rows={kind === "json" ? 6 : 4}
            spellCheck={kind === "longtext"}
            placeholder={example ?? (kind === "json" ? '{ "name": "value" }' : undefined)}
            readOnly={field.read_only}
            value={draft.text}
            onChange={set}
          />
        ) : (
          <input
            {...input}
            className="schema-input"
            type={types[kind] ?? "text"}
            step={kind === "time" || kind === "datetime" ? 1 : undefined}
            inputMode={kind === "integer" ? "numeric" : kind === "number" ? "decimal" : undefined}
            spellCheck={kind === "text" && !number}
            placeholder={example}
            readOnly={field.read_only}
            value={draft.text}
            onChange={set}
          />
        )
      }
    </Leaf>
  );
}

/** Yes or no. */
export function BooleanField({ field, draft, at, change, wrongAt }: FieldProps) {
  const id = useId();
  const wrong = wrongAt(at + field.pointer, true);
  return (
    <div className="schema-field">
      <span className="schema-check">
        <input
          id={id}
          type="checkbox"
          disabled={field.read_only}
          data-pointer={at + field.pointer}
          aria-describedby={wrong === undefined ? undefined : `${id}-wrong`}
          aria-invalid={wrong !== undefined || undefined}
          checked={draft.text === "true"}
          onChange={(event) => change({ ...draft, text: String(event.currentTarget.checked) })}
        />
        <label htmlFor={id}>{field.title || formTexts().value}</label>
      </span>
      <Help html={field.help_html} />
      {wrong !== undefined && (
        <p id={`${id}-wrong`} className="schema-wrong">
          {wrong}
        </p>
      )}
    </div>
  );
}

/** One of some options. */
export function ChoiceField(props: FieldProps) {
  const { field, draft, change } = props;
  const at = draft.chosen[0];
  return (
    <Leaf {...props}>
      {(input) => (
        <>
          <select
            {...input}
            className="schema-input"
            disabled={field.read_only}
            value={at ?? ""}
            onChange={(event) => {
              const { value } = event.currentTarget;
              change({ ...draft, chosen: value === "" ? [] : [Number(value)] });
            }}
          >
            <option value="">{formTexts().choose}</option>
            {field.options?.map((option, i) => (
              <option key={JSON.stringify(option.value)} value={i}>
                {option.title}
              </option>
            ))}
          </select>
          <Help html={at === undefined ? undefined : field.options?.[at]?.help_html} />
        </>
      )}
    </Leaf>
  );
}

/** Some of some options. */
export function ChoicesField({ field, draft, at, change, wrongAt }: FieldProps) {
  const wrong = wrongAt(at + field.pointer, true);
  return (
    <fieldset
      className="schema-group"
      data-pointer={at + field.pointer}
      aria-invalid={wrong !== undefined || undefined}
    >
      <legend>{field.title}</legend>
      <Help html={field.help_html} />
      {field.options?.map((option, i) => (
        <label key={JSON.stringify(option.value)} className="schema-check">
          <input
            type="checkbox"
            disabled={field.read_only}
            checked={draft.chosen.includes(i)}
            onChange={(event) => {
              const rest = draft.chosen.filter((each) => each !== i);
              change({ ...draft, chosen: event.currentTarget.checked ? [...rest, i] : rest });
            }}
          />
          {option.title}
        </label>
      ))}
      {wrong !== undefined && <p className="schema-wrong">{wrong}</p>}
    </fieldset>
  );
}
