import { useId, useRef, useState } from "react";
import { evaluate } from "../../api/definitions.ts";
import { Problem } from "../../api/problem.ts";
import { definitionTexts } from "../../messages/definition.ts";
import { formTexts } from "../../messages/workflows.ts";
import { Action } from "../Action.tsx";
import { hasLong } from "../form/value.ts";
import { JsonTree } from "../JsonTree.tsx";
import { Failure } from "../Notice.tsx";

type Outcome = { value: unknown } | { error: unknown } | { input: string };

/** Tries an expression with an input, as a task would evaluate it. */
export default function Expression({ sample }: { sample: unknown }) {
  const texts = definitionTexts().expression;
  const [expression, setExpression] = useState("${ . }");
  const [input, setInput] = useState(() => JSON.stringify(sample ?? { name: "Ada" }, null, 2));
  const [outcome, setOutcome] = useState<Outcome>();
  const [busy, setBusy] = useState(false);
  const abort = useRef<AbortController>(null);
  const id = useId();
  const send = async () => {
    abort.current?.abort();
    const next = new AbortController();
    abort.current = next;
    let value: unknown;
    try {
      value = JSON.parse(input);
    } catch (error) {
      setOutcome({ input: texts.notJson(error instanceof Error ? error.message : "") });
      return;
    }
    if (hasLong(input)) {
      setOutcome({ input: formTexts().wrong.long });
      return;
    }
    setBusy(true);
    try {
      setOutcome({ value: await evaluate(expression, value, next.signal) });
    } catch (error) {
      if (!next.signal.aborted) {
        setOutcome({ error });
      }
    }
    setBusy(false);
  };
  const error = outcome && "error" in outcome ? outcome.error : undefined;
  const refused = error instanceof Problem ? error.fields.find((field) => field.pointer === "/expression") : undefined;
  const notJson = outcome && "input" in outcome ? outcome.input : undefined;
  return (
    <form
      className="expression"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <label className="schema-label" htmlFor={`${id}-expression`}>
        {texts.expression}
      </label>
      <textarea
        id={`${id}-expression`}
        className="schema-input mono"
        rows={3}
        spellCheck={false}
        value={expression}
        aria-invalid={refused !== undefined || undefined}
        aria-describedby={`${id}-wrong`}
        onChange={(event) => setExpression(event.currentTarget.value)}
      />
      <p id={`${id}-wrong`} className="schema-wrong" role="status">
        {refused?.detail}
      </p>
      <label className="schema-label" htmlFor={`${id}-input`}>
        {texts.input}
      </label>
      <textarea
        id={`${id}-input`}
        className="schema-input mono"
        rows={10}
        spellCheck={false}
        value={input}
        aria-invalid={notJson !== undefined || undefined}
        aria-describedby={`${id}-json`}
        onChange={(event) => setInput(event.currentTarget.value)}
      />
      <p id={`${id}-json`} className="schema-wrong" role="status">
        {notJson}
      </p>
      <Action type="submit" loading={busy}>
        {texts.evaluate}
      </Action>
      {error !== undefined && refused === undefined && <Failure error={error} />}
      {outcome && "value" in outcome && (
        <section aria-label={texts.value} aria-live="polite">
          <h2>{texts.value}</h2>
          <JsonTree value={outcome.value} name={texts.value} />
        </section>
      )}
    </form>
  );
}
