import { Button } from "@mantine/core";
import { useCallback, useEffect, useRef, useState } from "react";
import { isLost } from "../../api/connection.ts";
import { Problem } from "../../api/problem.ts";
import { coverageOf, runTests, type CoveredTask, type Tested } from "../../api/tests.ts";
import type { Code, Remark } from "../../editor/code.ts";
import { testsTexts } from "../../messages/tests.ts";
import { Action } from "../Action.tsx";
import { Failure } from "../Notice.tsx";
import { save } from "../save.ts";
import type { CodeField } from "./CodeField.tsx";
import { TestResults } from "./TestResults.tsx";

const template = `tests:
  - name: first
    input: {}
    expect:
      phase: completed
`;

interface Outcome {
  /** The texts that it is about. */
  definition: string;
  tests: string;
  tested?: Tested;
  error?: unknown;
}

/** Tests of the definition beside them: their text, which this browser keeps, and what came of them. */
export default function Tests({
  Field,
  definition,
  place,
  name,
  covered,
  go,
}: {
  /** The editor of texts. It is given, so that it stays in one file of script with the page that has it already. */
  Field: typeof CodeField;
  definition: string;
  /** Where the definition is kept in this browser. */
  place: string;
  /** Of the workflow, as the definition has it by now. */
  name: () => string;
  covered: (found: { text: string; tasks: ReadonlyMap<string, CoveredTask> }) => void;
  /** Leads to a line of the definition. */
  go: (line: number) => void;
}) {
  const texts = testsTexts();
  const key = place.replace("chargehand-definition:", "chargehand-tests:");
  const [first] = useState(() => read(key) ?? template);
  const [text, setText] = useState(first);
  const [room, setRoom] = useState(true);
  const [outcome, setOutcome] = useState<Outcome>();
  const [busy, setBusy] = useState(false);
  const code = useRef<Code>(null);
  const ready = useCallback((made: Code | null) => {
    code.current = made;
  }, []);
  const abort = useRef<AbortController>(null);
  useEffect(() => () => abort.current?.abort(), []);
  useEffect(() => {
    const fresh = outcome?.tests === text;
    code.current?.mark(fresh ? remarksIn(outcome) : []);
  }, [outcome, text]);

  const run = async () => {
    abort.current?.abort();
    const next = new AbortController();
    abort.current = next;
    const tests = code.current?.text ?? text;
    setBusy(true);
    try {
      const tested = await runTests(definition, tests, next.signal);
      setOutcome({ definition, tests, tested });
      covered({ text: definition, tasks: coverageOf(tested) });
    } catch (error) {
      if (next.signal.aborted) {
        return;
      }
      setOutcome({ definition, tests, error });
    }
    setBusy(false);
  };
  const open = async (file: File | undefined) => {
    if (file) {
      code.current?.replace(await file.text());
    }
  };
  return (
    // The editor inside has the focus; Ctrl Enter would start the workflow elsewhere.
    // oxlint-disable-next-line jsx-a11y/no-static-element-interactions
    <div
      className="tests"
      onKeyDown={(event) => {
        if ((event.ctrlKey || event.metaKey) && event.key === "Enter") {
          event.preventDefault();
          event.stopPropagation();
          if (!isLost()) {
            void run();
          }
        }
      }}
    >
      <Field
        name={texts.label}
        keys={texts.leave}
        first={first}
        ready={ready}
        changed={(next) => {
          setText(next);
          setRoom(write(key, next)); // at once: the page may be left at any time
        }}
        moved={() => undefined}
        dropped={(file) => void open(file)}
      />
      <p className="meta">
        {texts.keys} {texts.kept}
      </p>
      {!room && <p className="alert">{texts.noRoom}</p>}
      <div className="row tests-bar">
        <Action size="compact-sm" loading={busy} onClick={() => void run()}>
          {texts.run}
        </Action>
        <label className="upload">
          <input
            type="file"
            accept=".yaml,.yml,.json"
            onChange={(event) => {
              const file = event.currentTarget.files?.[0];
              event.currentTarget.value = "";
              void open(file);
            }}
          />
          {texts.upload}
        </label>
        <Button
          size="compact-sm"
          variant="default"
          onClick={() => {
            const file = new Blob([code.current?.text ?? text], { type: "text/plain" });
            save(file, `${name() === "" ? "workflow" : name()}.test.yaml`);
          }}
        >
          {texts.download}
        </Button>
      </div>
      {outcome?.error === undefined ? (
        <TestResults
          tested={outcome?.tested}
          stale={outcome !== undefined && (outcome.definition !== definition || outcome.tests !== text)}
          toTests={(line, column) => code.current?.goTo(line, column)}
          toDefinition={go}
        />
      ) : (
        <Failure error={outcome.error} retry={() => void run()} />
      )}
    </div>
  );
}

/** What is marked in the tests. */
function remarksIn({ tested, error }: Outcome): Remark[] {
  if (error instanceof Problem) {
    return error.fields
      .filter((field) => field.pointer === "/tests")
      .map(({ line = 1, column = 1, detail }) => ({ severity: "error", line, column, pointer: "", detail }));
  }
  const remarks: Remark[] = [];
  for (const result of tested?.results ?? []) {
    for (const { line, column, expectation } of result.failures) {
      remarks.push({ severity: "error", line, column, pointer: "", detail: `${result.name}: ${expectation}` });
    }
    if (result.broken) {
      const { line, column, detail } = result.broken;
      remarks.push({ severity: "error", line, column, pointer: "", detail });
    }
    for (const { line, column, detail } of result.warnings) {
      remarks.push({ severity: "warning", line, column, pointer: "", detail });
    }
  }
  return remarks;
}

function read(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Keeps tests: whether the browser has room for them. */
function write(key: string, text: string): boolean {
  try {
    localStorage.setItem(key, text);
    return true;
  } catch {
    return false;
  }
}
