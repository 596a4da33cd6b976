import { Button } from "@mantine/core";
import { formTexts } from "../../messages/workflows.ts";
import { entry, startOf, type Draft, type Entry } from "./draft.ts";
import { FilesField } from "./Files.tsx";
import { BooleanField, ChoiceField, ChoicesField, Help, TextField, type FieldProps } from "./Leaf.tsx";
import { read, shownOf } from "./read.ts";
import { escapeToken } from "./value.ts";

/** A field of the outline that the server has made of a schema, with all that is inside it. */
export function SchemaField(props: FieldProps) {
  switch (props.field.kind) {
    case "boolean":
      return <BooleanField {...props} />;
    case "choice":
      return <ChoiceField {...props} />;
    case "choices":
      return <ChoicesField {...props} />;
    case "file":
    case "files":
      return <FilesField {...props} />;
    case "object":
    case "list":
    case "tuple":
    case "map":
      return <GroupField {...props} />;
    case "oneof":
      return <OneOfField {...props} />;
    default:
      return <TextField {...props} />;
  }
}

/** The fields of an object, or the first entries of a list, that are shown by what the others have. */
export function Inside({ field, draft, at, change, wrongAt }: FieldProps) {
  const fields = field.fields ?? [];
  const drafts = fields.map((f, i) => draft.inside[i] ?? startOf(f));
  const shown =
    field.kind === "object"
      ? shownOf(
          field,
          fields.map((f, i) => read(f, drafts[i] ?? startOf(f), at).value),
        )
      : fields.map((f) => ({ there: true, required: f.required }));
  return fields.map((f, i) => {
    const own = drafts[i];
    return (
      shown[i]?.there &&
      own && (
        <SchemaField
          key={f.pointer}
          field={f}
          draft={own}
          at={at}
          required={shown[i].required}
          wrongAt={wrongAt}
          change={(next) => change({ ...draft, inside: drafts.map((each, j) => (j === i ? next : each)) })}
        />
      )
    );
  });
}

/** An object, a list, or a map: what is inside it, and its further entries. */
function GroupField(props: FieldProps) {
  const { field, draft, at, change, wrongAt } = props;
  const wrong = wrongAt(at + field.pointer, false);
  const texts = formTexts();
  const { items } = field;
  const named = field.kind === "map" || field.kind === "object";
  const before = field.kind === "tuple" ? (field.fields ?? []).length : 0;
  const set = (key: number, next: Partial<Entry>) =>
    change({ ...draft, entries: draft.entries.map((each) => (each.key === key ? { ...each, ...next } : each)) });
  return (
    <fieldset className="schema-group">
      <legend>{field.title || texts.value}</legend>
      <Help html={field.help_html} />
      <Inside {...props} />
      {items &&
        draft.entries.map((each, i) => {
          const token = named ? escapeToken(each.name) : String(before + i);
          const number = texts.entry(before + i + 1);
          const place = `${at}${field.pointer}/${token}`;
          return (
            <fieldset key={each.key} className="schema-entry">
              <legend>{number}</legend>
              {named && (
                <NameField value={each.name} wrong={wrongAt(place, false)} change={(name) => set(each.key, { name })} />
              )}
              <EntryField
                field={items}
                draft={each.draft}
                at={place}
                required={false}
                wrongAt={wrongAt}
                change={(next) => set(each.key, { draft: next })}
              />
              <Button
                variant="default"
                size="compact-sm"
                aria-label={texts.removeOf(number)}
                onClick={() => change({ ...draft, entries: draft.entries.filter((e) => e.key !== each.key) })}
              >
                {texts.remove}
              </Button>
            </fieldset>
          );
        })}
      {items && !field.read_only && (
        <div>
          <Button
            variant="default"
            aria-label={texts.addTo(field.title)}
            onClick={({ currentTarget: button }) => {
              change({ ...draft, entries: [...draft.entries, entry(startOf(items))] });
              requestAnimationFrame(() => button.scrollIntoView({ block: "nearest" })); // the entry moves it down
            }}
          >
            {texts.add}
          </Button>
        </div>
      )}
      {wrong !== undefined && <p className="schema-wrong">{wrong}</p>}
    </fieldset>
  );
}

/** An entry that is an object needs no second frame. */
function EntryField(props: FieldProps) {
  const { field } = props;
  return field.kind === "object" && field.title === "" && !field.items ? (
    <Inside {...props} />
  ) : (
    <SchemaField {...props} />
  );
}

function NameField({
  value,
  wrong,
  change,
}: {
  value: string;
  wrong: string | undefined;
  change: (name: string) => void;
}) {
  return (
    <label className="schema-field">
      <span className="schema-label">{formTexts().name}</span>
      <input
        className="schema-input"
        value={value}
        spellCheck={false}
        aria-invalid={wrong !== undefined || undefined}
        onChange={(event) => change(event.currentTarget.value)}
      />
    </label>
  );
}

/** One of several forms for the same value. What was entered into the others stays. */
function OneOfField(props: FieldProps) {
  const { field, draft, at, change, wrongAt } = props;
  const chosen = draft.chosen[0] ?? 0;
  const variant = field.fields?.[chosen];
  const own = draft.inside[chosen];
  const inner = { field: variant, draft: own };
  const texts = formTexts();
  const set = (next: Draft) =>
    change({ ...draft, inside: draft.inside.map((each, i) => (i === chosen ? next : each)) });
  return (
    <fieldset className="schema-group">
      <legend>{field.title || texts.value}</legend>
      <Help html={field.help_html} />
      <label className="schema-field">
        <span className="schema-label">{texts.variant}</span>
        <select
          className="schema-input"
          value={chosen}
          onChange={(event) => change({ ...draft, chosen: [Number(event.currentTarget.value)] })}
        >
          {field.fields?.map((each, i) => (
            <option key={i} value={i}>
              {/^\d*$/.test(each.title) ? texts.form(i + 1) : each.title}
            </option>
          ))}
        </select>
      </label>
      {inner.field && inner.draft && (
        <SchemaField
          key={chosen}
          field={inner.field}
          draft={inner.draft}
          at={at}
          required={props.required}
          wrongAt={wrongAt}
          change={set}
        />
      )}
    </fieldset>
  );
}
